package loki_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/store/loki"
	"github.com/ringwatch/ringwatch/stream"
)

// receiver is as strict as Loki's documentation of its push API.
type receiver struct {
	*testing.T
	status int // other than 204: what it answers
	tries  int
	lines  []string // kind@cluster: line
	most   int      // bytes of a push
	// what it answers to a body in place of status, or 0
	refuse func(body string) int
}

func (l *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.tries++
	if r.Method != http.MethodPost || r.URL.Path != "/loki/api/v1/push" ||
		r.Header.Get("Content-Type") != "application/json" ||
		r.Header.Get("X-Scope-OrgID") != "ops" || r.Header.Get("Authorization") != "Bearer s3cret" {
		l.Errorf("%s %s %v", r.Method, r.URL, r.Header)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		l.Error(err)
	}
	l.most = max(l.most, len(body))
	status := l.status
	if l.refuse != nil {
		status = cmp.Or(l.refuse(string(body)), status)
	}
	if status != http.StatusNoContent {
		http.Error(w, "a reason", status)
		return
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	var push struct {
		Streams []struct {
			Stream map[string]string `json:"stream"`
			Values [][]string        `json:"values"`
		} `json:"streams"`
	}
	if err := d.Decode(&push); err != nil || len(push.Streams) == 0 {
		l.Errorf("%v %+v", err, push)
	}
	if _, err := d.Token(); err != io.EOF {
		l.Error("more than one document")
	}
	for _, s := range push.Streams {
		if len(s.Stream) != 4 && s.Stream["account"] == "" ||
			uuid.Validate(s.Stream["node"]) != nil ||
			s.Stream["severity"] == "" || len(s.Values) == 0 {
			l.Errorf("%+v", s)
		}
		for _, v := range s.Values {
			if n, err := strconv.ParseInt(v[0], 10, 64); len(v) != 2 || err != nil || n < 1e18 {
				l.Errorf("%q", v)
			}
			l.lines = append(l.lines, s.Stream["kind"]+"@"+s.Stream["cluster"]+": "+v[1])
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// record is a frame with an event of the kind, or with none.
func record(t *testing.T, account string, offset int64, kind string) stream.Record {
	t.Helper()
	n := frametest.New("prod", 1, 0)
	at := time.Now().UnixMilli()
	f := &frame.Frame{Header: frame.Header{Node: n.ID, Cluster: "prod", Started: 1, At: at,
		Interval: 5000}}
	if kind != "" {
		f.Events = []frame.Event{{At: at, Kind: kind, Severity: frame.Warning, Text: "what & <b>",
			Labels: []frame.Label{{Name: "table", Value: "a b"}}}}
	}
	b, err := f.Append(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return stream.Record{Account: account, Cluster: "prod", Partition: 2, Offset: offset, Value: b}
}

// TestPush: events arrive in Loki's form; what fails comes again, once; what is refused for good is
// dropped and counted.
func TestPush(t *testing.T) {
	l := &receiver{T: t, status: http.StatusNoContent}
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	c := loki.DefaultConfig()
	if err := yaml.Unmarshal([]byte("url: "+server.URL+"/\ntenant: ops\naccount: acme\n"+
		"http_config: {authorization: {credentials: s3cret}}\n"), &c); err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil || !c.On() {
		t.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	p, err := loki.New(c, reg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	count := func(name string) (sum float64) {
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			for _, m := range f.Metric {
				if f.GetName() == "ringwatch_loki_"+name+"_total" {
					sum += m.GetCounter().GetValue()
				}
			}
		}
		return sum
	}
	records := []stream.Record{record(t, "acme", 1, "gc_pause"), record(t, "other", 2, "start"),
		record(t, "acme", 3, ""), record(t, "acme", 4, "node_down"),
		{Account: "acme", Cluster: "prod", Partition: 2, Offset: 5, Value: []byte("no frame")}}
	if err := p.Handle(t.Context(), records); err != nil {
		t.Fatal(err)
	}
	const want = `gc_pause@prod: what & <b> table="a b"; node_down@prod: what & <b> table="a b"`
	if got := strings.Join(l.lines, "; "); got != want || l.tries != 1 {
		t.Errorf("%s, %d tries", got, l.tries)
	}
	if err := p.Handle(t.Context(), records); err != nil || l.tries != 1 {
		t.Errorf("what was pushed is pushed again: %v", err)
	}
	p.Revoke(2)
	if err := p.Handle(t.Context(), records[2:3]); err != nil || l.tries != 1 {
		t.Errorf("there was nothing to push: %v", err)
	}
	more := []stream.Record{record(t, "acme", 6, "stop")}
	for _, status := range []int{429, 500, 503, 401, 404} {
		l.status = status
		if err := p.Handle(t.Context(), more); err == nil ||
			strings.Contains(err.Error(), "s3cret") ||
			!strings.Contains(err.Error(), "a reason") {
			t.Errorf("%d: %v", status, err)
		}
	}
	l.status = http.StatusNoContent
	if err := p.Handle(t.Context(), more); err != nil || len(l.lines) != 3 {
		t.Errorf("%v %q", err, l.lines)
	}
	l.status = http.StatusBadRequest
	if err := p.Handle(t.Context(), []stream.Record{record(t, "acme", 7, "stop")}); err != nil {
		t.Error(err)
	}
	if count("pushed") != 3 || count("failures") != 5 || count("dropped") != 2 {
		t.Errorf("%v %v %v", count("pushed"), count("failures"), count("dropped"))
	}
	server.Close()
	if err := p.Handle(t.Context(), []stream.Record{record(t, "acme", 8, "stop")}); err == nil {
		t.Error("no error")
	}
}

// TestConfig: what is wrong is said, and secrets are not shown.
func TestConfig(t *testing.T) {
	for text, want := range map[string]string{
		"url: ftp://x":                "loki.url must have the form",
		"url: http://x\ntimeout: 1ms": "loki.timeout is 1ms",
		"url: http://x\nhttp_config: {basic_auth: {username: a}, authorization: " +
			"{credentials: b}}": "at most one",
		"http_config: {nosuch: 1}": "field nosuch not found",
	} {
		c := loki.DefaultConfig()
		err := yaml.Unmarshal([]byte(text), &c)
		if err == nil {
			err = c.Validate()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if c := loki.DefaultConfig(); c.On() || c.Validate() != nil {
		t.Error("something is pushed by default")
	}
}

// everybody returns a Pusher of all accounts' events.
func everybody(t *testing.T, l *receiver) *loki.Pusher {
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	c := loki.DefaultConfig()
	if err := yaml.Unmarshal([]byte("url: "+server.URL+"\ntenant: ops\n"+
		"http_config: {authorization: {credentials: s3cret}}\n"), &c); err != nil {
		t.Fatal(err)
	}
	p, err := loki.New(c, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestRefusedAlone: of a batch that is too large, or has an event that is not valid, the others
// are pushed.
func TestRefusedAlone(t *testing.T) {
	var records []stream.Record
	for i := range 300 {
		records = append(records, record(t, "acme", int64(1+i), "stop"))
	}
	records = append(records, record(t, "acme", 301, "odd"))
	for _, status := range []int{413, 400} {
		l := &receiver{T: t, status: http.StatusNoContent, refuse: func(body string) int {
			if strings.Contains(body, `"odd"`) || status == 413 && len(body) > 10_000 {
				return status
			}
			return 0
		}}
		if err := everybody(t, l).Handle(t.Context(), records); err != nil || len(l.lines) != 300 ||
			l.tries > 60 {
			t.Errorf("%d: %v, %d lines, %d tries", status, err, len(l.lines), l.tries)
		}
	}
}

// TestLimited: an account that meets the Loki's limits makes no other wait, and what waits is
// tried again, and read again after a restart.
func TestLimited(t *testing.T) {
	l := &receiver{T: t, status: http.StatusNoContent, refuse: func(body string) int {
		if strings.Contains(body, `"account":"loud"`) {
			return http.StatusTooManyRequests
		}
		return 0
	}}
	p := everybody(t, l)
	if err := p.Handle(t.Context(), []stream.Record{record(t, "loud", 1, "a"),
		record(t, "quiet", 2, "b"), record(t, "loud", 3, "c")}); err != nil || len(l.lines) != 1 {
		t.Errorf("%v %q", err, l.lines)
	}
	low := func() int64 {
		offset, ok := p.LowWater(2)
		if !ok {
			return 0
		}
		return offset
	}
	now := time.Now()
	if err := p.Tick(t.Context(), now); err != nil || low() != 1 {
		t.Errorf("%v %d", err, low())
	}
	if tries := l.tries; p.Tick(t.Context(), now) != nil || l.tries != tries {
		t.Error("it does not wait between tries")
	}
	l.refuse = nil
	if err := p.Handle(t.Context(), []stream.Record{record(t, "loud", 4, "d")}); err != nil ||
		len(l.lines) != 1 {
		t.Errorf("not in order: %v %q", err, l.lines)
	}
	if err := p.Tick(t.Context(), now.Add(time.Minute)); err != nil || low() != 0 ||
		len(l.lines) != 4 || !strings.HasPrefix(l.lines[3], "d@") {
		t.Errorf("%v %d %q", err, low(), l.lines)
	}
	// What waits for too long is dropped.
	l.status = http.StatusTooManyRequests
	if err := p.Handle(t.Context(), []stream.Record{record(t, "loud", 5, "e")}); err != nil {
		t.Error(err)
	}
	for _, after := range []time.Duration{0, 30 * time.Minute, 2 * time.Hour} {
		if low() != 5 || p.Tick(t.Context(), now.Add(time.Hour+after)) != nil {
			t.Errorf("%s: %d", after, low())
		}
	}
	if low() != 0 {
		t.Errorf("%d", low())
	}
}

// long is a frame with as many events as one may have, each as long as one may be in JSON.
func long(t *testing.T, account string, partition int32, offset int64) stream.Record {
	t.Helper()
	n := frametest.New("prod", 1, 0)
	at := time.Now().UnixMilli()
	f := &frame.Frame{Header: frame.Header{Node: n.ID, Cluster: "prod", Started: 1, At: at,
		Interval: 5000}}
	for range frame.MaxEvents {
		f.Events = append(f.Events, frame.Event{At: at, Kind: "error",
			Text: strings.Repeat("\x01", 900)})
	}
	b, err := f.Append(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return stream.Record{Account: account, Cluster: "prod", Partition: partition, Offset: offset,
		Value: b}
}

// TestParkedIsBounded: of an account that meets the Loki's limits a bounded number of bytes waits,
// what is above that is dropped and counted, a push is no larger than a proxy takes, and a
// partition that another process got is not waited for.
func TestParkedIsBounded(t *testing.T) {
	l := &receiver{T: t, status: http.StatusTooManyRequests}
	p := everybody(t, l)
	const frames, mib = 60, 1 << 20 // some 20 MiB as JSON
	if err := p.Handle(t.Context(), []stream.Record{long(t, "loud", 3, 1)}); err != nil {
		t.Fatal(err)
	}
	var records []stream.Record
	for i := range frames {
		records = append(records, long(t, "loud", 2, int64(1+i)))
	}
	if err := p.Handle(t.Context(), records); err != nil {
		t.Fatal(err)
	}
	if _, waits := p.LowWater(3); !waits {
		t.Error("nothing waits")
	}
	p.Revoke(3)
	if _, waits := p.LowWater(3); waits {
		t.Error("what another process pushes waits here")
	}
	l.status = http.StatusNoContent
	if err := p.Tick(t.Context(), time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	bytes := 0
	for _, line := range l.lines {
		text, _ := json.Marshal(line)
		bytes += len(text)
	}
	if bytes > 8*mib || bytes < 6*mib || l.most > mib {
		t.Errorf("%d bytes of lines waited, a push had %d", bytes, l.most)
	}
	if first, waits := p.LowWater(2); waits {
		t.Errorf("offset %d waits still", first)
	}
}
