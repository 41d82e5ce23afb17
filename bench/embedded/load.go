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
)

// load measures both sides under the same fleet, and what needs their data.
func (r *report) load(ctx context.Context, dir string) error {
	us, err := newOurs(&r.options, filepath.Join(dir, "ringwatch"))
	if err != nil {
		return err
	}
	n, err := newNodes(ctx, &r.options, us)
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
	if err := us.Start(ctx); err != nil {
		return err
	}
	defer us.End()
	from := time.Now()
	n.send(0)
	them, err := startPrometheus(ctx, filepath.Join(dir, "prometheus"), n, address)
	if err != nil {
		return err
	}
	defer them.Stop()
	r.Prometheus = them.Version
	sides := []*crowd.Side{us.side(),
		{Name: "Prometheus", URL: them.URL, Pid: them.Pid(), Peer: true}}
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
	ctx context.Context, n *nodes, us *ours, sides []*crowd.Side, list []crowd.Question,
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
			found[i].Read(reading, readEvery, list, s.Ask)
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
	m, err := watch(n.ctx, minutes(r.minutes), sides...)
	if err != nil {
		return err
	}
	for _, f := range append(found, fresh) {
		f.End()
	}
	r.Ours, r.Theirs, r.Senders = m[0], m[1], m[2]
	r.Refused = n.refused.Load()
	r.reads(found, fresh)
	return r.compare(ctx, sides, list)
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
		to.Medians = map[string]float64{}
		for kind, list := range f.ByKind() {
			to.Medians[kind] = bench.Median(list)
		}
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
func (r *report) compare(ctx context.Context, sides []*crowd.Side, list []crowd.Question) error {
	at := time.Now().Add(-2 * interval)
	for i := range list {
		q := &list[i]
		ours, err := series(ctx, sides[0], q, q.Words, at)
		if err != nil {
			return fmt.Errorf("%s: %w", q.Title, err)
		}
		theirs, err := series(ctx, sides[1], q, q.Theirs, at)
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
	Name           string
	Cores          float64
	Resident, Most float64 // MB, the median and the most
	Reads, Failed  int     // questions
	Failure        string  `json:",omitempty"`
	ReadP50        float64 // ms
	ReadP99        float64
	Medians        map[string]float64 `json:",omitempty"` // ms, by kind
}

// watch measures processes for some time, and this one last.
func watch(ctx context.Context, length time.Duration, sides ...*crowd.Side) ([]measured, error) {
	const own = "senders and readers"
	pids := map[string]int{own: os.Getpid()}
	list := make([]measured, len(sides), len(sides)+1)
	for i, s := range sides {
		list[i].Name, pids[s.Name] = s.Name, s.Pid
	}
	list = append(list, measured{Name: own})
	var memory, whole node.Meter
	if _, _, err := whole.Look(pids); err != nil {
		return nil, err
	}
	resident := map[string][]float64{}
	for end := time.Now().Add(length); time.Now().Before(end); {
		if err := bench.Pass(ctx, time.Second); err != nil {
			return nil, err
		}
		_, mb, err := memory.Look(pids)
		if err != nil {
			return nil, err
		}
		for name, n := range mb {
			resident[name] = append(resident[name], n)
		}
	}
	cores, _, err := whole.Look(pids)
	for i := range list {
		m := &list[i]
		m.Cores = cores[m.Name]
		m.Resident, m.Most = bench.Median(resident[m.Name]), bench.Quantile(resident[m.Name], 1)
	}
	return list, err
}

func minutes(m float64) time.Duration { return time.Duration(m * float64(time.Minute)) }
