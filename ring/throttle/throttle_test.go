package throttle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/rueidis"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
)

// run runs a Throttle until the test ends or the returned function is called.
func run(t *testing.T, th *Throttle) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- th.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

// value returns what a metric of a throttle stands at.
func value(t *testing.T, th *Throttle, name string, labels ...string) float64 {
	t.Helper()
	reg := prometheus.NewRegistry()
	reg.MustRegister(th.metrics)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "ringwatch_throttle_"+name {
			continue
		}
		for _, m := range f.Metric {
			match := 0
			for _, l := range m.Label {
				for _, want := range labels {
					if l.GetValue() == want {
						match++
					}
				}
			}
			if match == len(labels) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	t.Fatalf("there is no %s%v", name, labels)
	return 0
}

// crew is workers that ask for operations one after the other.
type crew struct {
	begun, running, most atomic.Int64
	first                time.Time
	stop                 context.CancelFunc
	wg                   sync.WaitGroup
}

// work sets a crew of workers on each throttle, whose operations take no time but a turn of the
// scheduler.
func work(t *testing.T, workers, n int, w Work, all ...*Throttle) *crew {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c := &crew{first: time.Now(), stop: cancel}
	for _, th := range all {
		for range workers {
			c.wg.Go(func() {
				for ctx.Err() == nil {
					done, err := th.Admit(ctx, w, n)
					if errors.Is(err, context.Canceled) {
						return
					}
					if err != nil {
						t.Errorf("%v", err)
						return
					}
					c.begun.Add(int64(n))
					now := c.running.Add(int64(n))
					for most := c.most.Load(); now > most &&
						!c.most.CompareAndSwap(most, now); most = c.most.Load() {
					}
					<-time.After(time.Millisecond)
					c.running.Add(int64(-n))
					done(time.Millisecond, nil)
				}
			})
		}
	}
	t.Cleanup(func() { cancel(); c.wg.Wait() })
	return c
}

// end ends the crew and returns how many operations have begun and within which time.
func (c *crew) end() (begun float64, within time.Duration) {
	c.stop()
	c.wg.Wait()
	return float64(c.begun.Load()), time.Since(c.first)
}

// onBothSides runs a test with processes that share a Redis, and with one that has the whole and
// stands for them all.
func onBothSides(t *testing.T, test func(t *testing.T, process func(Config) *Throttle)) {
	server := engines.SharedRedis(t)
	t.Run("redis", func(t *testing.T) {
		test(t, func(c Config) *Throttle {
			th := mustNew(t, c, connect(t, server.Addr()))
			run(t, th)
			return th
		})
	})
	t.Run("memory", func(t *testing.T) {
		var one *Throttle
		test(t, func(c Config) *Throttle {
			if one == nil {
				one = mustNew(t, c, nil)
				run(t, one)
			}
			return one
		})
	})
}

// TestOverAllProcesses: four processes get together what the class has, and no more: neither
// operations nor at once. A fifth that comes later gets its part.
func TestOverAllProcesses(t *testing.T) { onBothSides(t, overAllProcesses) }

func overAllProcesses(t *testing.T, process func(Config) *Throttle) {
	const rate, burst, slots = 2000, 1000, 24
	c := patient(unique(t.Name()),
		map[string]Class{"x": {OperationsPerSecond: rate, Burst: burst, Concurrency: slots,
			MaxWait: time.Hour}})
	var all []*Throttle
	for range 4 {
		all = append(all, process(c))
	}
	crew := work(t, 10, 3, Work{Class: "x", Client: "a/b"}, all...)
	eventually.True(t, "they do not get on", func() bool { return crew.begun.Load() > 3000 })
	late := process(c)
	for range 30 {
		done, err := late.Admit(t.Context(), Work{Class: "x", Client: "a/late"}, 3)
		if err != nil {
			t.Fatal(err)
		}
		crew.begun.Add(3)
		done(0, nil)
	}
	begun, within := crew.end()
	if most := burst + rate*within.Seconds() + 3; begun > most {
		t.Errorf("%g operations have begun in %s where %g may", begun, within, most)
	}
	if most := crew.most.Load(); most > slots {
		t.Errorf("%d were under way where %d may", most, slots)
	}
	for _, th := range all {
		if n := value(t, th, "leases_total", "failed"); n != 0 {
			t.Errorf("%g leases failed", n)
		}
		eventually.True(t, "something is left", func() bool {
			return value(t, th, "running_operations", "x") == 0 &&
				value(t, th, "waiting_operations", "x") == 0
		})
	}
}

// TestLargeRequests: requests larger than a process's part of the slots and of the burst have
// their turn in each of the processes.
func TestLargeRequests(t *testing.T) { onBothSides(t, largeRequests) }

func largeRequests(t *testing.T, process func(Config) *Throttle) {
	c := patient(unique(t.Name()),
		map[string]Class{"x": {OperationsPerSecond: 10_000, Burst: 4000, Concurrency: 100,
			MaxWait: time.Hour}})
	var wg sync.WaitGroup
	var running atomic.Int64
	for range 3 {
		th := process(c)
		for _, n := range []int{60, 100} {
			wg.Go(func() {
				for range 5 {
					done, err := th.Admit(t.Context(), Work{Class: "x"}, n)
					if err != nil {
						t.Error(err)
						return
					}
					if now := running.Add(int64(n)); now > 100 {
						t.Errorf("%d are under way", now)
					}
					running.Add(int64(-n))
					done(0, nil)
				}
			})
		}
	}
	wg.Wait()
}

// TestIdle: classes without work ask nothing of Redis, and what a process had is free when it has
// ended.
func TestIdle(t *testing.T) {
	server := engines.MustRedis(t)
	do := connect(t, server.Addr())
	c := DefaultConfig()
	c.Timeout = time.Minute
	c.LocalFraction = 1
	th := mustNew(t, c, do)
	stop := run(t, th)
	calls := func() (n int) {
		if err := do(t.Context(), func(c rueidis.Client) error {
			text, err := c.Do(t.Context(), c.B().Info().Section("commandstats").Build()).ToString()
			for _, line := range strings.Split(text, "\n") {
				if strings.Contains(line, "cmdstat_eval") {
					_, line, _ = strings.Cut(line, "calls=")
					var more int
					fmt.Sscan(strings.Split(line, ",")[0], &more)
					n += more
				}
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := calls(); n != 0 {
		t.Errorf("%d calls before any work", n)
	}
	done, err := th.Admit(t.Context(), Work{Class: Serving, Client: "a/b", Keyspace: "k",
		Table: "t"}, 5)
	if err != nil {
		t.Fatal(err)
	}
	if calls() == 0 {
		t.Error("nothing was asked")
	}
	done(time.Millisecond, nil)
	eventually.True(t, "the lease is not given back", func() bool {
		return value(t, th, "share_operations_per_second", Serving) == 0
	})
	held := func() (fields int) {
		if err := do(t.Context(), func(c rueidis.Client) error {
			n, err := c.Do(t.Context(), c.B().Hlen().Key(th.key("c:serving")).Build()).AsInt64()
			fields = int(n)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return fields
	}
	eventually.True(t, "Redis has the lease yet", func() bool { return held() == 1 })
	// The other classes were never asked for, and every key goes by itself.
	if err := do(t.Context(), func(c rueidis.Client) error {
		keys, err := c.Do(t.Context(), c.B().Keys().Pattern("*").Build()).AsStrSlice()
		for _, key := range keys {
			if ttl, err := c.Do(t.Context(), c.B().Pttl().Key(key).Build()).AsInt64(); err != nil ||
				ttl == -1 {
				t.Errorf("%s has the TTL %d %v", key, ttl, err)
			}
			if strings.Contains(key, "bulk") || strings.Contains(key, "dashboard") {
				t.Errorf("there is %s", key)
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	// Whoever ends gives back at once.
	if done, err = th.Admit(t.Context(), Work{Class: Serving}, 5); err != nil {
		t.Fatal(err)
	}
	if held() != 2 {
		t.Error("there is no lease")
	}
	done(0, nil)
	stop()
	if held() != 1 {
		t.Error("the lease is not given back")
	}
}

const childEnv = "RINGWATCH_THROTTLE_CHILD"

// child is a process that takes what it can get of class x from the Redis in the environment, and
// says so.
func child() {
	address, name, _ := strings.Cut(os.Getenv(childEnv), " ")
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{address},
		DisableCache: true})
	if err != nil {
		panic(err)
	}
	th, err := New(mortal(name), func(_ context.Context, f func(rueidis.Client) error) error {
		return f(client)
	}, prometheus.NewRegistry())
	if err != nil {
		panic(err)
	}
	go th.Run(context.Background())
	for range 12 {
		if _, err := th.Admit(context.Background(), Work{Class: "x", Client: "a/child"},
			1); err != nil {
			panic(err)
		}
	}
	fmt.Println("taken")
	select {} // and never gives back
}

// mortal is a configuration whose leases end soon.
func mortal(name string) Config {
	c := patient(name,
		map[string]Class{"x": {OperationsPerSecond: 2000, Burst: 2000, Concurrency: 16,
			MaxWait: time.Hour}})
	// a process that is held up for some seconds is not dead
	c.Lease, c.LocalFraction = 15*time.Second, 0.01
	return c
}
