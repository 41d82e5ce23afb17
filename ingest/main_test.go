package ingest

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/stream"
)

func TestMain(m *testing.M) { engines.Main(m) }

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

var (
	writer  = account.NewKey() // acme's
	second  = account.NewKey() // acme's, too
	reader  = account.NewKey() // acme's, for reading only
	expired = account.NewKey() // acme's, once
	zetas   = account.NewKey() // zeta's
)

func mustAdmit(t *testing.T) func(*http.Request) (account.Principal, error) {
	t.Helper()
	registry, err := account.NewRegistry([]account.Account{
		{Name: "acme", Clusters: []string{"prod-*"}, Keys: []account.Key{
			{Name: "agents", SHA256: account.Hash(writer), Scopes: []account.Scope{account.Write}},
			{Name: "more", SHA256: account.Hash(second), Scopes: []account.Scope{account.Write}},
			{Name: "people", SHA256: account.Hash(reader), Scopes: []account.Scope{account.Read}},
			{Name: "old", SHA256: account.Hash(expired), Scopes: []account.Scope{account.Write},
				Expires: time.Now().Add(-time.Minute)},
		}},
		{Name: "zeta", Clusters: []string{"zeta-1"},
			Keys: []account.Key{{Name: "agents", SHA256: account.Hash(zetas),
				Scopes: []account.Scope{account.Write}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return account.NewDoor(registry.Authenticate).Admit
}

// running is a server that serves.
type running struct {
	*Server
	url  string
	stop func() // and check that Run ends well
}

// mustServe starts a server on a free port. publish nil: nothing may be published.
func mustServe(t *testing.T, publish func(context.Context, string, string, []byte) error,
	change ...func(*Config, *Deps)) *running {
	t.Helper()
	c := DefaultConfig()
	c.Listen = "127.0.0.1:0"
	if publish == nil {
		publish = func(context.Context, string, string, []byte) error {
			t.Error("something was published")
			return nil
		}
	}
	d := Deps{Admit: mustAdmit(t), Publish: publish, Retryable: stream.Retryable,
		Ready: func(context.Context) error { return nil }, Registry: prometheus.NewRegistry(),
		Log: quiet}
	for _, f := range change {
		f(&c, &d)
	}
	s, err := New(c, d)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stopped := false
	r := &running{Server: s, url: "http://" + s.Addr().String()}
	r.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("Run did not end")
		}
	}
	t.Cleanup(r.stop)
	return r
}

// counts returns a metric by its label, or by "".
func (r *running) counts(t *testing.T, name string) map[string]float64 {
	t.Helper()
	families, err := r.deps.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]float64{}
	for _, f := range families {
		if f.GetName() != "ringwatch_ingest_"+name {
			continue
		}
		for _, v := range f.Metric {
			label := ""
			if len(v.Label) > 0 {
				label = v.Label[0].GetValue()
			}
			if n := v.GetCounter().GetValue() + v.GetGauge().GetValue(); n != 0 || label == "" {
				m[label] = n // what has not happened is left out
			}
		}
	}
	return m
}

// ledger checks a server that nobody sends to any more. The last request gives back its memory
// before it is counted, so the ledger waits until none is under way.
func (r *running) ledger(t *testing.T) {
	t.Helper()
	eventually.True(t, "no request is under way", func() bool {
		return r.counts(t, "frames_pending")[""] == 0
	})
	dropped := 0.0
	for _, n := range r.counts(t, "frames_dropped_total") {
		dropped += n
	}
	accepted, forwarded := r.counts(t, "frames_accepted_total")[""], r.counts(t,
		"frames_forwarded_total")[""]
	if accepted != forwarded+dropped || accepted == 0 {
		t.Errorf("ledger: accepted %v, forwarded %v, dropped %v", accepted, forwarded, dropped)
	}
}

// post sends body with acme's key unless change says otherwise.
func post(t *testing.T, url string, body io.Reader, change ...func(*http.Request)) *http.Response {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+FramesPath, body)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+writer)
	q.Header.Set("Content-Type", frame.ContentType)
	for _, f := range change {
		f(q)
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}

// wantRefusal checks status, reason and that the message is a sentence.
func wantRefusal(t *testing.T, answer *http.Response, status int, reason string) {
	t.Helper()
	var body struct {
		Error struct{ Reason, Message string }
	}
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
		t.Errorf("the answer (%s) is no JSON: %v", answer.Status, err)
	}
	if m := body.Error.Message; answer.StatusCode != status || body.Error.Reason != reason ||
		len(m) < 20 || strings.ContainsAny(m, "\n") {
		t.Errorf("got %d %s %q, want %d %s", answer.StatusCode, body.Error.Reason, m,
			status, reason)
	}
	if retry := answer.Header.Get(
		"Retry-After"); (retry != "") != (status == 429 || status == 503) || retry == "0" {
		t.Errorf("%d %s with Retry-After %q", status, reason, retry)
	}
}

