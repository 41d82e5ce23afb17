package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/events"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
)

// output is what a command prints while it runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// TestEventsEndToEnd: what frames say happened is seen by the API and its commands, of key and
// delta frames and of delta frames whose key frame is missing, before a kill and after it. Who
// follows meanwhile hears of each event once.
func TestEventsEndToEnd(t *testing.T) {
	events.EventsEvery = 200 * time.Millisecond
	d := newDirectory(t)
	d.begin(t)
	key := d.key(t, "all", account.Read, account.Write)
	flags := client.Flags{API: d.api, Key: key}
	a, b := frametest.New("prod", 1, 2), frametest.New("prod", 2, 2)
	number := 0
	tell := func(n *frametest.Node, at int64, kind string, labels ...frame.Label) {
		t.Helper()
		number++
		n.Events = []frame.Event{{At: at, Kind: kind, Severity: frame.Warning, Labels: labels,
			Text: fmt.Sprintf("number-%d\x1b[2J", number)}}
		b := n.Frame(at)
		eventually(t, "a frame to be taken", func(ctx context.Context) error {
			return (&promFleet{key: key}).post(ctx, d.ingest, b)
		})
	}
	// within one window, so that b's frames are of the key frame that is missing
	now := time.Now().UnixMilli()
	base := now - 40_000
	if window := frame.WindowOf(now); base < window {
		base = window - 45_000
	}
	b.Frame(base)
	tell(a, base, "node_down", frame.Label{Name: "peer", Value: "10.0.0.9"})
	tell(a, base+5000, "slow_query", frame.Label{Name: "keyspace", Value: "shop"},
		frame.Label{Name: "slowest_seconds", Value: "1.5"},
		frame.Label{Name: "table", Value: "items"}, frame.Label{Name: "times", Value: "7"})
	tell(b, base+6000, "gc_pause")
	list := func(c events.EventsCmd) string {
		t.Helper()
		c.Flags = flags
		if c.Limit == 0 {
			c.Limit = 100
		}
		var out bytes.Buffer
		if err := c.RunTo(t.Context(), &out, io.Discard, time.Now()); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	eventually(t, "all events", func(context.Context) error {
		if out := list(events.EventsCmd{}); strings.Count(out, "\n") != 4 {
			return errors.New(out)
		}
		return nil
	})
	lines := strings.Split(list(events.EventsCmd{}), "\n")
	expect(t, lines[0], `^AT +SEVERITY +KIND +CLUSTER +NODE +WHAT$`)
	expect(t, lines[1], `warning +gc_pause +prod +\S+ +number-3\\u001b\[2J$`)
	expect(t, lines[2],
		`slow_query +prod +10\.0\.0\.1 +keyspace=shop  slowest_seconds=1\.5  table=items  times=7  `+
			`number-2`)
	expect(t, list(events.EventsCmd{Kind: []string{"node_down"}}),
		`(?m)node_down +prod +10\.0\.0\.1 +peer=10\.0\.0\.9`)
	var page struct{ Events []struct{ Text string } }
	if text := list(events.EventsCmd{EventTimes: events.EventTimes{JSON: true},
		Limit: 1}); json.Unmarshal(
		[]byte(text), &page) != nil || len(page.Events) != 1 {
		t.Errorf("%s", text)
	}
	if out := list(events.EventsCmd{Text: "nobody says that"}); out != "Nothing happened.\n" {
		t.Errorf("%q", out)
	}
	var slow bytes.Buffer
	queries := events.SlowQueriesCmd{Flags: flags, Limit: 20}
	if err := queries.RunTo(t.Context(), &slow, io.Discard, time.Now()); err != nil {
		t.Fatal(err)
	}
	expect(t, slow.String(), `(?m)^1\.5s +7 +1 +.* +prod +shop\.items +number-2`)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, errs output
	ended := make(chan error, 1)
	follow := events.EventsCmd{Flags: flags, Limit: 2, Follow: true}
	go func() { ended <- follow.RunTo(ctx, &out, &errs, time.Now()) }()
	once := func() {
		t.Helper()
		eventually(t, "events of --follow", func(context.Context) error {
			for i := 2; i <= number; i++ {
				if n := strings.Count(out.String(), fmt.Sprintf("number-%d\\", i)); n != 1 {
					return fmt.Errorf("number-%d is there %d times:\n%s", i, n, &out)
				}
			}
			return nil
		})
	}
	once()
	tell(a, base+20_000, "node_up")
	tell(b, base+10_000, "start") // late
	tell(b, base+5500, "start")   // before the newest of the list, too
	once()
	waited := frametest.New("prod", 3, 2)
	tell(waited, base-10*60_000, "stop") // it could not be sent for so long
	once()
	// a store that begins anew may tell it as late
	if strings.Contains(out.String(), "number-1\\") {
		t.Error(&out)
	}
	if err := d.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a word that the API is away", func(context.Context) error {
		if !strings.Contains(errs.String(), "cannot be reached") {
			return errors.New(errs.String())
		}
		return nil
	})
	d.begin(t)
	tell(a, base+30_000, "stop")
	once()
	tell(a, base+31_000, "start") // with it would come what comes again
	once()
	if strings.Count(errs.String(), "\n") != 1 {
		t.Errorf("%s\n%s", &out, &errs)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if out := list(events.EventsCmd{}); strings.Count(out, "\n") != number+1 {
		t.Errorf("after a kill:\n%s", out)
	}
}

