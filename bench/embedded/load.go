package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/crowd"
	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/bench/profiled"
)

// load measures both sides under the same fleet, and what needs their data.
func (r *report) load(ctx context.Context, dir string) error {
	us, err := newOurs(&r.options, filepath.Join(dir, "ringwatch"))
	if err != nil {
		return err
	}
	n, err := newNodes(ctx, &r.options, us.key)
	if err != nil {
		return err
	}
	defer n.stop()
	n.make(r.nodes)
	r.Series = [2]int{n.idle.Series, n.busy.Series}
	address, err := n.serve(n.ctx)
	if err != nil {
		return err
	}
	if err := us.start(ctx); err != nil {
		return err
	}
	defer us.kill()
	n.ingest.Store(&us.ingest)
	from := time.Now()
	n.send(0)
	them, err := startPrometheus(ctx, filepath.Join(dir, "prometheus"), n, address)
	if err != nil {
		return err
	}
	defer them.Stop()
	r.Prometheus = them.Version
	sides := []*side{
		{name: "ringwatch", url: us.api, key: us.key, pid: us.process.Pid()},
		{name: "Prometheus", url: them.URL, pid: them.Pid()},
	}
	list, err := questions(&r.options, n)
	if err != nil {
		return err
	}
	if err := r.underLoad(ctx, n, us, sides, list); err != nil {
		return err
	}
	if r.does("disk") {
		return r.disk(ctx, n, us, them, from)
	}
	return n.end()
}

// underLoad lets the reader read, and measures.
func (r *report) underLoad(
	ctx context.Context, n *nodes, us *ours, sides []*side, list []crowd.Question,
) error {
	reading, stop := context.WithCancel(ctx)
	var readers sync.WaitGroup
	defer readers.Wait()
	defer stop()
	found := []*crowd.Reader{{}, {}}
	fresh := &crowd.Reader{}
	readers.Go(func() { fresh.Probe(reading, n.taken, us.newest) })
	for i, s := range sides {
		readers.Go(func() {
			select {
			case <-time.After(time.Duration(i) * readEvery / 2): // by turns
			case <-reading.Done():
			}
			s.read(reading, found[i], list)
		})
	}
	bench.Progress("%d nodes of %d and %d series send and are scraped; warming up for %g minutes",
		r.nodes, r.Series[0], r.Series[1], r.warm)
	if err := bench.Pass(n.ctx, minutes(r.warm)); err != nil {
		return err
	}
	for _, f := range append(found, fresh) {
		f.Begin()
	}
	if r.profile != "" {
		if err := profiled.Begin(us.process.Pid(), us.profile); err != nil {
			return err
		}
	}
	m, err := watch(n.ctx, minutes(r.minutes), sides...)
	if err != nil {
		return err
	}
	for _, f := range append(found, fresh) {
		f.End()
	}
	if r.profile != "" {
		if err := r.keepProfile(ctx, us); err != nil {
			return err
		}
	}
	r.Ours, r.Theirs, r.Senders = m[0], m[1], m[2]
	r.Refused = n.refused.Load()
	r.reads(found, fresh)
	return r.compare(ctx, sides, list)
}