// node is one that sends good frames. The zero value is of prod-1.
type node struct {
	cluster     string
	compression frame.Compression
	at          time.Time // zero: the start of this window
	rows        int       // 0: 2
	id          uuid.UUID // zero: that of all
}

func (n node) key() *frame.Frame {
	if n.at.IsZero() {
		n.at = time.UnixMilli(frame.WindowOf(time.Now().UnixMilli()))
	}
	if n.cluster == "" {
		n.cluster = "prod-1"
	}
	if n.id == (uuid.UUID{}) {
		n.id = uuid.UUID{1, 2, 3}
	}
	f := &frame.Frame{
		Header: frame.Header{Compression: n.compression, Node: n.id,
			Cluster: n.cluster, Started: 1, At: n.at.UnixMilli(), Interval: 5000},
		Identity: frame.Identity{Datacenter: "dc1", Rack: "r1"},
		Templates: []frame.Template{{Type: "table", Labels: []string{"table"},
			Metrics: []frame.Metric{{Name: "reads_total", Kind: frame.Counter},
				{Name: "size_bytes", Kind: frame.Gauge, Unit: "bytes"}}}},
		Added: []frame.Entities{{Template: 0}},
	}
	ints := []int64{}
	for i := range max(2, n.rows) {
		f.Added[0].Rows = append(f.Added[0].Rows, []string{fmt.Sprint("table_", i)})
		ints = append(ints, int64(i+1))
	}
	f.Values = []frame.Group{{Template: 0,
		Columns: []frame.Column{{Metric: 0, All: true, Ints: ints}}}}
	return f
}

func (n node) mustKey(t *testing.T) []byte {
	t.Helper()
	b, err := n.key().Append(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (n node) mustDelta(t *testing.T) []byte {
	t.Helper()
	key := n.key()
	if _, err := key.Append(nil, nil); err != nil {
		t.Fatal(err)
	}
	d := &frame.Frame{Header: key.Header,
		Values: []frame.Group{{Template: 0,
			Columns: []frame.Column{{Metric: 1, All: true, Ints: []int64{7, -7}}}}}}
	d.At, d.KeyAge, d.Sequence = key.At+1, 1, 1
	b, err := d.Append(nil, key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := frame.Decode(b, key); err != nil {
		t.Fatal(err)
	}
	return b
}

// rawFrame writes a frame of prod-1 by FORMAT.md §3 with any payload and a right checksum: what a
// hostile sender can do.
func rawFrame(compression frame.Compression, rawLength uint64, payload []byte) []byte {
	b := append([]byte("RWF\x01\x00\x00\x00\x00\x00\x00\x00\x00"), byte(compression))
	b = append(b, bytes.Repeat([]byte{9}, 16)...)
	b = append(b, "\x06prod-1\x01\x00"...) // cluster, started, sequence
	b = binary.AppendUvarint(b, uint64(time.Now().UnixMilli()))
	b = binary.AppendUvarint(b, 5000)
	b = append(b, 0, 0) // key_age, cost
	b = binary.AppendUvarint(b, rawLength)
	b = append(b, payload...)
	return seal(b)
}

// seal sets a frame's length and checksum.
func seal(b []byte) []byte {
	binary.LittleEndian.PutUint32(b[8:], uint32(len(b)))
	binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(b[8:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}
