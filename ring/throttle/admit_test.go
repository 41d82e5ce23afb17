package throttle

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/dev/eventually"
)

// narrow is a throttle by itself with one slot in class x.
func narrow(t *testing.T, change ...func(*Config)) *Throttle {
	t.Helper()
	c := DefaultConfig()
	c.Classes = map[string]Class{"x": {OperationsPerSecond: 1e6, Burst: 1e6, Concurrency: 1,
		MaxWait: time.Hour}}
	for _, f := range change {
		f(&c)
	}
	return mustNew(t, c, nil)
}

func mustAdmit(t *testing.T, th *Throttle, client string) func(time.Duration, error) {
	t.Helper()
	done, err := th.Admit(t.Context(), Work{Class: "x", Client: client}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// TestRefusals: who has waited long enough is told so, why, and what to do.
func TestRefusals(t *testing.T) {
	th := narrow(t, func(c *Config) {
		c.Classes["y"] = Class{OperationsPerSecond: 100, Burst: 100, Concurrency: 1,
			MaxWait: 20 * time.Millisecond}
	})
	busy := mustAdmit(t, th, "a/b")
	defer busy(0, nil)
	// not over before it is asked
	soon, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := th.Admit(soon, Work{Class: "x"}, 1); true {
		var e *Error
		if !errors.Is(err, ErrThrottled) || !errors.Is(err, context.DeadlineExceeded) ||
			!errors.As(err, &e) || e.Class != "x" || e.Waited <= 0 ||
			e.RetryAfter < 100*time.Millisecond {
			t.Errorf("%+v", err)
		}
		for _, want := range []string{"class x", "waited", "1000000 a second", "1 at once",
			"try again in", "throttle.classes.x"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("nothing of %q in %q", want, err)
			}
		}
	}
	if done, err := th.Admit(t.Context(), Work{Class: "y"}, 1); err != nil {
		t.Error(err)
	} else {
		defer done(0, nil)
	}
	if _, err := th.Admit(t.Context(), Work{Class: "y"}, 1); !errors.Is(err, ErrThrottled) ||
		errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("beyond max_wait: %v", err)
	}
	left, leave := context.WithCancel(t.Context())
	go func() {
		for value(t, th, "waiting_operations", "x") == 0 && t.Context().Err() == nil {
			<-time.After(time.Millisecond)
		}
		leave()
	}()
	if _, err := th.Admit(left, Work{Class: "x"}, 1); !errors.Is(err, context.Canceled) ||
		errors.Is(err, ErrThrottled) {
		t.Errorf("the caller left: %v", err)
	}
	if _, err := th.Admit(t.Context(), Work{Class: "x"}, 2); !errors.Is(err, ErrThrottled) ||
		!strings.Contains(err.Error(), "at most 1 at a time") {
		t.Errorf("too large: %v", err)
	}
	if _, err := th.Admit(t.Context(), Work{Class: "bluk"}, 1); !errors.Is(err, ErrClass) ||
		!strings.Contains(err.Error(), "bulk, dashboard, serving, x") {
		t.Errorf("no class: %v", err)
	}
	if _, err := th.Admit(t.Context(), Work{Class: "x"}, 0); err == nil {
		t.Error("nothing is asked for, and given")
	}
	other := narrow(t, func(c *Config) { c.DefaultClass = "x" })
	if done, err := other.Admit(t.Context(), Work{Class: "bluk"}, 1); err != nil {
		t.Error(err)
	} else if value(t, other, "running_operations", "x") != 1 {
		t.Error("not the default class")
	} else {
		done(0, nil)
		done(0, nil) // once more does nothing
		if n := value(t, other, "running_operations", "x"); n != 0 {
			t.Errorf("%g are under way", n)
		}
	}
	for reason, want := range map[string]float64{"deadline": 1, "large": 1, "crowded": 0} {
		if n := value(t, th, "refused_total", "x", reason); n != want {
			t.Errorf("%g refused by %s", n, reason)
		}
	}
}

