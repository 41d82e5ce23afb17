package ring

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// stalled is a read that a paused node holds up, and what of the other nodes' keys can be read meanwhile.
type stalled struct {
	r      *Reader
	s      *single
	others []Key // that do not lie on the paused node, first those that are there
	there  int
	end    func() // resumes the node, and waits for the read
}

func mustHold(t *testing.T, gather time.Duration) *stalled {
	t.Helper()
	c := mustTrio(t)
	r := c.mustReader(t, func(c *Config) { c.Speculation = "never" })
	h := &stalled{r: r, s: newSingle(t, c, r, c.nodes[1])}
	r.config.Gather, r.config.GroupKeys = gather, maxGroupKeys
	var on []Key
	for k, lies := range h.s.lies {
		switch {
		case lies && k < h.s.keys:
			on = append(on, Key{k})
		case !lies:
			h.others = append(h.others, Key{k})
			h.there += boolInt(k < h.s.keys)
		}
	}
	if err := c.nodes[1].Pause(); err != nil {
		t.Fatal(err)
	}
	asked := count(r.metrics.first)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if _, err := h.read(t.Context(), on[:1]); err != nil {
			t.Error(err)
		}
	}()
	h.end = sync.OnceFunc(func() {
		if err := c.nodes[1].Resume(); err != nil {
			t.Error(err)
		}
		<-ended
	})
	t.Cleanup(h.end)
	eventually(t, "a read to be under way", func() error {
		if count(r.metrics.first) == asked {
			return errors.New("nothing was asked")
		}
		return nil
	})
	return h
}

// gathering is the only kind's there is; nil: none is under way.
func (h *stalled) gathering() *gathering {
	g := &h.r.gatherer
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, of := range g.of {
		return of
	}
	return nil
}

func (h *stalled) members(t *testing.T, want int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d reads to wait", want), func() error {
		of := h.gathering()
		h.r.gatherer.mu.Lock()
		defer h.r.gatherer.mu.Unlock()
		if of == nil || of.next == nil || len(of.next.members) != want {
			return errors.New("they do not")
		}
		return nil
	})
}

func (h *stalled) read(ctx context.Context, keys []Key) ([]Result, error) {
	return h.r.Read(ctx, Query{Keyspace: h.s.ks, Table: "t", Columns: []string{"v"}}, keys)
}

// right checks that results are those of others[from:].
func (h *stalled) right(results []Result, from int) error {
	for i, result := range results {
		if result.Err != nil {
			return fmt.Errorf("key %v: %w", h.others[from+i][0], result.Err)
		}
		if want := boolInt(from+i < h.there); len(result.Rows) != want {
			return fmt.Errorf("key %v has %d rows, not %d", h.others[from+i][0], len(result.Rows), want)
		}
		var v string
		for _, row := range result.Rows {
			if err := row.Scan(&v); err != nil || v != h.s.value(h.others[from+i][0].(int)) {
				return fmt.Errorf("key %v has %q, %v", h.others[from+i][0], v, err)
			}
		}
	}
	return nil
}

// TestGather: reads that come while another is under way go together, with each key once, and each gets its own; who gives up does so at once and alone.
func TestGather(t *testing.T) {
	h := mustHold(t, time.Hour)
	before := count(h.r.metrics.first)
	var wait sync.WaitGroup
	start := func(ctx context.Context, from, to int, check func([]Result) error) {
		wait.Go(func() {
			results, err := h.read(ctx, h.others[from:to])
			if err == nil {
				err = check(results)
			}
			if err != nil {
				t.Errorf("keys %d to %d: %v", from, to, err)
			}
		})
	}
	n := len(h.others)
	for _, part := range [][2]int{{0, n / 2}, {n / 4, 3 * n / 4}, {3 * n / 4, n}} {
		start(t.Context(), part[0], part[1], func(results []Result) error { return h.right(results, part[0]) })
	}
	h.members(t, 3)
	hurried, cancel := context.WithCancel(t.Context())
	gone := make(chan struct{})
	start(hurried, 0, n/2, func(results []Result) error {
		defer close(gone)
		for _, result := range results {
			if !errors.Is(result.Err, context.Canceled) {
				return fmt.Errorf("it says %w", result.Err)
			}
		}
		return nil
	})
	h.members(t, 4)
	cancel()
	<-gone
	if n := count(h.r.metrics.gathered); n != 4 {
		t.Errorf("%v reads gathered", n)
	}
	h.end()
	wait.Wait()
	// The keys lie on two nodes; the three reads by themselves would be six requests.
	if n := count(h.r.metrics.first) - before; n > 2 {
		t.Errorf("%v requests instead of 2", n)
	}
	eventually(t, "nothing to be left", func() error {
		if of := h.gathering(); of != nil {
			return fmt.Errorf("%+v", of)
		}
		return nil
	})
}

