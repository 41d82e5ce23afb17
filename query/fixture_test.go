package query_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api/apitest"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/recent"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/selecting"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

func TestMain(m *testing.M) { engines.Main(m) }

// fixture is one node whose frames are in a store and, as far as they are recent, in a real Redis.
type fixture struct {
	*testing.T
	config  read.Config
	store   *apitest.Store
	writer  *recent.Writer
	redis   *recent.Reader
	metrics *prometheus.Registry // of the reader made last
	now     atomic.Int64         // ms
	node    *frametest.Node
	frames  map[int64][]byte // by time
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{T: t, store: &apitest.Store{}, frames: map[int64][]byte{}}
	f.node = frametest.New("fleet-0", 1, 1)
	f.now.Store(frame.WindowOf(time.Now().UnixMilli()) + frame.WindowMillis/2)
	f.config = read.Config{
		RecentSpan: 15 * time.Minute, NodesTTL: 5 * time.Second, Timeout: time.Minute,
		Clock: f.clock,
	}
	return f
}

func (f *fixture) clock() time.Time { return time.UnixMilli(f.now.Load()) }

// account is the test's own, for tests share a Redis.
func (f *fixture) account() string {
	return "query-" + strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(f.Name()))
}

// principal may see all of the account's nodes.
func (f *fixture) principal() account.Principal {
	f.Helper()
	const key = "rw_query000000000000000"
	registry, err := account.NewRegistry([]account.Account{{Name: f.account(), Keys: []account.Key{
		{Name: "r", Key: key, Scopes: []account.Scope{account.Read}},
	}}})
	if err != nil {
		f.Fatal(err)
	}
	p, err := registry.Authenticate(f.Context(), key)
	if err != nil {
		f.Fatal(err)
	}
	return p
}

// withRecent adds a Redis to sources.
func (f *fixture) withRecent(s read.Sources) read.Sources {
	f.Helper()
	if f.redis == nil {
		c := recent.DefaultConfig()
		c.Addresses = []string{engines.SharedRedis(f.T).Addr()}
		c.Clock, c.Backoff = f.clock, time.Nanosecond
		c.ActiveFor = 0 // the writer has no log to read again
		// A crowded machine is no outage.
		c.DialTimeout, c.ReadTimeout, c.WriteTimeout = 10*time.Second, 10*time.Second,
			30*time.Second
		var err error
		if f.writer, err = recent.NewWriter(c, nil, prometheus.NewRegistry()); err != nil {
			f.Fatal(err)
		}
		f.Cleanup(f.writer.Close)
		if f.redis, err = recent.NewReader(c, prometheus.NewRegistry()); err != nil {
			f.Fatal(err)
		}
		f.Cleanup(f.redis.Close)
	}
	s.Recent, s.Miss = f.redis, recent.ErrMiss
	return s
}

func (f *fixture) reader(s read.Sources) *read.Reader {
	f.Helper()
	f.metrics = prometheus.NewRegistry()
	s.Metrics = f.metrics
	r, err := read.New(f.config, s)
	if err != nil {
		f.Fatal(err)
	}
	return r
}

// fill makes the node send every 5 s for a while up to now, except at some times.
func (f *fixture) fill(span time.Duration, except func(at int64) bool) {
	f.Helper()
	now := f.now.Load()
	for at := now - span.Milliseconds(); at <= now; at += 5000 {
		f.now.Store(at)
		f.node.Step()
		if except(at) {
			continue
		}
		b := f.node.Frame(at)
		f.frames[at] = b
		f.store.Put(f.account(), b)
		f.write(b)
	}
	f.now.Store(now)
}

// write gives Redis a frame.
func (f *fixture) write(b []byte) {
	f.Helper()
	err := f.writer.Handle(f.Context(), []stream.Record{{Account: f.account(), Value: b}})
	if err != nil {
		f.Fatal(err)
	}
}

// direct is what the frames themselves say.
func (f *fixture) direct(from, to int64, selectors [][]*labels.Matcher) read.Values {
	f.Helper()
	groups := map[int64][][]byte{}
	var v read.Values
	for at, b := range f.frames {
		groups[frame.WindowOf(at)] = append(groups[frame.WindowOf(at)], b)
		if at >= from && at <= to {
			v.Instants = append(v.Instants, at)
		}
	}
	slices.Sort(v.Instants)
	var parts [][]window.Series
	for _, g := range groups {
		w, _, err := building.Window(window.Node{Account: f.account(), ID: f.node.ID}, g)
		if err != nil {
			f.Fatal(err)
		}
		if len(selectors) == 0 {
			parts = append(parts, selecting.Select(w, from, to))
		}
		for _, m := range selectors {
			parts = append(parts, selecting.Select(w, from, to, m...))
		}
	}
	v.Series = selecting.Join(parts...)
	return v
}

// check compares values with what the frames say.
func (f *fixture) check(
	what string, got read.Values, from, to int64, selectors [][]*labels.Matcher,
) {
	f.Helper()
	want := f.direct(from, to, selectors)
	if !slices.Equal(got.Instants, want.Instants) {
		f.Errorf("%s: the instants are not %v: %v", what, want.Instants, got.Instants)
	}
	samples, err := windowtest.Of(got.Series)
	if err != nil {
		f.Fatal(what, err)
	}
	wanted, err := windowtest.Of(want.Series)
	if err != nil {
		f.Fatal(what, err)
	}
	if d := windowtest.Diff(samples, wanted); d != "" || len(got.Missing) > 0 {
		f.Errorf("%s: missing %q\n%s", what, got.Missing, d)
	}
}

// count returns what a counter with these labels' values stands at.
func (f *fixture) count(name string, values ...string) (n float64) {
	f.Helper()
	families, err := f.metrics.Gather()
	if err != nil {
		f.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.Metric {
			var of []string
			for _, l := range m.Label {
				of = append(of, l.GetValue())
			}
			if family.GetName() == name && slices.Equal(of, values) {
				n += m.GetCounter().GetValue()
			}
		}
	}
	return n
}
