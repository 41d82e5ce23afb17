package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/notify"
	"github.com/ringwatch/ringwatch/rules"
	"github.com/ringwatch/ringwatch/stream"
)

const (
	accountName = "bench"
	partitions  = 16
	maxRecords  = 1000                   // stream.ConsumerConfig's
	tickEvery   = 500 * time.Millisecond // the role's
)

// role is rules.Rules with what it is given in life, but for Kafka: what it publishes comes back to
// it and goes into a file, what it writes down is packed and kept.
type role struct {
	task
	outcome
	rules   *rules.Rules
	metrics *prometheus.Registry
	budget  *memory.Budget
	people  *notify.Notifier // nil: nobody is told
	now     time.Time
	offsets [partitions]int64

	mu       sync.Mutex
	recorded *writer
	back     []taken // recorded, not yet handled
	states   map[string][]byte
}

// runTask runs the role over a task's frames and prints its outcome.
func runTask(ctx context.Context, text string) error {
	r := &role{metrics: prometheus.NewRegistry(), states: map[string][]byte{}}
	err := json.Unmarshal([]byte(text), &r.task)
	if err != nil {
		return err
	}
	if r.Walk {
		err = r.walk(ctx)
	} else {
		err = r.follow(ctx)
	}
	if err != nil {
		return err
	}
	if err := r.measureMemory(); err != nil {
		return err
	}
	runtime.KeepAlive(r.rules)
	if r.people != nil {
		if err := r.people.Close(); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(r.outcome)
}

// start makes the role.
func (r *role) start() error {
	memory.CollectOften() // as the role does
	limit := memory.Find(r.Memory)
	var err error
	if r.budget, err = memory.NewBudget("work", limit.Bytes/2, r.metrics); err != nil {
		return err
	}
	c := rules.DefaultConfig()
	if r.Rules != "" {
		c.Shipped, c.Files = false, []string{r.Rules}
	}
	c.Clock = func() time.Time { return r.now }
	if r.People != "" {
		o := notify.DefaultOptions()
		o.Dir, o.Metrics, o.Log = r.People, r.metrics, slog.New(slog.DiscardHandler)
		if r.people, err = notify.Open(o); err != nil {
			return err
		}
	}
	r.rules, err = rules.New(c, rules.Deps{
		Publish: r.publish, Notify: r.notify, Load: r.load, Save: r.save,
		Forward: func(context.Context, string, []byte) error { return nil },
		Through: func(int32) (time.Time, bool) { return r.now, true },
		// failures are counted
		Budget: r.budget, Metrics: r.metrics, Log: slog.New(slog.DiscardHandler),
	})
	return err
}

func (r *role) publish(_ context.Context, _, _ string, b []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Published++
	r.Bytes += int64(len(b))
	t := taken{r.now.UnixMilli(), b}
	r.recorded.write(t)
	r.back = append(r.back, t)
	return nil
}

func (r *role) notify(ctx context.Context, list []rules.Alert) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Alerts += len(list)
	if r.people == nil {
		return
	}
	// The fleet's time is another one than the clock's, by which alerts end.
	behind := time.Since(r.now)
	told := make([]notify.Alert, len(list))
	for i := range list {
		a := &list[i]
		told[i] = notify.Alert{Account: a.Account, Labels: a.Labels, Annotations: a.Annotations,
			StartsAt: a.FiredAt.Add(behind), ValidUntil: a.ValidUntil.Add(behind),
			GeneratorURL: a.GeneratorURL, File: a.File, Group: a.Group}
		if !a.ResolvedAt.IsZero() {
			told[i].EndsAt = a.ResolvedAt.Add(behind)
		}
	}
	if err := r.people.Put(ctx, told...); err != nil {
		panic(err) // it is open
	}
}

func partitionOf(cluster string) int32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(cluster))
	return int32(h.Sum32() % partitions)
}

func (r *role) save(_ context.Context, _ int32, s rules.State) error {
	b, err := s.Pack()
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Saved++
	r.SavedMB += float64(len(b)) / 1e6
	r.states[s.Cluster] = b
	return nil
}