// TestGatherNobodyWaits: when all who wait have gone, nothing is asked for them, and who comes then waits with nobody.
func TestGatherNobodyWaits(t *testing.T) {
	h := mustHold(t, time.Hour)
	before := count(h.r.metrics.first)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if _, err := h.read(ctx, h.others[:10]); err != nil {
			t.Error(err)
		}
	}()
	h.members(t, 1)
	cancel()
	<-gone
	eventually(t, "nobody to wait", func() error {
		of := h.gathering()
		h.r.gatherer.mu.Lock()
		defer h.r.gatherer.mu.Unlock()
		if of.next != nil {
			return errors.New("a read is still waited for")
		}
		return nil
	})
	// Who comes then goes by itself.
	done := make(chan error)
	go func() {
		results, err := h.read(t.Context(), h.others)
		if err == nil {
			err = h.right(results, 0)
		}
		done <- err
	}()
	h.members(t, 1)
	h.end()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := count(h.r.metrics.first) - before; n > 2 {
		t.Errorf("%v requests, of those for the keys of who had gone", n)
	}
}

// TestGatherGoesOn: a node that hangs holds up no read of others' keys for longer than Gather, and a full trip leaves at once.
func TestGatherGoesOn(t *testing.T) {
	t.Run("Time", func(t *testing.T) {
		h := mustHold(t, 2*time.Millisecond)
		results, err := h.read(t.Context(), h.others)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.right(results, 0); err != nil {
			t.Error(err)
		}
		if h.gathering() == nil {
			t.Error("the paused node answered before")
		}
	})
	t.Run("Full", func(t *testing.T) {
		h := mustHold(t, time.Hour)
		var wait sync.WaitGroup
		for range (maxTrip + len(h.others) - 1) / len(h.others) {
			wait.Go(func() {
				results, err := h.read(t.Context(), h.others)
				if err != nil {
					t.Error(err)
				} else if err := h.right(results, 0); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		if h.gathering() == nil {
			t.Error("the paused node answered before")
		}
	})
}

// TestGatherClosed: who waits when the reader is closed is told so.
func TestGatherClosed(t *testing.T) {
	h := mustHold(t, time.Hour)
	done := make(chan error)
	go func() {
		results, err := h.read(t.Context(), h.others[:1])
		if err == nil {
			err = results[0].Err
		}
		done <- err
	}()
	h.members(t, 1)
	h.r.Close()
	if err := <-done; !errors.Is(err, ErrClosed) {
		t.Errorf("it says %v", err)
	}
}

// TestGatherKinds: reads of another kind do not go along.
func TestGatherKinds(t *testing.T) {
	h := mustHold(t, time.Hour)
	for name, q := range map[string]Query{
		"Columns": {Columns: []string{"k"}}, "Limit": {Columns: []string{"v"}, Limit: 1}, "Consistency": {Columns: []string{"v"}, Consistency: gocql.One},
	} {
		q.Keyspace, q.Table = h.s.ks, "t"
		results, err := h.r.Read(t.Context(), q, h.others[:1])
		if err != nil || results[0].Err != nil || len(results[0].Rows) != 1 || results[0].Rows[0].Columns()[0].Name != q.Columns[0] {
			t.Errorf("%s: %+v, %v", name, results, err)
		}
	}
	if h.gathering() == nil {
		t.Error("the paused node answered before")
	}
}
