package store

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/memory"
)

// startRounds is how many keyspaces the tests of first starts begin with.
func startRounds() int {
	if os.Getenv("RINGWATCH_TEST_FULL") != "" {
		return 100
	}
	return 3
}

// TestFirstStart: several processes' stores begin where nothing is yet, some of them at the moments
// when Cassandra lists the keyspace or the first table and does not know it itself. When Apply
// returns each can work with all tables.
func TestFirstStart(t *testing.T) {
	cassandra := engines.SharedCassandra(t)
	for round := range startRounds() {
		config := testConfig(t, cassandra.Addr(), newClock(base))
		var stores []*Store
		for range 6 {
			stores = append(stores, mustOpen(t, config))
		}
		var wg sync.WaitGroup
		for i, s := range stores {
			wg.Go(func() {
				err := s.listed(t.Context(), i/2)
				if err == nil {
					err = firstWork(t.Context(), s, uint64(i))
				}
				if err != nil {
					t.Errorf("round %d, store %d: %v", round, i, err)
				}
			})
		}
		wg.Wait()
		if err := stores[0].change(t.Context(), "DROP KEYSPACE "+config.Keyspace); err != nil {
			t.Fatal(err)
		}
		for _, s := range stores {
			s.Close()
		}
	}
}

// listed waits until Cassandra lists nothing (0), the keyspace (1), or its first table (2).
func (s *Store) listed(ctx context.Context, stage int) error {
	for stage > 0 {
		found := false
		err := s.each(ctx, func(scan func(...any) bool) bool { found = true; return false },
			[]string{"", "SELECT keyspace_name FROM system_schema.keyspaces WHERE " +
				"keyspace_name = ?",
				"SELECT table_name FROM system_schema.columns WHERE keyspace_name = ? " +
					"LIMIT 1"}[stage],
			s.config.Keyspace)
		if err != nil || found {
			return err
		}
	}
	return nil
}

// firstWork is what roles do first.
func firstWork(ctx context.Context, s *Store, n uint64) error {
	if err := s.Apply(ctx); err != nil {
		return err
	}
	node := frametest.New("cluster", n+1, 1)
	if err := writing(s).WriteFrame(ctx, "acme", node.Frame(base)); err != nil {
		return err
	}
	if _, err := s.Keys(ctx); err != nil {
		return err
	}
	if _, err := answers(s).DictionariesOf(ctx, "acme", node.ID, base); err != nil {
		return err
	}
	return writing(s).CloseWindow(ctx, memory.Unbounded(), "acme", node.ID, base)
}

// TestNoSuchDatacenter: what is missing for good is an error that names it, at once.
func TestNoSuchDatacenter(t *testing.T) {
	config := testConfig(t, engines.SharedCassandra(t).Addr(), newClock(base))
	config.Datacenters = []string{"nowhere"}
	s := mustOpen(t, config)
	if err := s.Apply(t.Context()); err == nil || Retryable(err) ||
		!strings.Contains(err.Error(), "nowhere") || number(s.metrics.retries) > 0 {
		t.Errorf("got %v", err)
	}
}