func (r *role) load(_ context.Context, partition int32) (list []rules.State, err error) {
	for cluster, b := range r.states {
		if partitionOf(cluster) != partition {
			continue
		}
		s, err := rules.UnpackState(b)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// handle hands frames to the role.
func (r *role) handle(ctx context.Context, list []taken) error {
	for len(list) > 0 {
		n := min(len(list), maxRecords)
		records := make([]stream.Record, n)
		for i, t := range list[:n] {
			h, _, err := frame.Parse(t.bytes)
			if err != nil {
				return err
			}
			p := partitionOf(h.Cluster)
			records[i] = stream.Record{Account: accountName, Cluster: h.Cluster, Partition: p,
				Offset: r.offsets[p], Received: time.UnixMilli(t.at), Value: t.bytes}
			r.offsets[p]++
		}
		if err := r.rules.Handle(ctx, records); err != nil {
			return err
		}
		r.Entered += n
		list = list[n:]
	}
	return nil
}

// follow lets the fleet's time pass.
func (r *role) follow(ctx context.Context) error {
	in, err := openFrames(r.Frames)
	if err != nil {
		return err
	}
	defer in.close()
	if r.recorded, err = newWriter(r.Log + ".frames"); err != nil {
		return err
	}
	if err := r.start(); err != nil {
		return err
	}
	told := time.Now()
	for at := r.Start; at < r.End; at += tickMillis {
		one, wall := cycle{}, time.Now()
		for now := at; now < at+tickMillis; now += tickEvery.Milliseconds() {
			r.now = time.UnixMilli(now).Add(tickEvery)
			frames, err := in.until(r.now.UnixMilli())
			if err != nil {
				return err
			}
			before := bench.CPU().Seconds()
			if err := r.handle(ctx, append(r.back, frames...)); err != nil {
				return err
			}
			r.back = nil
			between := bench.CPU().Seconds()
			if err := r.rules.Tick(ctx, r.now); err != nil {
				return err
			}
			one.Frames += between - before
			one.Evaluation += bench.CPU().Seconds() - between
		}
		one.Wall = time.Since(wall).Seconds()
		r.Cycles = append(r.Cycles, one)
		if time.Since(told) > 10*time.Second {
			told = time.Now()
			bench.Progress("%s: %d of %d s; the last cycle took %.2f s of CPU", r.Name,
				(at-r.Start)/1000+20, (r.End-r.Start)/1000, one.Frames+one.Evaluation)
		}
	}
	if err := r.recorded.close(); err != nil {
		return err
	}
	b, err := json.Marshal(r.states)
	if err != nil {
		return err
	}
	return os.WriteFile(r.Log+".states", b, 0o600)
}

// walk starts where an earlier task ended: all its frames again, and one evaluation of all groups.
func (r *role) walk(ctx context.Context) error {
	b, err := os.ReadFile(r.Log + ".states")
	if err == nil {
		err = json.Unmarshal(b, &r.states)
	}
	if err != nil {
		return err
	}
	in, err := openFrames(r.Frames)
	if err != nil {
		return err
	}
	defer in.close()
	recorded, err := openFrames(r.Log + ".frames")
	if err != nil {
		return err
	}
	defer recorded.close()
	if r.recorded, err = newWriter(os.DevNull); err != nil {
		return err
	}
	began, cpu := time.Now(), bench.CPU().Seconds()
	r.now = time.UnixMilli(r.End)
	if err := r.start(); err != nil {
		return err
	}
	for at := r.Start; at < r.End; at += 1000 {
		frames, err := in.until(at + 1000)
		if err != nil {
			return err
		}
		more, err := recorded.until(at + 1000)
		if err != nil {
			return err
		}
		if err := r.handle(ctx, append(frames, more...)); err != nil {
			return err
		}
	}
	if _, err := in.next(); err != io.EOF {
		return fmt.Errorf("frames are left: %w", err)
	}
	r.now = r.now.Add(time.Minute) // each group is due once
	if err := r.rules.Tick(ctx, r.now); err != nil {
		return err
	}
	r.WalkS, r.WalkCPU = time.Since(began).Seconds(), bench.CPU().Seconds()-cpu
	return nil
}

// measureMemory notes what the process has, and what its metrics say.
func (r *role) measureMemory() error {
	var err error
	if r.Resident, err = node.Resident(os.Getpid()); err != nil {
		return err
	}
	r.Highest = bench.Number("/proc/self/status", "VmHWM") << 10
	r.Budget = r.budget.Used()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	r.Heap = int64(m.HeapAlloc)
	r.Series = int(node.Sum(r.metrics, "ringwatch_rules_series"))
	r.Evaluated = node.Sum(r.metrics, "ringwatch_rules_evaluations_total")
	r.Failures = node.Sum(r.metrics, "ringwatch_rules_failures_total")
	r.Missed = node.Sum(r.metrics, "ringwatch_rules_missed_total")
	return nil
}
