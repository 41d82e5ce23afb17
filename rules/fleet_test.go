package rules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/querytest"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/following"
)

// sent is a frame with its time.
type sent struct {
	at      int64
	cluster string
	bytes   []byte
	account string // empty: querytest.Account
}

// of returns whose the frame is.
func (s *sent) of() string { return cmp.Or(s.account, querytest.Account) }

// framesOf returns a fleet's frames in order of time.
func framesOf(t *testing.T, f *querytest.Fleet) []sent {
	t.Helper()
	var list []sent
	for _, frames := range f.Frames {
		for _, b := range frames {
			h, _, err := frame.Parse(b)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, sent{at: h.At, cluster: h.Cluster, bytes: b})
		}
	}
	slices.SortStableFunc(list, func(a, b sent) int { return int(a.at - b.at) })
	return list
}

// line stands for everything around the role: a stream whose records come when the test says so,
// and what survives the process.
type line struct {
	t       *testing.T
	now     time.Time
	through time.Time
	pulse   func() (since, until time.Time)
	away    func() []read.Span   // nil: until the pulse
	broken  error                // of Publish and Save
	set     func(*Config, *Deps) // what else a role is given; nil: nothing
	bound   time.Duration        // of a Tick; 0: none

	mu        sync.Mutex
	offset    int64
	log       []stream.Record
	published []sent
	alerts    []Alert
	states    map[clusterKey]State
}

func newLine(t *testing.T) *line { return &line{t: t, states: map[clusterKey]State{}} }

func (l *line) deps() Deps {
	return Deps{
		Publish: func(_ context.Context, account, cluster string, b []byte) error {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.broken != nil {
				return l.broken
			}
			h, _, err := frame.Parse(b)
			if err != nil {
				return err
			}
			l.published = append(l.published, sent{h.At, cluster, b, account})
			l.log = append(l.log, stream.Record{Account: account, Cluster: cluster,
				Offset: l.offset, Received: l.now, Value: b})
			l.offset++
			return nil
		},
		Notify: func(_ context.Context, list []Alert) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.alerts = append(l.alerts, list...)
		},
		Load: func(context.Context, int32) ([]State, error) {
			var list []State
			for _, s := range l.states {
				list = append(list, s)
			}
			return list, nil
		},
		Save: func(_ context.Context, _ int32, s State) error {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.broken != nil {
				return l.broken
			}
			l.states[clusterKey{s.Account, s.Cluster}] = s
			return nil
		},
		Through: func(int32) (time.Time, bool) { return l.through, true },
		Pulse:   l.pulse,
		Away:    l.unheard,
		Log:     slog.New(slog.NewTextHandler(testWriter{l.t}, nil)),
	}
}

// unheard is when nobody heard of nodes.
func (l *line) unheard() []read.Span {
	switch {
	case l.away != nil:
		return l.away()
	case l.pulse != nil:
		since, _ := l.pulse()
		return []read.Span{{To: since.UnixMilli()}}
	}
	return nil
}

type testWriter struct{ *testing.T }

func (w testWriter) Write(b []byte) (int, error) {
	w.Helper()
	w.Log(string(b))
	return len(b), nil
}

// role starts the role with rule files.
func (l *line) role(files ...string) *Rules {
	l.t.Helper()
	c := DefaultConfig()
	c.Shipped, c.Files = false, files
	c.Clock = func() time.Time { return l.now }
	d := l.deps()
	if l.set != nil {
		l.set(&c, &d)
	}
	r, err := New(c, d)
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

// deliver hands records to the role and lets it work at an instant, by which all has come.
func (l *line) deliver(r *Rules, now int64, frames ...sent) {
	l.t.Helper()
	l.now, l.through = time.UnixMilli(now), time.UnixMilli(now)
	if err := r.Handle(l.t.Context(), l.enter(frames)); err != nil {
		l.t.Fatal(err)
	}
	err := l.tick(r)
	if errors.Is(err, stream.ErrAgain) { // as the consumer does
		low, ok := r.LowWater(0)
		r.Revoke(0)
		if ok {
			l.handOn(r, low)
		}
		err = l.tick(r)
	}
	if err != nil && !errors.Is(err, l.broken) {
		l.t.Fatal(err)
	}
}

func (l *line) tick(r *Rules) error {
	ctx, cancel := l.t.Context(), func() {}
	if l.bound > 0 {
		ctx, cancel = context.WithTimeout(ctx, l.bound)
	}
	defer cancel()
	return r.Tick(ctx, l.now)
}

// enter puts frames into the stream.
func (l *line) enter(frames []sent) []stream.Record {
	begin := len(l.log)
	for _, f := range frames {
		l.log = append(l.log, stream.Record{Account: f.of(), Cluster: f.cluster, Offset: l.offset,
			Received: time.UnixMilli(f.at), Value: f.bytes})
		l.offset++
	}
	return l.log[begin:len(l.log):len(l.log)]
}

// again hands the records from the role's low water on to another one, as after a restart.
func (l *line) again(r, next *Rules) {
	l.t.Helper()
	low, ok := r.LowWater(0)
	if !ok {
		l.t.Fatal("no low water")
	}
	l.handOn(next, low)
}

// handOn hands the records from an offset on to a role.
func (l *line) handOn(next *Rules, low int64) {
	l.t.Helper()
	i := slices.IndexFunc(l.log, func(rec stream.Record) bool { return rec.Offset >= low })
	if err := next.Handle(l.t.Context(), l.log[i:]); err != nil {
		l.t.Fatal(err)
	}
}

// recorded returns what was published, by series and instant.
func (l *line) recorded() map[string]map[int64]float64 {
	l.t.Helper()
	followers := map[uuid.UUID]*following.Follower{}
	all := map[string]map[int64]float64{}
	for _, s := range l.published {
		h, _, err := frame.Parse(s.bytes)
		if err != nil {
			l.t.Fatal(err)
		}
		f := followers[h.Node]
		if f == nil {
			f = following.New(window.Node{}, nil)
			followers[h.Node] = f
		}
		if _, err := f.Frame(nil, s.bytes, func(c *following.Cell) {
			key := c.Labels().String()
			if all[key] == nil {
				all[key] = map[int64]float64{}
			}
			all[key][h.At] = c.Double
		}); err != nil {
			l.t.Fatal(err)
		}
	}
	return all
}

// write writes a rule file.
func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// said returns what an alert says, with the instants that no repetition changes.
func said(a *Alert) string {
	return fmt.Sprintf("%s active %d fired %d resolved %d value %v %s", a.Labels,
		millis(a.ActiveAt), millis(a.FiredAt), millis(a.ResolvedAt), a.Value, a.Annotations)
}
