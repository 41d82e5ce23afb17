package limit

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// asking is a query that waits in a queue or runs.
type asking struct {
	account string
	wide    bool
	cancel  context.CancelFunc
	result  chan func() // nil: it was refused or cancelled
	leave   func()
	ctx     context.Context
}

// TestQueueProperty lets queries of some accounts come, go and give up in any order.
func TestQueueProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.IntRange(1, 4).Draw(t, "slots")
		each := rapid.IntRange(1, slots).Draw(t, "each")
		waiting := rapid.IntRange(1, 3).Draw(t, "waiting")
		q := NewQueue(slots, each, waiting)
		var all []*asking
		// settle waits until every query that has been answered knows it.
		settle := func() {
			q.mu.Lock()
			open := 0
			for _, l := range q.accounts {
				open += len(l.waiting)
			}
			q.mu.Unlock()
			for len(all) > 0 {
				unknown := 0
				for _, a := range all {
					if a.leave == nil {
						select {
						case a.leave = <-a.result:
						default:
							unknown++
						}
					}
				}
				if unknown <= open {
					break
				}
				time.Sleep(10 * time.Microsecond)
			}
		}
		check := func() {
			running, of, wide := 0, map[string]int{}, map[string]int{}
			for _, a := range all {
				if a.leave != nil {
					running++
					of[a.account]++
					if a.wide {
						wide[a.account]++
					}
				}
			}
			q.mu.Lock()
			defer q.mu.Unlock()
			if running > slots || q.running != running {
				t.Fatalf("%d run, the queue counts %d of %d", running, q.running, slots)
			}
			for name, n := range of {
				if n > each {
					t.Fatalf("%d of %s run, %d may", n, name, each)
				}
				if most := max(1, each/2); wide[name] > most {
					t.Fatalf("%d wide ones of %s run, %d may", wide[name], name, most)
				}
			}
			for name, l := range q.accounts {
				runnable := slices.ContainsFunc(l.waiting, func(w waiter) bool {
					return !w.wide || wide[name] < max(1, each/2)
				})
				if runnable && l.running < each &&
					(q.running < slots-slots/4 || l.running == 0 && q.running < slots) {
					t.Fatalf("%s waits though there is room", name)
				}
				if len(l.waiting) > 0 != slices.Contains(q.turns, name) {
					t.Fatalf("%s has %d waiting, and turns are %v", name, len(l.waiting), q.turns)
				}
				if len(l.waiting) == 0 && l.running == 0 {
					t.Fatalf("%s is remembered without a query", name)
				}
			}
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch action := rapid.IntRange(0, 3).Draw(t, "action"); {
			case action < 2:
				a := &asking{account: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "account"),
					wide: rapid.Bool().Draw(t, "wide"), result: make(chan func(), 1)}
				a.ctx, a.cancel = context.WithCancel(context.Background())
				q.mu.Lock()
				before := q.known(a.account)
				q.mu.Unlock()
				failed := make(chan error, 1)
				go func() {
					leave, err := q.Enter(a.ctx, a.account, a.wide)
					if err != nil {
						failed <- err
						return
					}
					a.result <- leave
				}()
				if !entered(q, a, before, failed) {
					continue // too many wait
				}
				all = append(all, a)
			case len(all) == 0:
			case action == 2:
				i := rapid.IntRange(0, len(all)-1).Draw(t, "which")
				if a := all[i]; a.leave != nil {
					a.leave()
					a.leave() // once more does nothing
					all = slices.Delete(all, i, i+1)
				}
			default:
				i := rapid.IntRange(0, len(all)-1).Draw(t, "which")
				if a := all[i]; a.leave == nil {
					q.mu.Lock()
					n := len(q.accounts[a.account].waiting)
					q.mu.Unlock()
					a.cancel()
					for range 100_000 {
						q.mu.Lock()
						l := q.accounts[a.account]
						gone := l == nil || len(l.waiting) < n
						q.mu.Unlock()
						if gone {
							break
						}
						time.Sleep(10 * time.Microsecond)
					}
					all = slices.Delete(all, i, i+1)
				}
			}
			settle()
			check()
		}
		for len(all) > 0 { // all get their turn in the end
			settle()
			check()
			i := slices.IndexFunc(all, func(a *asking) bool { return a.leave != nil })
			if i < 0 {
				t.Fatalf("%d wait and none runs", len(all))
			}
			all[i].leave()
			all = slices.Delete(all, i, i+1)
		}
		if q.running != 0 || len(q.accounts) != 0 || len(q.turns) != 0 {
			t.Fatalf("in the end %d run, accounts %v, turns %v", q.running, q.accounts, q.turns)
		}
	})
}

