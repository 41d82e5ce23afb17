package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/ring"
	"github.com/ringwatch/ringwatch/ring/throttle"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/columns"
	"github.com/ringwatch/ringwatch/store/cutovers"
	"github.com/ringwatch/ringwatch/store/dictionaries"
	"github.com/ringwatch/ringwatch/store/fresh"
	"github.com/ringwatch/ringwatch/window/rollup"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// gate counts what asks a throttle, by class.
type gate struct {
	throttle *throttle.Throttle

	mu                                sync.Mutex
	asked, admitted, refused, running map[string]int
	most                              map[string]int // that ran at once
}

func newGate(t *testing.T, change func(*throttle.Config)) *gate {
	t.Helper()
	c := throttle.DefaultConfig()
	change(&c)
	held, err := throttle.New(c, nil, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- held.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return &gate{throttle: held, asked: map[string]int{}, admitted: map[string]int{},
		refused: map[string]int{}, running: map[string]int{}, most: map[string]int{}}
}

func (g *gate) admit(ctx context.Context, w ring.Work, keyspace, table string,
	n int) (func(time.Duration, error), error) {
	g.mu.Lock()
	g.asked[w.Class] += n
	g.mu.Unlock()
	done, err := g.throttle.Admit(ctx, throttle.Work{Class: w.Class, Client: w.Client,
		Keyspace: keyspace, Table: table}, n)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		if errors.Is(err, throttle.ErrThrottled) {
			g.refused[w.Class] += n
		}
		return nil, err
	}
	g.admitted[w.Class] += n
	g.running[w.Class] += n
	g.most[w.Class] = max(g.most[w.Class], g.running[w.Class])
	return func(took time.Duration, err error) {
		g.mu.Lock()
		g.running[w.Class] -= n // before the throttle lets the next one in
		g.mu.Unlock()
		done(took, err)
	}, nil
}

func (g *gate) of(class string) (asked, admitted, refused, most int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.asked[class], g.admitted[class], g.refused[class], g.most[class]
}

