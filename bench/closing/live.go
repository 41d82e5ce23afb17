package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// live lets the fleet live through its hour.
func (f *testbed) live(ctx context.Context) (*findings, error) {
	found := &findings{testbed: f}
	hour := f.window(1)
	for w := range warm {
		if err := f.both(ctx, f.hours, w, f.copies.Ticks); err != nil {
			return nil, err
		}
		if w == 0 { // an hour of one window: its making is not timed, and leaves dictionaries
			if err := f.makeHours(ctx, f.hours, rollup.Hour.Start(f.window(0))); err != nil {
				return nil, err
			}
		}
	}
	if err := f.both(ctx, f.hours, warm, f.copies.Ticks); err != nil {
		return nil, err
	}
	// The others say little in this window, and of everything something.
	if err := f.both(ctx, f.nodes, warm, 2); err != nil {
		return nil, err
	}
	if err := f.fill(ctx, measured); err != nil {
		return nil, err
	}
	l := &load{testbed: f, until: f.copies.Ticks}
	if err := found.measureAlone(ctx, l); err != nil {
		return nil, err
	}
	if err := found.measureClosing(ctx, l); err != nil {
		return nil, err
	}
	bench.Progress("the last window of the hour, of %d nodes", f.hours)
	if err := f.write(ctx, f.hours, beside, l.sent/f.nodes, f.copies.Ticks); err != nil {
		return nil, err
	}
	for _, window := range []int{measured, beside} { // the former if the limit came before
		if err := f.close(ctx, f.hours, window); err != nil {
			return nil, err
		}
	}
	return found, found.measureHours(ctx, hour)
}

// both writes a window's first ticks of the first n nodes and closes it.
func (f *testbed) both(ctx context.Context, n, window, ticks int) error {
	if err := f.write(ctx, n, window, 0, ticks); err != nil {
		return err
	}
	if err := f.close(ctx, n, window); err != nil {
		return err
	}
	bench.Progress("window %d of %d nodes is closed", window, n)
	return nil
}

// fill gives a window of all nodes to the writer, as the stream does.
func (f *testbed) fill(ctx context.Context, window int) error {
	f.set(f.window(window) + 1)
	for tick := range f.copies.Ticks {
		for from := 0; from < f.nodes; from += maxRecords {
			var records []stream.Record
			for n := from; n < min(from+maxRecords, f.nodes); n++ {
				r, err := f.record(n, window, tick)
				if err != nil {
					return err
				}
				records = append(records, r)
			}
			if err := f.writer.Handle(ctx, records); err != nil {
				return err
			}
		}
	}
	bench.Progress("%d frames of window %d are written, none is closed", f.copies.Ticks*f.nodes,
		window)
	return nil
}

func (f *testbed) record(n, window, tick int) (stream.Record, error) {
	b, err := f.frame(n, window, tick)
	f.offset++
	return stream.Record{Account: account, Offset: f.offset, Value: b}, err
}

// load is frames that come evenly.
type load struct {
	*testbed
	sent  int // frames so far
	until int // ticks there are
	waits []float64
}

// run sends frames until done says so, or there are no more.
func (l *load) run(ctx context.Context, done func() bool) error {
	began, first := time.Now(), l.sent
	pace := interval / time.Duration(l.nodes)
	for !done() && l.sent < l.until*l.nodes {
		var records []stream.Record
		var due []time.Time
		for at := began.Add(time.Duration(l.sent-first) * pace); len(records) < maxRecords &&
			l.sent < l.until*l.nodes && !time.Now().Before(at); at = at.Add(pace) {
			r, err := l.record(l.sent%l.nodes, beside, l.sent/l.nodes)
			if err != nil {
				return err
			}
			records, due = append(records, r), append(due, at)
			l.sent++
		}
		handle, cancel := context.WithTimeout(ctx, handleTimeout)
		err := l.writer.Handle(handle, records)
		cancel()
		if err != nil {
			return err
		}
		for _, at := range due {
			l.waits = append(l.waits, bench.Millis(time.Since(at)))
		}
		time.Sleep(10 * time.Millisecond) // a poll
	}
	return ctx.Err()
}

