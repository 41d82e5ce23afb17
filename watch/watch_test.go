package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/watch/reading"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/following"
)

// reader is one that does as it is told.
type reader struct {
	read   func(ctx context.Context) (*reading.Reading, error)
	closed func()
}

func (r *reader) Read(ctx context.Context) (*reading.Reading, error) { return r.read(ctx) }
func (r *reader) Close()                                             { r.closed() }

// line takes frames and remembers the newest values of each series.
type line struct {
	mu        sync.Mutex
	followers map[uuid.UUID]*following.Follower
	values    map[string]float64 // by labels
	frames    map[uuid.UUID]int
	facts     map[uuid.UUID]frame.Identity
	keys      int
	log       bytes.Buffer
}

func newLine() *line {
	return &line{followers: map[uuid.UUID]*following.Follower{}, values: map[string]float64{},
		frames: map[uuid.UUID]int{}, facts: map[uuid.UUID]frame.Identity{}}
}

func (l *line) put(t *testing.T) func(uuid.UUID, []byte, func()) {
	return func(node uuid.UUID, b []byte, _ func()) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.frames[node]++
		if h, _, err := frame.Parse(b); err == nil && h.IsKey() {
			l.keys++
			l.facts[node], _ = frame.ReadIdentity(b)
		}
		f := l.followers[node]
		if f == nil {
			f = following.New(window.Node{Account: "a", ID: node}, nil)
			l.followers[node] = f
		}
		for series := range l.values {
			if strings.Contains(series, node.String()) {
				delete(l.values, series)
			}
		}
		if _, err := f.Frame(nil, b, func(c *following.Cell) {
			l.values[c.Labels().String()] = c.Double
		}); err != nil {
			t.Error(err)
		}
	}
}

// find returns the newest value of a series of which all parts are known; false: there is none.
func (l *line) find(parts ...string) (float64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for series, v := range l.values {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(series, part)
		}
		if all {
			return v, true
		}
	}
	return 0, false
}

func (l *line) count(node uuid.UUID) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.frames[node]
}

func sourceOf(instance string, read func(context.Context) (*reading.Reading, error)) Source {
	return Source{Target: reading.Target{Kind: reading.Redis, Cluster: "c", Job: "redis",
		Instance: instance, Interval: 20 * time.Millisecond}, Timeout: 50 * time.Millisecond,
		MaxSeries: 5, Open: func() (Reader, error) {
			return &reader{read: read, closed: func() {}}, nil
		}}
}

func values(n int) *reading.Reading {
	r := &reading.Reading{Facts: []frame.Fact{{Name: "version", Value: "7.0.15"}},
		Tables: []reading.Table{{Type: "db", Labels: []string{"db"}, Columns: []reading.Column{
			{Name: "keys", Kind: frame.GaugeDouble}}}}}
	for i := range n {
		r.Tables[0].Rows = append(r.Tables[0].Rows, []string{fmt.Sprint("db", i)})
		r.Tables[0].Columns[0].Doubles = append(r.Tables[0].Columns[0].Doubles, float64(i+1))
	}
	return r
}

