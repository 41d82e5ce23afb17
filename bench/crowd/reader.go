package crowd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringwatch/ringwatch/bench/line"
)

const (
	readsAtOnce  = 16              // more are left out, and counted as failed
	probeEvery   = 2 * time.Second // a value whose freshness is measured
	probePause   = 5 * time.Millisecond
	probeTimeout = 30 * time.Second
)

// Reader notes how long answers take. Only what it is told between Begin and End counts.
type Reader struct {
	mu     sync.Mutex
	counts bool
	times  map[string][]float64 // ms, by kind
	failed int
	why    string // the last time
}

// Note notes an answer, or why there was none.
func (r *Reader) Note(kind string, took time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !r.counts:
	case err != nil:
		r.failed++
		r.why = err.Error()
	default:
		r.times[kind] = append(r.times[kind], float64(took)/float64(time.Millisecond))
	}
}

// Begin lets what is noted from now on count, and nothing before.
func (r *Reader) Begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts, r.times, r.failed, r.why = true, map[string][]float64{}, 0, ""
}

// End lets nothing more count.
func (r *Reader) End() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts = false
}

// Times returns the times of all answers, in ms.
func (r *Reader) Times() []float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Concat(slices.Collect(maps.Values(r.times))...)
}

// ByKind returns the times of the answers of each kind, in ms.
func (r *Reader) ByKind() map[string][]float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.times)
}

// Failed returns how many questions had no answer, and why the last one.
func (r *Reader) Failed() (int, string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed, r.why
}

// Side is a server that is asked.
type Side struct {
	Name, URL, Key string
	Pid            int
	Peer           bool     // in a Prometheus's words
	Headers        []string // names and values in turn
}

// Ask asks a question and returns how long that took.
func (s *Side) Ask(ctx context.Context, q *Question) (time.Duration, error) {
	start := time.Now()
	words, address := q.Words, s.URL+q.Path
	if s.Peer {
		words = q.Theirs
	}
	if form := q.Form(words, start); len(form) > 0 {
		address += "?" + form.Encode()
	}
	_, err := line.Get(ctx, line.Plain, address, s.Key, s.Headers...)
	return time.Since(start), err
}

// Read asks the questions in turn until ctx ends, one every so often, whether others are answered
// or not. A question is not asked again before it is answered, as by a page that refreshes itself;
// that counts as a failure.
func (r *Reader) Read(
	ctx context.Context, every time.Duration, list []Question,
	ask func(context.Context, *Question) (time.Duration, error),
) {
	var work sync.WaitGroup
	defer work.Wait()
	places := make(chan struct{}, readsAtOnce)
	asked := make([]atomic.Bool, len(list)) // and not answered
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		q, waits := &list[i%len(list)], &asked[i%len(list)]
		if waits.Load() {
			r.Note(q.Kind, 0, fmt.Errorf("%s: it is not answered since the last time", q.Title))
			continue
		}
		select {
		case places <- struct{}{}:
		default:
			r.Note(q.Kind, 0, fmt.Errorf("%d questions are not answered yet", readsAtOnce))
			continue
		}
		waits.Store(true)
		work.Go(func() {
			defer func() { <-places; waits.Store(false) }()
			took, err := ask(ctx, q)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				err = fmt.Errorf("%s: %w", q.Title, err)
			}
			r.Note(q.Kind, took, err)
		})
	}
}

// Sent is a frame that ingest has taken.
type Sent struct {
	Node string
	At   int64     // the frame's time, ms
	When time.Time // just before it was sent
}

// Probe asks for the value of a frame every now and then, until the answer has it: newest returns
// the time of a node's newest value, in ms. What comes too late is noted as a failure.
func (r *Reader) Probe(
	ctx context.Context, taken <-chan Sent,
	newest func(ctx context.Context, node string) (int64, error),
) {
	for {
		var s Sent
		select {
		case s = <-taken:
		case <-ctx.Done():
			return
		}
		r.await(ctx, s, newest)
		select {
		case <-time.After(probeEvery):
		case <-ctx.Done():
			return
		}
	}
}

// await asks until the answer has a frame's value.
func (r *Reader) await(
	ctx context.Context, s Sent, newest func(ctx context.Context, node string) (int64, error),
) {
	wait, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	for {
		at, err := newest(wait, s.Node)
		if err == nil && at >= s.At {
			r.Note("fresh", time.Since(s.When), nil)
			return
		}
		if wait.Err() != nil {
			if ctx.Err() == nil {
				r.Note("fresh", 0, fmt.Errorf("the value of a frame was not there after %s: %v",
					probeTimeout, err))
			}
			return
		}
		time.Sleep(probePause)
	}
}