// known returns how many queries of an account there are. The caller holds the lock.
func (q *Queue) known(name string) int {
	l := q.accounts[name]
	if l == nil {
		return 0
	}
	return l.running + len(l.waiting)
}

// entered waits until a query waits or runs, or is refused because too many wait.
func entered(q *Queue, a *asking, before int, failed chan error) bool {
	for {
		select {
		case err := <-failed:
			var busy *BusyError
			if !errors.As(err, &busy) {
				panic(err)
			}
			return false
		default:
		}
		q.mu.Lock()
		n := q.known(a.account)
		q.mu.Unlock()
		if n > before {
			return true
		}
		time.Sleep(10 * time.Microsecond)
	}
}

// TestQueueTurns wants each account to have its turn: an account that asks for much does not delay
// one that asks for little by more than one query.
func TestQueueTurns(t *testing.T) {
	q := NewQueue(1, 1, 100)
	first, err := q.Enter(t.Context(), "much", false)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var order []string
	var wg sync.WaitGroup
	for i, name := range []string{"much", "much", "much", "much", "little", "much", "other"} {
		wg.Go(func() {
			leave, err := q.Enter(t.Context(), name, false)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			order = append(order, name)
			mu.Unlock()
			leave()
		})
		for waiting := -1; waiting != i+1; { // they come one after the other
			q.mu.Lock()
			waiting = 0
			for _, l := range q.accounts {
				waiting += len(l.waiting)
			}
			q.mu.Unlock()
			time.Sleep(10 * time.Microsecond)
		}
	}
	first()
	wg.Wait()
	if want := []string{"much", "little", "other", "much", "much", "much",
		"much"}; !slices.Equal(order, want) {
		t.Errorf("the turns were %v, want %v", order, want)
	}
}

// TestQueueKeepsPlaces: two accounts that ask for all they can get leave a place to a third one at
// once, and to a fourth.
func TestQueueKeepsPlaces(t *testing.T) {
	q := NewQueue(8, 4, 100)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if leave, err := q.Enter(ctx, []string{"a", "b"}[i%2], false); err == nil {
				<-ctx.Done()
				leave()
			}
		})
	}
	for ctx.Err() == nil {
		q.mu.Lock()
		all := q.known("a") + q.known("b")
		q.mu.Unlock()
		if all == 20 {
			break
		}
		runtime.Gosched()
	}
	for _, name := range []string{"c", "d"} {
		if _, err := q.Enter(ctx, name, false); err != nil {
			t.Errorf("%s waits: %v", name, err)
		}
	}
	if q.running != 8 {
		t.Errorf("%d run", q.running)
	}
	cancel()
	wg.Wait()
}

// TestQueueCancelled lets queries give up at the very moment of their turn: none keeps its slot.
func TestQueueCancelled(t *testing.T) {
	q := NewQueue(2, 2, 1000)
	// with a slot lost, some would wait for ever
	all, end := context.WithTimeout(t.Context(), 10*time.Second)
	defer end()
	var wg sync.WaitGroup
	for i := range 2000 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(all)
			if i%3 > 0 {
				go cancel()
			}
			defer cancel()
			if leave, err := q.Enter(ctx, string(rune('a'+i%5)), i%2 == 0); err == nil {
				leave()
			}
		})
	}
	wg.Wait()
	if q.running != 0 || len(q.accounts) != 0 || len(q.turns) != 0 {
		t.Errorf("in the end %d run, accounts %v, turns %v", q.running, q.accounts, q.turns)
	}
}