// TestFollowAnew: a change of the schema is printed once, whichever node's event is in an answer,
// and a place that the API of another version does not take is not the end.
func TestFollowAnew(t *testing.T) {
	events.EventsEvery = 10 * time.Millisecond
	event := func(id string, also ...string) events.EventInfo {
		return events.EventInfo{ID: id, Text: "text-" + id, Also: also}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun, refused := 0, 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := events.EventsAnswer{Events: []events.EventInfo{}}
		switch after := r.FormValue("after"); after {
		case "": // the list
			answer.Events = []events.EventInfo{event("a", "b")}
		case "old":
			refused++
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"error": {"reason": "bad_after", "message": "not so"}}`)
			return
		case "new":
			answer.Events, answer.Next, answer.More = []events.EventInfo{event("d")}, "end", true
		case "end":
			cancel()
		default:
			begun++
			if _, err := strconv.ParseInt(after, 10, 64); err != nil {
				t.Error(err)
			}
			answer.Events, answer.Next = []events.EventInfo{event("b", "c")}, "old"
			if begun == 2 {
				answer.Events, answer.Next = []events.EventInfo{event("c"), event("x", "y")}, "new"
			}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	defer s.Close()
	var out, errs output
	c := events.EventsCmd{Flags: client.Flags{API: s.URL, Key: testKey}, Limit: 10, Follow: true}
	err := c.RunTo(ctx, &out, &errs, time.Now())
	got := regexp.MustCompile(`text-\w+`).FindAllString(out.String(), -1)
	if want := "text-a text-x text-d"; strings.Join(got, " ") != want || begun != 2 ||
		refused != 1 ||
		!errors.Is(err, context.Canceled) {
		t.Errorf("begun %d times, refused %d: %v\n%s%s", begun, refused, err, &out, &errs)
	}
}

// TestFollowFrom: what comes late is followed, whatever the list ends with.
func TestFollowFrom(t *testing.T) {
	now := time.UnixMilli(1_000_000_000_000)
	ago := func(d time.Duration) events.EventInfo { return events.EventInfo{At: now.Add(-d)} }
	for _, c := range []struct {
		list []events.EventInfo
		from time.Duration // ago; 0: not said
		want time.Duration
	}{
		{nil, 0, 5 * time.Minute},
		{nil, time.Minute, time.Minute},
		{[]events.EventInfo{ago(time.Hour)}, 0, 65 * time.Minute},
		{[]events.EventInfo{ago(-10 * time.Minute)}, 0, 5 * time.Minute}, // a clock ahead
		{[]events.EventInfo{ago(time.Minute), ago(2 * time.Minute)}, 0, 2 * time.Minute},
		{[]events.EventInfo{ago(time.Minute), ago(time.Hour)}, 0, 6 * time.Minute},
	} {
		query := url.Values{}
		if c.from > 0 {
			query.Set("from", fmt.Sprint(now.Add(-c.from).UnixMilli()))
		}
		of := events.EventsCmd{Limit: 2}
		if got := now.Sub(time.UnixMilli(of.FollowFrom(query, c.list, now))); got != c.want {
			t.Errorf("%v: from %s ago on, not %s", c.list, got, c.want)
		}
	}
}

// TestPrintedOnce: what is repeated is printed once, however old it is and however much comes
// beside it, and what is not repeated is forgotten.
func TestPrintedOnce(t *testing.T) {
	var out bytes.Buffer
	f := events.EventFollower{Out: &out, Printed: map[string]time.Time{}}
	now := time.UnixMilli(1_000_000_000_000)
	late := events.EventInfo{ID: "late", Text: "it was late", At: now.Add(-3 * time.Hour)}
	for i := range 60 {
		list := []events.EventInfo{late}
		for j := range 1000 {
			list = append(list, events.EventInfo{ID: fmt.Sprint(i, "-", j), At: now})
		}
		if err := f.Print(list, now); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Minute)
	}
	if n := strings.Count(out.String(), "it was late"); n != 1 {
		t.Errorf("it is printed %d times", n)
	}
	if n := len(f.Printed); n > 22_000 {
		t.Errorf("%d ids are remembered", n)
	}
}

// TestBadEventFlags: each is one sentence, before anybody is asked.
func TestBadEventFlags(t *testing.T) {
	t.Setenv("RINGWATCH_API", "http://127.0.0.1:1")
	t.Setenv("RINGWATCH_KEY", testKey)
	for _, c := range []struct {
		want string
		args []string
	}{
		{`--from and --since`, []string{"events", "--from", "0", "--since", "1h"}},
		{`--limit: 0`, []string{"events", "--limit", "0"}},
		{`--to ends`, []string{"events", "--follow", "--to", "now"}},
		{`is not a time`, []string{"events", "--from", "soon"}},
		{`is not a duration`, []string{"slow-queries", "--since", "soon"}},
		{`--limit: 1001`, []string{"slow-queries", "--limit", "1001"}},
		{`info.*warning.*error`, []string{"events", "--severity", "fatal"}},
	} {
		code, _, errs := say(t, c.args...)
		if code != exit.Misused {
			t.Errorf("%v: exit %d", c.args, code)
		}
		expect(t, errs, c.want)
	}
}