// measureAlone finds what a frame costs while no window is closed. Key frames, the first of a
// node's window, do not count: later there are none.
func (f *findings) measureAlone(ctx context.Context, l *load) error {
	f.set(f.window(beside))
	if err := l.run(ctx, func() bool { return l.sent >= l.nodes }); err != nil {
		return err
	}
	if err := f.calibrate(ctx); err != nil {
		return err
	}
	before, err := f.meter.now()
	if err != nil {
		return err
	}
	first, end := l.sent, time.Now().Add(f.options.alone)
	if err := l.run(ctx, func() bool { return time.Now().After(end) }); err != nil {
		return err
	}
	s, err := f.since(ctx, before)
	if err != nil {
		return err
	}
	if s.frames = l.sent - first; s.frames == 0 {
		return fmt.Errorf("no frame was written in %s", f.options.alone)
	}
	f.alone = &s
	bench.Progress("%d frames came alone: %.2f ms of CPU each, %.2f of them Cassandra's", s.frames,
		bench.Millis(s.cassandra+s.own)/float64(s.frames),
		bench.Millis(s.cassandra)/float64(s.frames))
	return nil
}

// measureClosing closes the measured window of all nodes while frames come. It ends when that is
// done, before the next window ends, or at the limit.
func (f *findings) measureClosing(ctx context.Context, l *load) error {
	before, err := f.meter.now()
	if err != nil {
		return err
	}
	first, already := l.sent, f.meter.closed()
	l.waits = nil
	closing, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	began, told := time.Now(), 0
	go func() { ended <- f.writer.Run(closing) }()
	err = l.run(ctx, func() bool {
		f.closed, f.seconds = f.meter.closed()-already, time.Since(began).Seconds()
		if tens := int(f.seconds) / 10; tens > told {
			told = tens
			bench.Progress("%.0f windows are closed", f.closed)
		}
		over := f.testbed.now().UnixMilli() > f.window(beside)+frame.WindowMillis-5000
		return f.closed >= float64(f.nodes) || over || f.seconds > f.limit.Seconds()
	})
	cancel() // the few windows that are under way cost something and do not count
	if e := <-ended; err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	if f.closed == 0 {
		return fmt.Errorf("no window was closed in %.0f s", f.seconds)
	}
	frames := l.sent - first
	s, err := f.since(ctx, before)
	if err != nil {
		return err
	}
	s.frames = frames
	f.closing, f.waits = &s, l.waits
	bench.Progress("%.0f windows were closed in %.1f s, %.1f a second, beside %d frames: %.2f ms "+
		"of CPU a window, %.2f of them Cassandra's; rows a window: %s",
		f.closed, f.seconds, f.closed/f.seconds, frames,
		f.perWindow(s.cassandra+s.own, f.alone.cassandra+f.alone.own),
		f.perWindow(s.cassandra, f.alone.cassandra), said(s.rowsPer(f.closed, f.alone)))
	return nil
}

// measureHours makes the hour of some nodes.
func (f *findings) measureHours(ctx context.Context, start int64) error {
	f.set(start + 90*time.Minute.Milliseconds()) // in the middle of the next one
	if err := f.settle(ctx); err != nil {
		return err
	}
	before, err := f.meter.now()
	if err != nil {
		return err
	}
	runtime.GC()
	heap, peak := heapBytes(), sampleHeap()
	if err := f.makeHours(ctx, f.hours, start); err != nil {
		peak()
		return err
	}
	bench.Progress("making hours took %d MB of this process's heap at most", (peak()-heap)>>20)
	s, err := f.since(ctx, before)
	if err != nil {
		return err
	}
	f.making = &s
	bench.Progress("%d hours were made: %.1f ms of CPU each, %.1f of them Cassandra's; rows an "+
		"hour: %s", f.hours, bench.Millis(s.cassandra+s.own)/float64(f.hours),
		bench.Millis(s.cassandra)/float64(f.hours),
		said(s.rowsPer(float64(f.hours), nil)))
	return nil
}

// sampleHeap looks at the heap every few milliseconds, and returns what ends that and says what it
// was at most.
func sampleHeap() func() int64 {
	done, most := make(chan struct{}), make(chan int64)
	go func() {
		var peak int64
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				peak = max(peak, heapBytes())
			case <-done:
				most <- peak
				return
			}
		}
	}()
	return func() int64 { close(done); return <-most }
}

// heapBytes is what the heap's objects take, those among them that nobody has any more.
func heapBytes() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}
