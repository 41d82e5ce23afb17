package index

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/window"
)

// shelf is a store of dictionaries in memory whose calls fail at random.
type shelf struct {
	mu      sync.Mutex
	pick    func(int) int
	failing int // of 100 calls
	facts   []fact
	at      []int64 // when each fact was written, by the writer's clock
	reads   int
	now     int64
}

var errAway = errors.New("the store is away")

func (s *shelf) call() error {
	if s.pick(100) < s.failing {
		return errAway
	}
	return nil
}

// ids returns the IDs of the facts that match, or fails when it has done so.
func (s *shelf) ids(match func(i int, f *fact) bool) ([]window.DictionaryID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []window.DictionaryID
	for i := range s.facts {
		if match(i, &s.facts[i]) {
			list = append(list, s.facts[i].id)
		}
	}
	return list, s.call()
}

const writtenFor = 24 * time.Hour

func (s *shelf) source() Source {
	return Source{
		Nodes: func(_ context.Context, account string) ([]uuid.UUID, error) {
			ids, err := s.ids(func(_ int, f *fact) bool { return f.account == account })
			var nodes []uuid.UUID
			for _, id := range ids {
				nodes = append(nodes, id.Node) // again and again
			}
			return nodes, err
		},
		Dictionaries: func(_ context.Context, account string, node uuid.UUID,
			from int64) ([]window.DictionaryID, error) {
			return s.ids(func(_ int, f *fact) bool {
				return f.account == account && f.id.Node == node && f.day >= from-from%dayMillis
			})
		},
		Written: func(_ context.Context, account string,
			since int64) ([]window.DictionaryID, error) {
			return s.ids(func(i int, f *fact) bool {
				return f.account == account &&
					s.at[i] >= max(since, s.now-writtenFor.Milliseconds())
			})
		},
		WrittenFor: writtenFor,
		Read: func(_ context.Context, account string, node uuid.UUID, ids []window.DictionaryID,
			take func(window.Hash, *window.Dictionary)) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.reads++
			for _, f := range s.facts {
				if f.account == account && f.id.Node == node && slices.Contains(ids, f.id) {
					take(f.id.Hash, f.d)
				}
			}
			return s.call()
		},
	}
}

// TestLoaderMissesNothing: dictionaries are written, by clocks that are wrong and for days long
// past, calls fail, refreshes stay out for hours and days: when one succeeds, the Index has all
// that was written before it.
func TestLoaderMissesNothing(t *testing.T) {
	rounds := 40
	if os.Getenv("RINGWATCH_TEST_FULL") != "" {
		rounds = 1000
	}
	compared := 0
	for range rounds {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 2))
		ok := t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			now := day0 + 10*dayMillis
			s := &shelf{pick: r.IntN}
			accounts := []string{"acme"}
			c := DefaultConfig()
			c.Keep, c.Readers, c.Clock, c.Log = 14*24*time.Hour, 3, func() time.Time {
				return time.UnixMilli(now)
			}, slog.New(slog.DiscardHandler)
			c.Accounts = func() []string { return accounts }
			x := New(c.MaxBytes)
			l, err := NewLoader(c, s.source(), x, prometheus.NewRegistry())
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(r.IntN) // its facts, one after another
			for step := range 60 {
				now += []int64{1_000, 30_000, 600_000, 3600_000, 30 * 3600_000}[r.IntN(5)]
				s.now = now
				if r.IntN(3) > 0 && len(w.facts) > 0 {
					f := w.facts[r.IntN(len(w.facts))]
					if r.IntN(2) == 0 {
						f = factOf(f.account, now-now%dayMillis-int64(r.IntN(3))*dayMillis, f.d)
					}
					s.facts, s.at = append(s.facts, f), append(s.at, now-int64(r.IntN(60_000)))
				}
				if step == 20 {
					accounts = append(accounts, "other")
				}
				if s.failing = []int{0, 5, 60}[r.IntN(3)]; r.IntN(2) == 0 {
					continue
				}
				if l.Refresh(t.Context()) != nil {
					if l.State() == "ok" {
						t.Fatal("a refresh failed and all is well")
					}
					continue
				}
				if state := l.State(); state != "ok" {
					t.Fatal("a refresh succeeded and it says: ", state)
				}
				kept := &world{facts: s.facts}
				q := Query{From: day0, To: now + 2*dayMillis, Selectors: w.query().Selectors}
				for _, account := range accounts {
					compared++
					compare(t, x, account, q,
						kept.direct(account, q,
							now-c.Keep.Milliseconds()-(now-c.Keep.Milliseconds())%dayMillis))
				}
			}
			s.failing, accounts = 0, []string{"other"}
			if err := l.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			before := s.reads
			if err := l.Refresh(t.Context()); err != nil || s.reads != before {
				t.Errorf("a refresh with nothing new reads %d nodes' dictionaries: %v",
					s.reads-before, err)
			}
			if _, err := x.Select("acme", Query{}); !errors.Is(err, ErrLoading) {
				t.Errorf("of an account that is no more: %v", err)
			}
		})
		if !ok {
			break
		}
	}
	if compared < rounds*5 {
		t.Errorf("only %d comparisons", compared)
	}
}

// TestReadersBesideTheLoader: what readers see while the Index changes and is made anew is always
// whole label sets of what there was.
func TestReadersBesideTheLoader(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 3))
	w := newWorld(r.IntN)
	x := New(0)
	x.setPending("acme", 0)
	there := w.direct("acme", Query{From: day0, To: day0 + 20*dayMillis, Selectors: everything}, 0)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for reader := range 3 {
		wg.Go(func() {
			mine := &world{pick: rand.New(rand.NewPCG(seed, uint64(reader))).IntN, nodes: w.nodes}
			for {
				select {
				case <-done:
					return
				default:
				}
				s, err := x.Select("acme", mine.query())
				if err != nil {
					t.Error(err)
					return
				}
				n := 0
				for b := range s.ByNode() {
					for set := range b.Series() {
						if n++; there[set.String()].IsEmpty() {
							t.Errorf("%s was never there", set)
						}
					}
				}
				if count, _ := s.Count(); count != n {
					t.Errorf("%d series, %d counted", n, count)
				}
				s.Values("table")
				x.Stats()
			}
		})
	}
	for range 30 {
		for _, f := range w.facts {
			w.add(x, f)
		}
		x.Forget(day0 + int64(r.IntN(11))*dayMillis)
	}
	close(done)
	wg.Wait()
}
