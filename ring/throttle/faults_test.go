package throttle

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
)

// TestDeadProcess: what a process had that was killed, or stopped, is the others' when its lease
// has ended.
func TestDeadProcess(t *testing.T) {
	server := engines.SharedRedis(t)
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			outlive(t, server.Addr(), signal)
		})
	}
}

// outlive lets a process take most of a class, signals it, and waits for what it had.
func outlive(t *testing.T, address string, signal syscall.Signal) {
	name := unique("dead")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childEnv+"="+address+" "+name)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "taken\n" {
		t.Fatal(line, err)
	}
	th := mustNew(t, mortal(name), connect(t, address))
	run(t, th)
	var running atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 16 {
		go func() {
			if _, err := th.Admit(ctx, Work{Class: "x", Client: "a/other"}, 1); err == nil {
				running.Add(1)
			}
		}()
	}
	eventually.True(t, "it gets nothing of what is free", func() bool {
		return running.Load() == 4
	})
	for range 3 { // refreshes
		before := value(t, th, "leases_total", "granted")
		eventually.True(t, "it asks no more", func() bool {
			return value(t, th, "leases_total", "granted") > before
		})
	}
	if n := running.Load(); n != 4 {
		t.Errorf("%d are under way beside the other's 12 of 16", n)
	}
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "what the dead process had is lost", func() bool {
		return running.Load() == 16
	})
}

// TestRedisAway: while Redis is frozen or gone a process goes on with what is its own, which is
// neither nothing nor everything, says so, and is one of all again afterwards.
func TestRedisAway(t *testing.T) {
	server := engines.MustRedis(t)
	c := patient(unique(t.Name()),
		map[string]Class{"x": {OperationsPerSecond: 1000, Burst: 1000, Concurrency: 100,
			MaxWait: time.Hour}})
	c.Lease, c.Timeout, c.LocalFraction = 600*time.Millisecond, 100*time.Millisecond, 0.1
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr()},
		DisableCache: true, DisableRetry: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	th := mustNew(t, c, func(_ context.Context, f func(rueidis.Client) error) error {
		return f(client)
	})
	run(t, th)
	crew := work(t, 50, 1, Work{Class: "x", Client: "a/b"}, th)
	alone := func() bool { return value(t, th, "alone", "x") == 1 }
	gets := func(what string) {
		t.Helper()
		granted := value(t, th, "leases_total", "granted")
		eventually.True(t, what, func() bool {
			return value(t, th, "leases_total", "granted") > granted+2 && !alone()
		})
	}
	gets("it gets no lease")
	for _, fault := range []struct {
		name       string
		begin, end func() error
	}{
		{"frozen", server.Pause, server.Resume},
		{"killed", server.Kill, func() error {
			engines.MustRedis(t, func(c *engines.RedisConfig) { c.Port = server.Port })
			return nil
		}},
	} {
		if err := fault.begin(); err != nil {
			t.Fatal(err)
		}
		eventually.True(t, fault.name+": it does not know", func() bool {
			return alone() && value(t, th, "share_operations_per_second", "x") == 100 &&
				value(t, th, "share_slots", "x") == 10
		})
		before, at := crew.begun.Load(), time.Now()
		eventually.True(t, fault.name+": it stands still", func() bool {
			return crew.begun.Load() > before+150
		})
		// What began between the two looks at the clock is at most a burst of its own and its rate.
		if most := 100 + 100*time.Since(at).Seconds() + 50; float64(crew.begun.Load()-before) >
			most {
			t.Errorf("%s: %d have begun where %g may", fault.name, crew.begun.Load()-before, most)
		}
		if err := fault.end(); err != nil {
			t.Fatal(err)
		}
		gets(fault.name + ": it gets no lease afterwards")
		eventually.True(t, fault.name+": it has not all again", func() bool {
			return value(t, th, "share_operations_per_second", "x") == 1000
		})
	}
	crew.end()
}

// TestWipe: a Redis that has lost everything gives no slots twice that are out.
func TestWipe(t *testing.T) {
	server := engines.MustRedis(t)
	do := connect(t, server.Addr())
	c := patient(unique(t.Name()),
		map[string]Class{"x": {OperationsPerSecond: 1e5, Burst: 1e5, Concurrency: 40,
			MaxWait: time.Hour}})
	a, b := mustNew(t, c, do), mustNew(t, c, do)
	ask := func(th *Throttle, fraction, cap float64) float64 {
		t.Helper()
		th.config.LocalFraction = fraction
		v, err := th.share(t.Context(),
			[]*asking{{class: th.classes["x"], cap: cap, head: 1, need: 40, demand: 1, weight: 1}})
		if err != nil {
			t.Fatal(err)
		}
		return v[3]
	}
	if n := ask(a, 1, 0); n != 40 {
		t.Fatalf("the only one gets %g of 40", n)
	}
	if err := do(t.Context(), func(c rueidis.Client) error {
		return c.Do(t.Context(), c.B().Flushall().Build()).Error()
	}); err != nil {
		t.Fatal(err)
	}
	if n := ask(b, 0.1, 0); n != 4 {
		t.Errorf("%g slots are given where a tenth of 40 may", n)
	}
	if n := ask(a, 0.1, 40); n != 40 { // it has them and says so
		t.Errorf("%g slots are left of 40", n)
	}
	if n := ask(b, 1, 4); n != 4 {
		t.Errorf("%g slots are given where none is free", n)
	}
}
