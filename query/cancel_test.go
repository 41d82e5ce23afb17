package query_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/querytest"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/selector"
	"github.com/ringwatch/ringwatch/query/share"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// hangingStore is a store of many nodes that answers no reading before its context ends.
type hangingStore struct {
	*listedFleet
	begun, ended atomic.Int64
	hangs        func() // called when eight readings hang
}

func (s *hangingStore) Windows(ctx context.Context, _ string, _ uuid.UUID, _, _ int64,
	_ []blobs.Facet, _ ...*labels.Matcher) (read.Windows, error) {
	if s.begun.Add(1) == 8 {
		s.hangs()
	}
	<-ctx.Done()
	s.ended.Add(1)
	return read.Windows{}, ctx.Err()
}

// TestCancelledReadsEnd cancels questions whose readings hang: these end, and no other begins.
func TestCancelledReadsEnd(t *testing.T) {
	for _, expr := range []string{"cassandra_table_reads_total",
		"sum(rate(cassandra_table_reads_total[5m]))", "up"} {
		ctx, cancel := context.WithCancel(t.Context())
		s := &hangingStore{listedFleet: newListedFleet(t, 500), hangs: cancel}
		clock := func() time.Time { return time.UnixMilli(origin + 7_200_000) }
		r, err := read.New(read.Config{RecentSpan: time.Minute, NodesTTL: time.Hour,
			Timeout: time.Hour, Clock: clock},
			read.Sources{Store: s, LastSeen: func(_ context.Context, _ string,
				nodes []uuid.UUID) (map[uuid.UUID]int64, error) {
				seen := map[uuid.UUID]int64{}
				for _, id := range nodes {
					seen[id] = origin
				}
				return seen, nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		p, err := selector.New(selector.DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		c := query.DefaultConfig()
		c.Clock, c.Timeout = clock, time.Hour
		e, err := query.NewEngine(c, r, nil, p, nil, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Range(ctx, querytest.Principal(t, querytest.Account), expr,
			time.UnixMilli(origin+3_600_000), clock(),
			time.Minute, query.Options{})
		if err == nil {
			t.Fatal(expr, "has an answer")
		}
		eventually.True(t, "all readings have ended", func() bool {
			return e.Running() == 0 && s.ended.Load() == s.begun.Load()
		})
		// those that hung, and those whose goroutine had begun by then
		if n := s.begun.Load(); n > 16 {
			t.Errorf("%s: %d readings were begun", expr, n)
		}
	}
}

// TestSharedReadingEndsWithTheLast: a reading goes on while anybody waits for it, and ends when
// nobody does. Who wants the same later has one of his own.
func TestSharedReadingEndsWithTheLast(t *testing.T) {
	f := newFixture(t)
	r := f.reader(f.store.Sources())
	begun := make(chan context.Context, 2)
	read := func(ctx context.Context) (int, error) {
		begun <- ctx
		<-ctx.Done()
		return 0, ctx.Err()
	}
	ask := func() (end func()) {
		ctx, cancel := context.WithCancel(t.Context())
		within, done := r.Shared.Scope(ctx, f.account())
		var waits sync.WaitGroup
		waits.Go(func() {
			defer done()
			if _, err := share.Read(within, r.Shared, f.account(), "same", read); !errors.Is(err,
				context.Canceled) {
				t.Error(err)
			}
		})
		return func() { cancel(); waits.Wait() }
	}
	first := ask()
	reading := <-begun
	second := ask()
	eventually.True(t, "both wait", func() bool { return r.Shared.Waiting("same") == 2 })
	first()
	if reading.Err() != nil {
		t.Fatal("the reading has ended although somebody waits")
	}
	second()
	<-reading.Done()
	third := ask()
	<-begun
	third()
	if len(begun) > 0 {
		t.Error("another reading was begun")
	}
}