func (r *report) keepProfile(ctx context.Context, us *ours) error {
	if err := profiled.End(ctx, us.process.Pid(), us.profile); err != nil {
		return err
	}
	for from, to := range map[string]string{us.profile: "cpu", us.profile + ".heap": "heap"} {
		b, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(r.options.profile, to), b, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// reads notes what the readers found.
func (r *report) reads(found []*crowd.Reader, fresh *crowd.Reader) {
	times := fresh.Times()
	late, _ := fresh.Failed()
	r.Fresh = freshness{Values: len(times), Late: late, P50: bench.Median(times),
		P99: bench.Quantile(times, 0.99), Most: bench.Quantile(times, 1)}
	bench.Progress("freshness: p50 %.0f ms, p99 %.0f ms, at most %.0f ms, of %d values; %d "+
		"came too late",
		r.Fresh.P50, r.Fresh.P99, r.Fresh.Most, r.Fresh.Values, r.Fresh.Late)
	for i, to := range []*measured{&r.Ours, &r.Theirs} {
		f := found[i]
		all := f.Times()
		to.Reads = len(all)
		to.Failed, to.Failure = f.Failed()
		to.ReadP50, to.ReadP99 = bench.Median(all), bench.Quantile(all, 0.99)
		to.Medians = f.Quantiles(0.5)
		bench.Progress("%s: %.2f cores, %.0f MB (%.0f at most), answers in %.1f ms (p99 %.0f), "+
			"%d of them "+
			"failed %s", to.Name, to.Cores, to.Resident, to.Most, to.ReadP50, to.ReadP99, to.Failed,
			to.Failure)
	}
	bench.Progress("senders and readers: %.2f cores; %d frames were told to come again",
		r.Senders.Cores, r.Refused)
}

// compare asks both sides every question once at one instant: how many answers have as many
// series.
func (r *report) compare(ctx context.Context, sides []*side, list []crowd.Question) error {
	at := time.Now().Add(-2 * interval)
	for i := range list {
		q := &list[i]
		ours, err := sides[0].series(ctx, q, q.Words, at)
		if err != nil {
			return fmt.Errorf("%s: %w", q.Title, err)
		}
		theirs, err := sides[1].series(ctx, q, q.Theirs, at)
		if err != nil {
			return fmt.Errorf("%s of Prometheus: %w", q.Title, err)
		}
		if ours == theirs {
			r.Same++
		} else {
			r.Differ = append(r.Differ, fmt.Sprintf("%s: %d and %d", q.Title, ours, theirs))
		}
	}
	bench.Progress("%d of %d answers have as many series on both sides", r.Same, len(list))
	return nil
}

// measured is what a process took.
type measured struct {
	Name            string
	Cores           float64
	Resident, Most  float64 // MB, the median and the most
	Anonymous       float64 // MB of it, the median: what is no file
	Reads, Failed   int     // questions
	Failure         string  `json:",omitempty"`
	ReadP50         float64 // ms
	ReadP99         float64
	Medians         map[string]float64 `json:",omitempty"` // ms, by kind
	resident, inUse []float64
}

// watch measures processes for some time, and this one last.
func watch(ctx context.Context, length time.Duration, sides ...*side) ([]measured, error) {
	list := make([]measured, len(sides)+1)
	before := make([]node.Usage, len(sides)+1)
	use := func(i int) (node.Usage, error) {
		if i < len(sides) {
			return node.UsageOf(sides[i].pid, "")
		}
		return node.UsageOf(os.Getpid(), "")
	}
	for i := range list {
		list[i].Name = "senders and readers"
		if i < len(sides) {
			list[i].Name = sides[i].name
		}
		var err error
		if before[i], err = use(i); err != nil {
			return nil, err
		}
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	told := time.Now()
	for end := time.Now().Add(length); time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
		for i, s := range sides {
			all, anonymous, err := node.Memory(s.pid)
			if err != nil {
				return nil, err
			}
			list[i].resident = append(list[i].resident, float64(all)/1e6)
			list[i].inUse = append(list[i].inUse, float64(anonymous)/1e6)
		}
		if time.Since(told) > time.Minute {
			told = time.Now()
			text := ""
			for i := range list {
				now, err := use(i)
				if err != nil {
					return nil, err
				}
				text += fmt.Sprintf("; %s %.2f cores", list[i].Name, now.CoresSince(before[i]))
				if n := len(list[i].resident); n > 0 {
					text += fmt.Sprintf(", %.0f MB", list[i].resident[n-1])
				}
			}
			bench.Progress("%s left%s", time.Until(end).Round(time.Second), text)
		}
	}
	for i := range list {
		now, err := use(i)
		if err != nil {
			return nil, err
		}
		m := &list[i]
		m.Cores = now.CoresSince(before[i])
		m.Resident, m.Most = bench.Median(m.resident), bench.Quantile(m.resident, 1)
		m.Anonymous = bench.Median(m.inUse)
	}
	return list, nil
}

func minutes(m float64) time.Duration { return time.Duration(m * float64(time.Minute)) }