// TestFairBetweenClients: one client with two hundred requests in line, and another that comes
// with twenty: they take turns.
func TestFairBetweenClients(t *testing.T) {
	th := narrow(t)
	busy := mustAdmit(t, th, "a/greedy")
	var mu sync.Mutex
	var order []string
	var wg sync.WaitGroup
	crowd := func(client string, n int) {
		waiting := value(t, th, "waiting_operations", "x")
		for range n {
			wg.Go(func() {
				done, err := th.Admit(t.Context(), Work{Class: "x", Client: client}, 1)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock() // with one slot nobody else is here
				order = append(order, client)
				mu.Unlock()
				done(0, nil)
			})
		}
		eventually.True(t, client+" does not wait", func() bool {
			return value(t, th, "waiting_operations", "x") == waiting+float64(n)
		})
	}
	crowd("a/greedy", 200)
	crowd("b/modest", 20)
	busy(0, nil)
	wg.Wait()
	if len(order) != 220 {
		t.Fatalf("%d have begun", len(order))
	}
	modest := 0
	for i, client := range order {
		if client == "b/modest" {
			if modest++; i > 2*modest {
				t.Fatalf("the modest client's request %d is number %d", modest, i)
			}
		}
	}
	if modest != 20 {
		t.Errorf("%d of the modest client's have begun", modest)
	}
}

// TestCrowded: a queue that is full sends away who fills it.
func TestCrowded(t *testing.T) {
	th := narrow(t, func(c *Config) { c.MaxWaiting = 10 })
	busy := mustAdmit(t, th, "a/greedy")
	refused := make(chan error, 20)
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			done, err := th.Admit(t.Context(), Work{Class: "x", Client: "a/greedy"}, 1)
			if err != nil {
				refused <- err
				return
			}
			done(0, nil)
		})
	}
	next := func() error {
		t.Helper()
		select {
		case err := <-refused:
			return err
		case <-time.After(time.Minute):
			t.Fatal("nobody is sent away")
			return nil
		}
	}
	for range 2 {
		if err := next(); !errors.Is(err, ErrThrottled) ||
			!strings.Contains(err.Error(), "most of them of this client") {
			t.Error(err)
		}
	}
	modest := make(chan error, 1)
	go func() {
		done, err := th.Admit(context.Background(), Work{Class: "x", Client: "b/modest"}, 1)
		if err == nil {
			done(0, nil)
		}
		modest <- err
	}()
	if err := next(); !errors.Is(err, ErrThrottled) {
		t.Error(err)
	}
	busy(0, nil)
	if err := <-modest; err != nil {
		t.Error("the modest client is refused:", err)
	}
	wg.Wait()
	if n := value(t, th, "refused_total", "x", "crowded"); n != 3 {
		t.Errorf("%g were sent away", n)
	}
}

// TestHealth: what one process sees of the cluster shrinks the classes of all, bulk first,
// serving last and never below its floor; and all comes back.
func TestHealth(t *testing.T) { onBothSides(t, health) }