// TestBulkCannotHurtServing: bulk reads and writes at full blast are held to their class's rate and
// number at once, while lookups and the API's reads beside them are all admitted.
func TestBulkCannotHurtServing(t *testing.T) {
	const rate, burst, blasters, lookups, reads = 20, 8, 16, 300, 60
	c := newClock(base)
	var g *gate
	s := mustCassandra(t, c, func(config *Config) {
		g = newGate(t, func(tc *throttle.Config) {
			tc.Classes = map[string]throttle.Class{throttle.Bulk: {OperationsPerSecond: rate,
				Burst: burst, Concurrency: 1, Floor: 1, MaxWait: time.Hour}}
			tc.TargetLatency = time.Hour // a slow machine is not unwell
		})
		config.Admit = g.admit
	})
	n := windowtest.NewNode(seeded(t, uint64(time.Now().UnixNano())))
	var sent []windowtest.Sent
	for at := base; at < base+300_000; at += 20_000 {
		sent = append(sent, n.Step(at, false))
	}
	c.millis.Store(base + 300_000)
	write(t, s, sent...)
	closeIt(t, s, n)
	if asked, _, _, _ := g.of(throttle.Bulk); asked != 0 {
		t.Errorf("%d calls that frames and closing need have asked the throttle", asked)
	}
	session, err := s.cql()
	if err != nil {
		t.Fatal(err)
	}
	reader, err := ring.Connect(t.Context(), session, ring.DefaultConfig(), g.admit, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()

	began := time.Now()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var blast sync.WaitGroup
	rolled := make(chan error, blasters)
	for i := range blasters {
		blast.Go(func() {
			for {
				var err error
				if i%2 == 0 {
					err = s.hours.MakeHour(ctx,
						s.task(Bulk(fmt.Sprint("job", i)), memory.Unbounded()),
						"acme", n.ID, calendar.Hour(base))
				} else {
					_, _, err = s.Reader(Bulk(fmt.Sprint("job", i)), memory.Unbounded()).Read(ctx,
						"acme", n.ID, base, base+300_000)
				}
				if err != nil {
					rolled <- err
					return
				}
			}
		})
	}
	eventually.True(t, "bulk waits", func() bool {
		asked, admitted, _, _ := g.of(throttle.Bulk)
		return admitted >= 1 && asked-admitted >= blasters/2
	})
	keys := []ring.Key{{"acme", gocql.UUID(n.ID), base}, {"acme", gocql.UUID(uuid.New()), base}}
	query := ring.Query{Keyspace: s.config.Keyspace, Table: fresh.TableName,
		Columns: []string{"at"},
		Limit:   1, Work: ring.Work{Class: throttle.Serving, Client: "shop"}}
	for range lookups / 2 {
		results, err := reader.Read(t.Context(), query, keys)
		if err != nil || results[0].Err != nil || len(results[0].Rows) != 1 ||
			results[1].Err != nil || len(results[1].Rows) != 0 {
			t.Fatalf("a lookup beside bulk: %v %+v", err, results)
		}
	}
	for range reads {
		if series, _, err := answers(s).Read(t.Context(), "acme", n.ID, base,
			base+300_000); err != nil || len(series) == 0 {
			t.Fatalf("a read beside bulk: %d series, %v", len(series), err)
		}
	}
	asked, admitted, refused, _ := g.of(throttle.Serving)
	if asked != lookups || admitted != lookups || refused != 0 {
		t.Errorf("serving: %d asked, %d admitted, %d refused, want all of %d", asked, admitted,
			refused, lookups)
	}
	if asked, admitted, refused, _ := g.of(throttle.Dashboard); asked < reads ||
		admitted != asked || refused != 0 {
		t.Errorf("dashboard: %d asked, %d admitted, %d refused", asked, admitted, refused)
	}
	asked, admitted, _, most := g.of(throttle.Bulk)
	if allowed := burst + rate*time.Since(began).Seconds() + 1; float64(admitted) > allowed ||
		most != 1 {
		t.Errorf("bulk: %d admitted where %.0f were allowed, %d at once where 1 was", admitted,
			allowed, most)
	}
	if asked-admitted < blasters/2 {
		t.Errorf("bulk: %d of %d wait, so it was not held", asked-admitted, asked)
	}
	t.Logf("while %d of serving were admitted, %d of bulk were, and %d waited", lookups, admitted,
		asked-admitted)
	stop()
	blast.Wait()
	close(rolled)
	for err := range rolled {
		if !errors.Is(err, context.Canceled) {
			t.Error("bulk ended with", err)
		}
	}
}

// TestThrottledWorkIsTriedAgain: what the throttle refuses is no failure of Cassandra's; a load
// goes on until it has its turn, and rolling up never holds closing up.
func TestThrottledWorkIsTriedAgain(t *testing.T) {
	c := newClock(base)
	var mu sync.Mutex
	seen := map[string]int{}
	s := mustStore(t, c, func(config *Config) {
		config.Admit = func(_ context.Context, w ring.Work, _, table string,
			_ int) (func(time.Duration, error), error) {
			mu.Lock()
			defer mu.Unlock()
			if seen[w.Class+" "+table]++; seen[w.Class+" "+table] == 1 &&
				slices.Contains([]string{fresh.TableName, columns.HoursTable,
					dictionaries.TableName},
					table) {
				return nil, fmt.Errorf("held: %w",
					&throttle.Error{Class: w.Class, RetryAfter: time.Millisecond})
			}
			return func(time.Duration, error) {}, nil
		}
	})
	n := windowtest.NewNode(seeded(t, 5))
	var recording []byte
	for at := base; at < base+60_000; at += 20_000 {
		recording = append(recording, n.Step(at, false).Bytes...)
	}
	c.millis.Store(base + 20*60_000)
	done, err := s.Load(t.Context(), "acme", bytes.NewReader(recording), nil)
	if err != nil || done.Frames != 3 {
		t.Fatalf("%+v, %v", done, err)
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Error("the throttle makes the store unready:", err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{"bulk " + fresh.TableName, "bulk " + columns.HoursTable,
		"bulk " + dictionaries.TableName} {
		if seen[want] < 2 {
			t.Errorf("%d of %q in %v", seen[want], want, seen)
		}
	}
	if seen["bulk "+cutovers.TableName]+seen["dashboard "+cutovers.TableName] > 0 {
		t.Error("what generation serves waits for the throttle")
	}
}

// TestLastSeenOfManyNodes: it is right for each of them, and asks few times.
func TestLastSeenOfManyNodes(t *testing.T) {
	now := base + 40*60_000
	c := newClock(now)
	registry := prometheus.NewRegistry()
	s := mustCassandra(t, c, func(config *Config) { config.Registerer = registry })
	want := map[uuid.UUID]int64{}
	var nodes []uuid.UUID
	insert := "INSERT INTO " + s.table(fresh.TableName) +
		" (account, node, window, at, frame, key_at) VALUES (?, ?, ?, ?, 0x00, ?)"
	for i := range 260 {
		id := uuid.New()
		nodes = append(nodes, id)
		for age := range int64(3) {
			at := now - 1000 - age*300_000*int64(1+i%3) // some are silent for minutes
			if i%5 == 4 {                               // not in the last fifteen
				at -= 30 * 60_000
			}
			start := frame.WindowOf(at)
			if err := s.exec(t.Context(), insert, "acme", gocql.UUID(id), start, at,
				start); err != nil {
				t.Fatal(err)
			}
			if age == 0 && i%5 != 4 {
				want[id] = at
			}
		}
	}
	nodes = append(nodes, uuid.New())
	seen, err := answers(s).LastSeen(t.Context(), "acme", nodes)
	if err != nil || len(seen) != len(want) {
		t.Fatalf("%d of %d, %v", len(seen), len(want), err)
	}
	for id, at := range want {
		if seen[id] != at {
			t.Errorf("%s: %d, want %d", id, seen[id], at)
		}
	}
	if other, err := answers(s).LastSeen(t.Context(), "other", nodes); err != nil ||
		len(other) != 0 {
		t.Errorf("another account: %d, %v", len(other), err)
	}
	began := time.Now()
	if _, err := answers(s).LastSeen(t.Context(), "acme", nodes); err != nil {
		t.Fatal(err)
	}
	together := time.Since(began)
	began = time.Now()
	each, ctx := errgroup.WithContext(t.Context())
	each.SetLimit(16)
	for _, id := range nodes {
		each.Go(func() error {
			_, _, _, err := answers(s).LatestFrames(ctx, "acme", id)
			return err
		})
	}
	if err := each.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d nodes: together in %s, one by one, 16 at once, in %s", len(nodes), together,
		time.Since(began))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "ringwatch_ring_requests_total" {
			continue
		}
		for _, m := range f.Metric {
			if requests := m.GetCounter().GetValue(); m.Label[0].GetValue() == "first" &&
				(requests == 0 || requests > 2*2*5*3+10) {
				t.Errorf("%v requests for two questions about %d nodes", requests, len(nodes))
			}
		}
		return
	}
	t.Error("nothing is counted")
}

// TestReaderIsAllThatBounds: what a Reader is made for is what the throttle is told and what pays,
// for frames, columns and rollups; a lease that is too small ends the reading.
func TestReaderIsAllThatBounds(t *testing.T) {
	c := newClock(base)
	var mu sync.Mutex
	told := map[string]bool{}
	s := mustStore(t, c, func(config *Config) {
		config.KeptBytes = 0 // each reading decodes anew
		config.Admit = func(_ context.Context, w ring.Work, _, _ string,
			_ int) (func(time.Duration, error), error) {
			mu.Lock()
			defer mu.Unlock()
			told[w.Class+" "+w.Client] = true
			return func(time.Duration, error) {}, nil
		}
	})
	expect := func(what string, want ...string) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		if got := slices.Sorted(maps.Keys(told)); !slices.Equal(got, want) {
			t.Errorf("%s told the throttle %q, want %q", what, got, want)
		}
		clear(told)
	}
	n := windowtest.NewNode(seeded(t, 5))
	for at := base; at < base+60_000; at += 20_000 {
		write(t, s, n.Step(at, at == base))
	}
	expect("writing frames")
	read := map[string]func(r Reader) (int, error){
		"samples": func(r Reader) (int, error) {
			list, _, err := r.Read(t.Context(), "acme", n.ID, base, base+calendar.WindowMillis)
			return len(list), err
		},
		"rollups": func(r Reader) (int, error) {
			list, _, err := r.ReadRollup(t.Context(), "acme", n.ID, rollup.FiveMinutes, base,
				base+calendar.WindowMillis, nil)
			return len(list), err
		},
	}
	check := func(of string) {
		t.Helper()
		for what, f := range read {
			what += " of " + of
			free := memory.Unbounded()
			found, err := f(s.Reader(Bulk("job"), free))
			if err != nil || found == 0 {
				t.Fatalf("%s: %d series, %v", what, found, err)
			}
			expect(what, "bulk job")
			if free.Taken() == 0 {
				t.Errorf("%s took nothing of the lease", what)
			}
			if found, err := f(s.Reader(Dashboard("acme"), memory.Bounded(1))); !errors.Is(err,
				memory.ErrTooLarge) || found > 0 {
				t.Errorf("%s with a byte: %d series, %v", what, found, err)
			}
			expect(what, "dashboard acme")
		}
	}
	check("frames")
	c.millis.Store(base + 20*60_000)
	closeIt(t, s, n)
	expect("closing a window")
	check("a window")
	if err := writing(s).MakeHour(t.Context(), memory.Bounded(1), "acme", n.ID,
		calendar.Hour(base)); !errors.Is(err, memory.ErrTooLarge) {
		t.Errorf("an hour was made of a byte: %v", err)
	}
	if err := writing(s).MakeHour(t.Context(), memory.Unbounded(), "acme", n.ID,
		calendar.Hour(base)); err != nil {
		t.Fatal(err)
	}
	expect("making an hour", "bulk Ringwatch/rollups")
	check("an hour")
}
