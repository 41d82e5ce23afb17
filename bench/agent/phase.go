package main

import (
	"context"
	"fmt"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/frame"
)

// measurement is one side while it runs.
type measurement struct {
	options
	node     *node.Node
	receiver *receiver
}

// state is all that is read at both ends of a phase.
type state struct {
	usage     node.Usage
	allocated float64
	frames    int
	wire      int64
	gcLines   int
}

func (m *measurement) state(ctx context.Context) (s state, err error) {
	if m.node.Side.Thread != "" {
		s.allocated, err = node.Allocated(ctx, m.node.Pid(), m.node.Side.Thread)
		if err != nil {
			return s, err
		}
	}
	if _, s.gcLines, err = node.Collections(m.node.GCLog, 0); err != nil {
		return s, err
	}
	s.frames, s.wire = m.receiver.count(), m.receiver.wire.Load()
	s.usage, err = node.UsageOf(m.node.Pid(), m.node.Side.Thread)
	return s, err
}

// phase lets the node idle for a while, scraping what is to be scraped, at least a few times.
func (m *measurement) phase(ctx context.Context, length time.Duration,
	scrapes int) (*figures, error) {
	began, err := m.state(ctx)
	if err != nil {
		return nil, err
	}
	scraped, err := m.idle(ctx, length, scrapes)
	if err != nil {
		return nil, err
	}
	ended, err := m.state(ctx)
	if err != nil {
		return nil, err
	}
	span := ended.usage.At.Sub(began.usage.At)
	f := &figures{gcSpan: span}
	f.processPct = 100 * (ended.usage.CPU - began.usage.CPU).Seconds() / span.Seconds()
	f.threadsPct = 100 * (ended.usage.Threads - began.usage.Threads).Seconds() / span.Seconds()
	if f.gc, _, err = node.Collections(m.node.GCLog, began.gcLines); err != nil {
		return nil, err
	}
	if n := len(scraped); n > 0 {
		f.passMs = (ended.usage.Threads - began.usage.Threads).Seconds() * 1000 / float64(n)
		f.passKB = (ended.allocated - began.allocated) / 1024 / float64(n)
		var took []float64
		for _, s := range scraped {
			took = append(took, s.Took.Seconds()*1000)
		}
		f.scrapeMs, f.scrapeKB, f.samples = bench.Median(took), float64(scraped[n-1].Wire)/1024,
			scraped[n-1].Samples
		f.wireMBh = float64(scraped[n-1].Wire) * 3600 / m.interval.Seconds() / 1e6
	}
	if frames := m.receiver.since(began.frames); len(frames) > 1 {
		m.frames(f, frames)
		m.wire(f, frames, ended.wire-began.wire)
	}
	return f, nil
}

// settle waits until an agent has been through everything once: it does that in its first two
// minutes, and then sends a key frame.
func (m *measurement) settle(ctx context.Context) error {
	least := int(2*time.Minute/m.interval) + 2
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	return line.Until(ctx, "the agent to settle", func(context.Context) error {
		if n := m.receiver.count(); n < least {
			return fmt.Errorf("%d of %d frames came", n, least)
		}
		return nil
	})
}

// idle waits and scrapes: every interval, or one after the other where a scrape takes longer.
func (m *measurement) idle(ctx context.Context, length time.Duration,
	least int) (scraped []node.Scraped, err error) {
	end := time.Now().Add(length)
	tick := time.NewTicker(m.interval)
	defer tick.Stop()
	awake := time.Now()
	for time.Now().Before(end) || m.node.Side.Scrape != "" && len(scraped) < least {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-m.node.Process().Done():
			return nil, fmt.Errorf("Cassandra ended; its log is %s", m.node.LogFile())
		case <-tick.C:
		}
		if still := time.Since(awake); still > 4*m.interval {
			return nil, fmt.Errorf("this bench stood still for %s (stopped, or no CPU to be "+
				"had), so its figures would say nothing: run it again when the machine is free",
				still.Round(time.Second))
		}
		awake = time.Now()
		if m.node.Side.Scrape == "" {
			continue
		}
		s, err := node.Scrape(ctx, m.node.Side.Scrape)
		if err != nil {
			return nil, err
		}
		s.Text = nil
		scraped = append(scraped, s)
		awake = time.Now() // a scrape may take that long
	}
	return scraped, nil
}

// frames fills in what the frames themselves say. A frame's cost and counters are of the pass
// before it.
func (m *measurement) frames(f *figures, frames []arrived) {
	var cost, delta, key []float64
	for i, a := range frames {
		if i > 0 {
			cost = append(cost, a.cost.Seconds()*1000)
		}
		if a.key {
			key = append(key, float64(a.bytes))
		} else {
			delta = append(delta, float64(a.bytes))
		}
	}
	n := float64(len(frames) - 1)
	f.passMs, f.passP50Ms, f.passMaxMs = bench.Mean(cost), bench.Median(cost),
		bench.Quantile(cost, 1)
	f.passKB = float64(frames[len(frames)-1].allocated-frames[0].allocated) / 1024 / n
	f.deltaBytes, f.keyBytes = bench.Mean(delta), bench.Mean(key)
}

// wire reckons an hour from the mean frames of a span, whose own share of key frames depends on
// where it begins.
func (m *measurement) wire(f *figures, frames []arrived, bytes int64) {
	for _, a := range frames {
		bytes -= int64(a.bytes)
	}
	f.postBytes = float64(bytes) / float64(len(frames))
	posts, keys := 3600/m.interval.Seconds(), 3600_000.0/frame.WindowMillis
	f.framesMBh = ((posts-keys)*f.deltaBytes + keys*f.keyBytes) / 1e6
	f.wireMBh = f.framesMBh + posts*f.postBytes/1e6
}

// busy writes a row to every table after each frame, so that every table has moved by the next
// pass.
func (m *measurement) busy(ctx context.Context, f *figures) error {
	session, err := node.Session(m.node.Cassandra)
	if err != nil {
		return err
	}
	defer session.Close()
	began := m.receiver.count()
	late := 0
	for end := time.Now().Add(m.length); time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-m.receiver.came:
		case <-time.After(10 * m.interval):
			return fmt.Errorf("no frame came for %s", 10*m.interval)
		}
		before := m.receiver.count()
		if err := node.WriteAll(ctx, session, m.tables, 1); err != nil {
			return err
		}
		if m.receiver.count() != before {
			late++ // a pass took place in the middle
		}
	}
	err = line.Until(ctx, "a last frame", func(context.Context) error {
		if m.receiver.count() < began+4 {
			return fmt.Errorf("%d frames", m.receiver.count()-began)
		}
		return nil
	})
	if err != nil {
		return err
	}
	frames := m.receiver.since(began)
	var cost []float64
	for _, a := range frames[2:] {
		cost = append(cost, a.cost.Seconds()*1000)
	}
	f.busyPasses = len(cost)
	f.busyMs, f.busyP50Ms = bench.Mean(cost), bench.Median(cost)
	f.busyKB = float64(frames[len(frames)-1].allocated-frames[1].allocated) / 1024 /
		float64(len(frames)-2)
	if late > 0 {
		fmt.Printf("%d of the bursts of writes were still under way at the next pass\n", late)
	}
	return nil
}