func health(t *testing.T, process func(Config) *Throttle) {
	c := patient(unique(t.Name()), nil)
	c.Refresh, c.HealthWindow = 20*time.Millisecond, 50*time.Millisecond
	a, b := process(c), process(c)
	ask := func(th *Throttle, class string, took time.Duration, err error) {
		t.Helper()
		done, refused := th.Admit(t.Context(), Work{Class: class, Client: "a/b"}, 1)
		if refused != nil {
			t.Fatal(refused)
		}
		done(took, err)
	}
	factors := func() (bulk, dashboard, serving float64) {
		t.Helper()
		report, err := b.Usage(t.Context())
		if err != nil || len(report.Classes) != 3 {
			t.Fatal(report, err)
		}
		bulk, dashboard, serving = report.Classes[0].Factor, report.Classes[1].Factor,
			report.Classes[2].Factor
		if dashboard < 1 && bulk > 0.05+1e-5 || serving < 1 && dashboard > 0.2+1e-5 ||
			bulk < 0.05-1e-5 || dashboard < 0.2-1e-5 || serving < 0.5-1e-5 {
			t.Fatalf("bulk %g, dashboard %g, serving %g", bulk, dashboard, serving)
		}
		return bulk, dashboard, serving
	}
	// b hears of it as long as it has work, and says nothing itself.
	busy, err := b.Admit(t.Context(), Work{Class: Bulk}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer busy(0, nil)
	eventually.True(t, "bulk does not shrink", func() bool {
		ask(a, Serving, time.Second, nil)
		ask(a, Serving, time.Millisecond, nil)
		bulk, _, _ := factors()
		return bulk < 0.06
	})
	eventually.True(t, "serving does not shrink to its floor", func() bool {
		ask(a, Serving, 0, context.DeadlineExceeded)
		ask(a, Serving, 0, nil)
		_, _, serving := factors()
		return serving < 0.51
	})
	eventually.True(t, "the metrics do not say so", func() bool {
		ask(a, Serving, 0, context.DeadlineExceeded)
		return value(t, a, "health_factor", Bulk) < 0.06 &&
			value(t, b, "health_factor", Bulk) < 0.06 &&
			value(t, b, "health_factor", Dashboard) < 0.21
	})
	eventually.True(t, "it does not come back", func() bool {
		ask(a, Serving, time.Millisecond, nil)
		bulk, _, _ := factors()
		return bulk == 1
	})
	// Who leaves says nothing of the cluster, and slow bulk is not slow by serving's measure.
	rounds := 0
	eventually.True(t, "it is not judged", func() bool {
		ask(a, Serving, 0, context.Canceled)
		ask(a, Bulk, 300*time.Millisecond, nil)
		rounds++
		bulk, _, _ := factors()
		return bulk < 1 || rounds > 100 // some windows
	})
	if bulk, _, _ := factors(); bulk != 1 {
		t.Errorf("bulk %g", bulk)
	}
}

func TestValidate(t *testing.T) {
	c := DefaultConfig()
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	bad := Config{Name: "A b", DefaultClass: "none", SlowShare: 2, Classes: map[string]Class{
		"bulk": {OperationsPerSecond: -1, Concurrency: -1, MaxWait: -1, Shrink: 11, Floor: 2,
			TargetLatency: -1}, "Big": {}, "other": {}, "few": {OperationsPerSecond: 100, Burst: 1},
	}}
	_, err := New(bad, nil, prometheus.NewRegistry())
	for _, want := range []string{"throttle: ", `name is "A b"`, `default_class is "none"`,
		"Big, bulk, dashboard, few, other, serving", "slow_share is 2", "failed_share is 0",
		"local_fraction", "classes.bulk.operations_per_second is -1",
		"classes.bulk.concurrency is -1",
		"classes.bulk.max_wait", "classes.bulk.shrink is 11", "classes.bulk.floor is 2",
		"classes.bulk.target_latency", "classes.Big: a class needs a name",
		"classes.other: a class needs a name", "classes.few.burst is 1", "refresh is", "lease is",
		"timeout is", "health_window",
		"target_latency", "usage_interval", "max_waiting"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	c.Classes = map[string]Class{"bulk": {OperationsPerSecond: 7}, "mine": {Shrink: 1}}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	all := c.classes()
	if bulk := all["bulk"]; bulk.Burst != 7 || bulk.Concurrency != builtin[Bulk].Concurrency ||
		bulk.TargetLatency != builtin[Bulk].TargetLatency {
		t.Errorf("%+v", bulk)
	}
	if mine := all["mine"]; mine.Shrink != 1 ||
		mine.OperationsPerSecond != builtin[Dashboard].OperationsPerSecond ||
		mine.TargetLatency != c.TargetLatency {
		t.Errorf("%+v", mine)
	}
	if _, ok := all[Serving]; !ok {
		t.Error("serving is gone")
	}
}

// BenchmarkAdmit is what a request costs that has to wait for nothing.
func BenchmarkAdmit(b *testing.B) {
	th := mustNew(b, func() Config {
		c := DefaultConfig()
		c.Classes = map[string]Class{"x": {OperationsPerSecond: 1e7, Burst: 1e8, Concurrency: 1e6}}
		return c
	}(), nil)
	w := Work{Class: "x", Client: "acme/shop", Keyspace: "shop", Table: "items", Datacenter: "dc1"}
	b.ReportAllocs()
	for b.Loop() {
		done, err := th.Admit(b.Context(), w, 1)
		if err != nil {
			b.Fatal(err)
		}
		done(time.Millisecond, nil)
	}
}

func ExampleThrottle_Admit() {
	t, err := New(DefaultConfig(), nil, prometheus.NewRegistry())
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go t.Run(ctx)
	keys := []string{"a", "b"}
	done, err := t.Admit(ctx, Work{Class: Serving, Client: "acme/shop", Keyspace: "shop",
		Table: "items", Datacenter: "dc1"}, len(keys))
	if err != nil {
		fmt.Println("not now:", err)
		return
	}
	began := time.Now()
	// Read the keys here.
	done(time.Since(began), nil)
	fmt.Println("read")
	// Output: read
}