func (l *line) watch(t *testing.T, shares *Shares, sources ...Source) {
	t.Helper()
	w, err := New(sources, Deps{Put: l.put(t), Shares: shares, Metrics: prometheus.NewRegistry(),
		Log: slog.New(slog.NewTextHandler(&l.log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = w.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
}

// TestTargets: each target harms only itself, and its trouble is a sentence among its series.
func TestTargets(t *testing.T) {
	l := newLine()
	var mu sync.Mutex
	answer := errors.New("it is away: start it")
	l.watch(t, Everything(),
		sourceOf("good", func(context.Context) (*reading.Reading, error) { return values(3), nil }),
		sourceOf("slow", func(ctx context.Context) (*reading.Reading, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}),
		sourceOf("many", func(context.Context) (*reading.Reading, error) { return values(9), nil }),
		sourceOf("panics", func(context.Context) (*reading.Reading, error) { panic("oh") }),
		sourceOf("half", func(context.Context) (*reading.Reading, error) {
			return values(2), errors.New("broker 3 does not answer: start it")
		}),
		sourceOf("away", func(context.Context) (*reading.Reading, error) {
			mu.Lock()
			defer mu.Unlock()
			if answer != nil {
				return nil, answer
			}
			return values(1), nil
		}))
	is := func(want float64, parts ...string) {
		t.Helper()
		eventually.True(t, fmt.Sprintf("%v is %v", parts, want), func() bool {
			v, there := l.find(parts...)
			return there && v == want
		})
	}
	is(1, `"up"`, `"good"`, `job="redis"`, `cluster="c"`)
	is(3, `"keys"`, `"good"`, `"db2"`)
	is(3, `"scrape_samples_scraped"`, `"good"`)
	is(0, `"up"`, `"slow"`)
	is(1, `"ringwatch_target_error_info"`, `"slow"`, "did not answer within 50ms")
	is(1, `"up"`, `"many"`)
	is(5, `"keys"`, `"many"`, `"db4"`)
	is(5, `"scrape_samples_post_metric_relabeling"`, `"many"`)
	is(1, `"ringwatch_target_error_info"`, `"many"`, "4 more were found")
	if _, there := l.find(`"keys"`, `"many"`, `"db5"`); there {
		t.Error("a target has more than max_series")
	}
	is(0, `"up"`, `"panics"`)
	is(1, `"ringwatch_target_error_info"`, `"panics"`, "oh")
	is(1, `"up"`, `"half"`)
	is(2, `"keys"`, `"half"`, `"db1"`)
	is(1, `"ringwatch_target_error_info"`, `"half"`, "broker 3")
	is(0, `"up"`, `"away"`)
	mu.Lock()
	answer = nil
	mu.Unlock()
	is(1, `"up"`, `"away"`)
	eventually.True(t, "the sentence has gone", func() bool {
		_, there := l.find(`"ringwatch_target_error_info"`, `"away"`)
		return !there
	})
	mu.Lock()
	answer = errors.New("it is away again: start it")
	mu.Unlock()
	is(0, `"up"`, `"away"`)
	l.mu.Lock()
	defer l.mu.Unlock()
	good := sourceOf("good", nil)
	if f := l.facts[good.Target.ID()]; f.Fact("version") != "7.0.15" || f.Fact("kind") != "redis" ||
		f.Fact("instance") != "good" {
		t.Errorf("facts are %v", f)
	}
}

// TestOpen: what cannot be made is tried again, and a target that has its labels already keeps them
// beside the sentence of what is wrong.
func TestOpen(t *testing.T) {
	l := newLine()
	var mu sync.Mutex
	tries := 0
	s := sourceOf("odd", nil)
	s.Target.Labelled = true
	s.Open = func() (Reader, error) {
		mu.Lock()
		defer mu.Unlock()
		if tries++; tries < 3 {
			var none *reader // as a constructor returns it beside an error
			return none, errors.New("the address is wrong: correct it")
		}
		return &reader{read: func(context.Context) (*reading.Reading, error) {
			return values(1), nil
		},
			closed: func() {}}, nil
	}
	l.watch(t, Everything(), s)
	eventually.True(t, "the sentence is there", func() bool {
		_, there := l.find(`"ringwatch_target_error_info"`, "the address is wrong", `job="redis"`,
			`instance="odd"`)
		return there
	})
	eventually.True(t, "it is read", func() bool {
		v, there := l.find(`"keys"`)
		return there && v == 1
	})
}

// TestShares: of two processes that share targets one reads each, also while shares move, and none
// sends anything of a target after it was told that it is another's.
func TestShares(t *testing.T) {
	const partitions = 8
	first, second := newLine(), newLine()
	shares := []*Shares{NewShares(partitions, nil), NewShares(partitions, nil)}
	var sources []Source
	for i := range 20 {
		sources = append(sources, sourceOf(fmt.Sprint("i", i),
			func(context.Context) (*reading.Reading, error) { return values(1), nil }))
	}
	for p := range int32(partitions) {
		shares[0].Assign(p)
	}
	first.watch(t, shares[0], sources...)
	second.watch(t, shares[1], sources...)
	for _, s := range sources {
		eventually.True(t, "the first reads all", func() bool {
			return first.count(s.Target.ID()) > 1
		})
		if second.count(s.Target.ID()) > 0 {
			t.Error("the second reads what is the first's")
		}
	}
	before := map[uuid.UUID]int{}
	for p := range int32(partitions / 2) {
		shares[0].Revoke(p)
	}
	for _, s := range sources {
		before[s.Target.ID()] = first.count(s.Target.ID())
	}
	for p := range int32(partitions / 2) {
		shares[1].Assign(p)
	}
	moved := 0
	for _, s := range sources {
		id := s.Target.ID()
		if shares[1].Mine(id) {
			moved++
			eventually.True(t, "the second reads it", func() bool { return second.count(id) > 1 })
			if first.count(id) != before[id] {
				t.Error("the first sent of a target that is the second's")
			}
		} else {
			eventually.True(t, "the first reads on",
				func() bool { return first.count(id) > before[id] })
		}
	}
	if moved == 0 || moved == len(sources) {
		t.Errorf("%d of %d targets moved", moved, len(sources))
	}
}

// TestTwice: two targets that would be one node are refused.
func TestTwice(t *testing.T) {
	_, err := New([]Source{sourceOf("a", nil), sourceOf("a", nil)},
		Deps{Metrics: prometheus.NewRegistry()})
	if err == nil || !strings.Contains(err.Error(), "another instance") {
		t.Error(err)
	}
}
