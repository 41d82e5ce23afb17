package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"pgregory.net/rapid"
)

// entry is what an iterator is at; stale at an end.
type entry struct {
	at    int64
	v     float64
	stale bool
}

// drawParts makes a series' parts, and the plain list that an iterator over them has to give: parts
// in their order, each with its samples and ends by time, nothing that is not later than what was
// before; no end if the next part has a sample by then.
func drawParts(t *rapid.T) (parts []part, list []entry) {
	begin := int64(0)
	for p := range rapid.IntRange(0, 3).Draw(t, "parts") {
		of := &points{}
		var ends []int64
		at := max(0, begin-int64(rapid.IntRange(0, 8).Draw(t, "overlap")))
		for range rapid.IntRange(1, 12).Draw(t, "length") {
			at += int64(rapid.IntRange(1, 4).Draw(t, "distance"))
			if rapid.IntRange(0, 3).Draw(t, "end") == 0 {
				ends = append(ends, at)
			} else {
				of.times, of.values = append(of.times, at), append(of.values,
					float64(p)+float64(at)/1000)
			}
		}
		begin = at
		parts = append(parts, part{samples: of, ends: ends})
	}
	last := int64(math.MinInt64)
	for i, p := range parts {
		var own []entry
		for j := range p.len() {
			own = append(own, entry{p.at(j), p.float(j), false})
		}
		for _, at := range p.ends {
			own = append(own, entry{at, 0, true})
		}
		slices.SortFunc(own, func(a, b entry) int { return cmp.Compare(a.at, b.at) })
		for _, e := range own {
			if e.stale && i+1 < len(parts) && parts[i+1].len() > 0 && parts[i+1].at(0) <= e.at ||
				e.at <= last {
				continue
			}
			list, last = append(list, e), e.at
		}
	}
	return parts, list
}

// TestIteratorProperty walks over parts with Next and Seek in any order and compares with a list.
func TestIteratorProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts, list := drawParts(t)
		it := (&oneSeries{parts: parts}).Iterator(nil)
		at := -1 // in the list
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			var kind chunkenc.ValueType
			what := "Next"
			if rapid.Bool().Draw(t, "seek") {
				to := int64(rapid.IntRange(-2, 120).Draw(t, "to"))
				if at >= 0 && rapid.Bool().Draw(t, "near") {
					to = list[at].at + to%12 - 2
				}
				what = fmt.Sprint("Seek ", to)
				kind = it.Seek(to)
				for at = max(at, 0); at < len(list) && list[at].at < to; {
					at++
				}
			} else {
				kind = it.Next()
				at++
			}
			if at >= len(list) {
				if kind != chunkenc.ValNone {
					t.Fatalf("%s at the end: %v at %d", what, kind, it.AtT())
				}
				return
			}
			gotAt, got := it.At()
			want := list[at]
			if kind != chunkenc.ValFloat || gotAt != want.at || it.AtT() != want.at ||
				value.IsStaleNaN(got) != want.stale || !want.stale && got != want.v {
				t.Fatalf("%s: %v, %d, %v, want %+v of %+v", what, kind, gotAt, got, want, list)
			}
		}
	})
}

// TestEndsProperty compares endsOf with what the words say: of each instant without the series
// after one with it, or when the node fell silent after it.
func TestEndsProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const interval = 10
		from := int64(1000)
		at := from + int64(rapid.IntRange(0, 20).Draw(t, "first"))
		var instants, has []int64
		for range rapid.IntRange(0, 20).Draw(t, "instants") {
			instants = append(instants, at)
			if rapid.IntRange(0, 2).Draw(t, "has") > 0 {
				has = append(has, at)
			}
			at += int64(rapid.SampledFrom([]int{9, 10, 11, 20, 29, 30, 31, 60, 95}).Draw(t,
				"distance"))
		}
		to := at + int64(rapid.IntRange(-5, 100).Draw(t, "to"))
		var want []int64
		before := from
		for i, x := range instants {
			there := slices.Contains(has, x)
			next := int64(math.MaxInt64)
			if i+1 < len(instants) {
				next = instants[i+1]
			}
			switch silent := x + 3*max(interval, x-before); {
			case !there:
			case silent < next && silent <= to:
				want = append(want, silent)
			case next != math.MaxInt64 && !slices.Contains(has, next):
				want = append(want, next)
			}
			before = x
		}
		if got := endsOf(has, instants, gapsIn(instants, interval, from, to)); !slices.Equal(got,
			want) {
			t.Fatalf("ends %v, want %v of %v in %v to %d", got, want, has, instants, to)
		}
	})
}

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
		q := newQueue(slots, each, waiting)
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
					leave, err := q.enter(a.ctx, a.account, a.wide)
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
func (q *queue) known(name string) int {
	l := q.accounts[name]
	if l == nil {
		return 0
	}
	return l.running + len(l.waiting)
}

// entered waits until a query waits or runs, or is refused because too many wait.
func entered(q *queue, a *asking, before int, failed chan error) bool {
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
	q := newQueue(1, 1, 100)
	first, err := q.enter(t.Context(), "much", false)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var order []string
	var wg sync.WaitGroup
	for i, name := range []string{"much", "much", "much", "much", "little", "much", "other"} {
		wg.Go(func() {
			leave, err := q.enter(t.Context(), name, false)
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
	q := newQueue(8, 4, 100)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if leave, err := q.enter(ctx, []string{"a", "b"}[i%2], false); err == nil {
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
		if _, err := q.enter(ctx, name, false); err != nil {
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
	q := newQueue(2, 2, 1000)
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
			if leave, err := q.enter(ctx, string(rune('a'+i%5)), i%2 == 0); err == nil {
				leave()
			}
		})
	}
	wg.Wait()
	if q.running != 0 || len(q.accounts) != 0 || len(q.turns) != 0 {
		t.Errorf("in the end %d run, accounts %v, turns %v", q.running, q.accounts, q.turns)
	}
}
