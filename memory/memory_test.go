package memory

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

func mustBudget(t *testing.T, total int64) *Budget {
	t.Helper()
	b, err := NewBudget(t.Name(), total, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestShares: an account has half at most, and none gets what is another's. Two that take all they
// can leave something to those that hold little.
func TestShares(t *testing.T) {
	b := mustBudget(t, 128)
	all, err := b.Try("a", 64)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Try("a", 1); !errors.Is(err, ErrBusy) {
		t.Errorf("a got more than its share: %v", err)
	}
	if _, err := b.Try("b", 65); !errors.Is(err, ErrTooLarge) {
		t.Errorf("b got more than a share: %v", err)
	}
	if _, err := b.Try("b", 49); !errors.Is(err, ErrBusy) {
		t.Errorf("b got what is kept: %v", err)
	}
	leases := []*Lease{all}
	// b what is left, each other one a 32nd
	for _, name := range []string{"b", "c", "d", "e", "f"} {
		bytes := int64(4)
		if name == "b" {
			bytes = 48
		}
		l, err := b.Try(name, bytes)
		if err != nil {
			t.Fatalf("%s is refused its %d bytes: %v", name, bytes, err)
		}
		leases = append(leases, l)
	}
	if _, err := b.Try("g", 1); !errors.Is(err, ErrBusy) {
		t.Errorf("more than there is: %v", err)
	}
	for _, l := range leases {
		l.Release()
		l.Release() // once is enough
	}
	if b.Used() != 0 || len(b.accounts) != 0 {
		t.Errorf("%d bytes and %d accounts are left", b.Used(), len(b.accounts))
	}
	if n := counted(t, b.refused.WithLabelValues("busy")); n != 3 {
		t.Errorf("%v refusals are counted", n)
	}
}

// TestWaiting: who waits gets its turn, in the account's order, and leaves nothing behind when it
// gives up.
func TestWaiting(t *testing.T) {
	b := mustBudget(t, 100)
	first, err := b.Try("a", 40)
	if err != nil {
		t.Fatal(err)
	}
	impatient, cancel := context.WithCancel(t.Context())
	gaveUp := make(chan error)
	go func() {
		_, err := b.Acquire(impatient, "a", 30, nil)
		gaveUp <- err
	}()
	until(t, b, func() bool { return b.accounts["a"] != nil && len(b.accounts["a"].waiting) == 1 })
	if _, err := b.Try("a", 5); !errors.Is(err, ErrBusy) {
		t.Errorf("it overtook who waits: %v", err)
	}
	got := make(chan *Lease)
	go func() {
		l, err := b.Acquire(t.Context(), "a", 10, nil)
		if err != nil {
			t.Error(err)
		}
		got <- l
	}()
	until(t, b, func() bool { return len(b.accounts["a"].waiting) == 2 })
	cancel()
	if err := <-gaveUp; !errors.Is(err, ErrBusy) || !errors.Is(err, context.Canceled) {
		t.Errorf("gave up with %v", err)
	}
	(<-got).Release() // it fits beside the first once nobody waits before it
	go func() {
		l, err := b.Acquire(t.Context(), "a", 50, nil)
		if err != nil {
			t.Error(err)
		}
		got <- l
	}()
	until(t, b, func() bool { return len(b.accounts["a"].waiting) == 1 })
	first.Release()
	(<-got).Release()
	if _, err := b.Acquire(t.Context(), "a", 51, nil); !errors.Is(err, ErrTooLarge) {
		t.Errorf("it would wait for ever: %v", err)
	}
	if b.Used() != 0 || len(b.accounts) != 0 {
		t.Errorf("%d bytes and %d accounts are left", b.Used(), len(b.accounts))
	}
}

// until waits for a condition under the budget's lock.
func until(t *testing.T, b *Budget, condition func() bool) {
	t.Helper()
	for t.Context().Err() == nil {
		b.mu.Lock()
		ok := condition()
		b.mu.Unlock()
		if ok {
			return
		}
	}
	t.Fatal("in vain")
}

// TestLease: what exceeds the reservation is asked for, and what is given back need not be.
func TestLease(t *testing.T) {
	b := mustBudget(t, 40<<20)
	l, err := b.Try("a", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if err := l.Take(1 << 20); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Take(1); !errors.Is(err, ErrTooLarge) {
		t.Errorf("more than the share: %v", err)
	}
	l.Give(10 << 20)
	if err := l.Take(9 << 20); err != nil {
		t.Error(err)
	}
	if n := l.Taken(); n != 19<<20 {
		t.Errorf("%d bytes are taken", n)
	}
	second, err := b.Try("b", 14<<20)
	if err != nil {
		t.Fatal(err)
	}
	third, err := b.Try("c", 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := third.Take(2 << 20); !errors.Is(err, ErrBusy) {
		t.Errorf("more than is left: %v", err)
	}
	l.Release()
	if err := third.Take(2 << 20); err != nil {
		t.Error(err)
	}
	second.Release()
	third.Release()
	if b.Used() != 0 {
		t.Errorf("%d bytes are left", b.Used())
	}
	own := Bounded(10)
	if err := errors.Join(own.Take(10), own.Take(0)); err != nil {
		t.Error(err)
	}
	if err := own.Take(1); !errors.Is(err, ErrTooLarge) {
		t.Errorf("more than its bound: %v", err)
	}
	free := Unbounded()
	if err := free.Take(math.MaxInt64); err != nil || free.Taken() != math.MaxInt64 {
		t.Errorf("a lease without a bound: %v, %d bytes are taken", err, free.Taken())
	}
	free.Give(math.MaxInt64)
	free.Release()
	if Of(With(t.Context(), l)) != l {
		t.Error("a context does not carry its lease")
	}
	if err := Of(t.Context()).Take(math.MaxInt64); err != nil {
		t.Errorf("outside of With: %v", err)
	}
}

// TestLeaving: what must stay free is asked for and not taken, whoever's lease would take it; what
// is returned can be taken by another lease.
func TestLeaving(t *testing.T) {
	b := mustBudget(t, 40<<20)
	const rest = 5 << 20
	var leases []*Lease
	for range 100 { // 10 MiB in all
		l := b.Open("a")
		if err := l.TakeLeaving(100<<10, rest); err != nil {
			t.Fatalf("lease %d: %v", len(leases), err)
		}
		leases = append(leases, l)
	}
	if n := b.Used(); n < 100*100<<10 || n > 14<<20 {
		t.Errorf("%d bytes are reserved", n)
	}
	large := b.Open("a")
	if err := large.TakeLeaving(6<<20, rest); !errors.Is(err, ErrBusy) {
		t.Errorf("what would leave too little: %v", err)
	}
	if err := large.TakeLeaving(16<<20, rest); !errors.Is(err, ErrTooLarge) {
		t.Errorf("what would always leave too little: %v", err)
	}
	if err := large.Take(4 << 20); err != nil {
		t.Errorf("what need not leave anything: %v", err)
	}
	large.Return(4 << 20)
	for _, l := range leases {
		l.Return(100 << 10)
	}
	if err := large.TakeLeaving(8<<20, rest); err != nil {
		t.Errorf("after all was returned: %v", err)
	}
	if err := large.TakeLeaving(0, rest); err != nil {
		t.Errorf("nothing more: %v", err)
	}
	large.Release()
	for _, l := range leases {
		l.Release()
	}
	if b.Used() != 0 {
		t.Errorf("%d bytes are left", b.Used())
	}
}

// TestManyAtOnce: whatever is asked at the same time, nobody gets more than there is and everybody
// comes to an end.
func TestManyAtOnce(t *testing.T) {
	b := mustBudget(t, 1000)
	var used, most atomic.Int64
	by := map[string]*atomic.Int64{"a": {}, "b": {}, "c": {}}
	var wg sync.WaitGroup
	for name, of := range by {
		for range 8 {
			wg.Go(func() {
				for range 500 {
					n := rand.Int64N(500) + 1
					l, err := b.Acquire(t.Context(), name, n, nil)
					if err != nil {
						t.Error(err)
						return
					}
					if of.Add(n) > 500 || used.Add(n) > 1000 {
						t.Error("more than there is")
					}
					most.Store(max(most.Load(), used.Load()))
					used.Add(-n)
					of.Add(-n)
					l.Release()
				}
			})
		}
	}
	wg.Wait()
	if b.Used() != 0 || len(b.accounts) != 0 || most.Load() == 0 {
		t.Errorf("%d bytes and %d accounts are left, %d were used", b.Used(), len(b.accounts),
			most.Load())
	}
}

// TestHoldersWaitForNoHolder: those that hold memory and wait for more never wait for each other.
// One of them is refused, and who needs more than what it holds leaves is told that this is too
// much.
func TestHoldersWaitForNoHolder(t *testing.T) {
	b := mustBudget(t, 200)
	var work sync.WaitGroup
	var busy, done atomic.Int64
	var all sync.WaitGroup // have their first lease
	all.Add(10)
	for range 10 {
		work.Go(func() {
			outer, err := b.Acquire(t.Context(), "a", 10, nil)
			all.Done()
			if err != nil {
				t.Error(err)
				return
			}
			defer outer.Release()
			all.Wait()
			inner, err := b.Acquire(t.Context(), "a", 40, func() []*Lease {
				return []*Lease{outer, outer}
			})
			switch {
			case err == nil:
				done.Add(1)
				inner.Release()
			case errors.Is(err, ErrBusy):
				busy.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	work.Wait()
	if busy.Load() == 0 || done.Load() < 5 {
		t.Errorf("%d were refused, %d done", busy.Load(), done.Load())
	}
	outer, err := b.Acquire(t.Context(), "a", 61, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Acquire(t.Context(), "a", 40, func() []*Lease { return []*Lease{outer} })
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("it would wait for itself: %v", err)
	}
	outer.Release()
	if b.Used() != 0 || len(b.accounts) != 0 {
		t.Errorf("%d bytes and %d accounts are left", b.Used(), len(b.accounts))
	}
}

// TestHoldersGoFirst: who holds memory gets more before who holds none, and who works is waited
// for.
func TestHoldersGoFirst(t *testing.T) {
	b := mustBudget(t, 200)
	working, err := b.Try("a", 60)
	if err != nil {
		t.Fatal(err)
	}
	outer, err := b.Try("a", 20)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	var mu sync.Mutex
	var all sync.WaitGroup
	wait := func(name string, bytes int64, holds func() []*Lease) {
		all.Go(func() {
			l, err := b.Acquire(t.Context(), "a", bytes, holds)
			if err != nil {
				t.Error(name, err)
				return
			}
			mu.Lock()
			order = append(order, name)
			mu.Unlock()
			l.Release()
		})
	}
	wait("none", 90, nil)
	until(t, b, func() bool { return len(b.accounts["a"].waiting) == 1 })
	wait("some", 30, func() []*Lease { return []*Lease{outer} })
	until(t, b, func() bool { return len(b.accounts["a"].waiting) == 2 })
	working.Release()
	until(t, b, func() bool { return len(b.accounts["a"].waiting) == 1 })
	outer.Release()
	all.Wait()
	if got := strings.Join(order, " "); got != "some none" {
		t.Errorf("in order %s", got)
	}
}

func TestFind(t *testing.T) {
	was := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(was)
	debug.SetMemoryLimit(math.MaxInt64)
	if l := Find(0); l.Bytes < least || l.From != "cgroup" && l.From != "machine" {
		t.Errorf("%v", l)
	}
	debug.SetMemoryLimit(math.MaxInt64)
	if l := Find(1 << 30); l.Bytes != 1<<30 || l.String() != "1024 MiB (limit_bytes)" ||
		debug.SetMemoryLimit(-1) != 3<<28 {
		t.Errorf("%v, collector %d", l, debug.SetMemoryLimit(-1))
	}
	if l := Find(0); l.Bytes != 3<<28 || l.From != "GOMEMLIMIT" {
		t.Errorf("%v", l)
	}
	c := Config{LimitBytes: 1}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "268435456") {
		t.Errorf("a byte is enough: %v", err)
	}
	if c.LimitBytes = 0; c.Validate() != nil {
		t.Error(c.Validate())
	}
}

func TestCgroup(t *testing.T) {
	root := t.TempDir()
	write := func(file, text string) {
		t.Helper()
		file = filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a/b/memory.max", "max\n")
	write("a/memory.max", "3000000000\n")
	write("memory/x/memory.limit_in_bytes", "9223372036854771712\n")
	write("memory/x/y/memory.limit_in_bytes", "2000000000\n")
	for self, want := range map[string]int64{
		"0::/a/b\n":                           3000000000, // the one above bounds it
		"0::/\n":                              0,
		"4:cpu:/x/y\n3:memory,hugetlb:/x/y\n": 2000000000,
		"3:memory:/x\n":                       0,
		"nonsense":                            0,
	} {
		write("self", self)
		if n := cgroup(filepath.Join(root, "self"), root); n != want {
			t.Errorf("%q: %d, want %d", self, n, want)
		}
	}
	if n := cgroup(filepath.Join(root, "nothing"), root); n != 0 {
		t.Error(n)
	}
}

var kept []byte

// TestNear: memory that is in use brings the process near its limit; garbage alone does not for
// long.
func TestNear(t *testing.T) {
	l := &Limit{Bytes: 64 << 30}
	if l.Near() || (*Limit)(nil).Near() {
		t.Error("near 64 GiB")
	}
	kept = make([]byte, 64<<20)
	for i := 0; i < len(kept); i += 4096 {
		kept[i] = 1
	}
	l = &Limit{Bytes: 64 << 20}
	if !l.Near() || l.Has() < 64<<20 {
		t.Errorf("64 MiB are held of 64, and %d are seen", l.Has())
	}
	kept = nil
}

func counted(t *testing.T, c prometheus.Metric) float64 {
	t.Helper()
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}
