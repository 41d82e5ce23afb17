package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/window"
)

// fleet are the nodes and what is known of them.
type fleet struct {
	*system
	nodes   []*node
	recover recovery
}

// node is one that sends. What it sent, by the number of the frame, is how answers are judged.
type node struct {
	*frametest.Node
	name    string
	account string
	base    int64         // its ids are base + the number of the frame
	past    time.Duration // how old its frames are; 0: it sends the present
	odd     bool          // its clock is wrong now and then
	ahead   atomic.Int64  // of its clock, ns
	waiting atomic.Int64  // frames that are not acknowledged

	mu    sync.Mutex
	at    []int64         // ms
	by    map[int64]int   // numbers by instant
	acked []time.Time     // zero: it was not
	told  map[string]bool // what was a problem already
}

// spaced is the distance of nodes' ids: more than a node's frames.
const spaced = 10_000_000

// newFleet makes nodes: the same ones for both accounts, every fifth of them an hour late.
func newFleet(s *system) *fleet {
	f := &fleet{system: s, recover: recovery{tally: s.tally}}
	// The hour before begins with frames of two minutes into it.
	hour := time.Now().Truncate(time.Hour)
	past := time.Since(hour.Add(2*time.Minute - time.Hour)).Truncate(s.Interval)
	each := s.Nodes / len(accounts)
	for a, of := range accounts {
		for i := range each {
			n := &node{account: of, base: int64(a*each+i+1) * spaced, by: map[int64]int{},
				told: map[string]bool{}}
			n.Node = frametest.New(fmt.Sprintf("chaos-%d", i%4), uint64(i+1), 0)
			n.name = fmt.Sprintf("%s/%d", of, i)
			n.Interval = s.Interval.Milliseconds()
			n.Templates = []frame.Template{{Type: "node", Metrics: []frame.Metric{
				{Name: metric, Kind: frame.Gauge},
				{Name: "chaos_frames_total", Kind: frame.Counter},
				{Name: "chaos_text", Kind: frame.String},
			}}}
			n.Entities = [][]frametest.Entity{{{Cells: make([]frametest.Cell, 3)}}}
			n.odd = i%10 == 2
			if i%5 == 4 {
				n.past = past
			}
			f.nodes = append(f.nodes, n)
		}
	}
	return f
}

// metric is the one whose values are ids.
const metric = "chaos_id"

// made is a frame that waits.
type made struct {
	number int
	bytes  []byte
}

// make makes the frame of an instant and writes down what it says.
func (n *node) make(at int64) made {
	n.mu.Lock()
	defer n.mu.Unlock()
	m := made{number: len(n.at)}
	cells := n.Entities[0][0].Cells
	cells[0].Int, cells[1].Int = n.base+int64(m.number), int64(m.number)
	cells[2].Text = fmt.Sprint("frame ", m.number)
	m.bytes = n.Frame(at)
	n.at, n.acked = append(n.at, at), append(n.acked, time.Time{})
	n.by[at] = m.number
	return m
}

// mostBackward is by how much an agent waits for a clock that was set back; by more, it begins
// anew.
const mostBackward = time.Minute

// due makes the frames that are due, as an agent does: one each interval, none while its clock
// stands before the last one. next is when the next is due, by the right clock.
func (n *node) due(next time.Time, every time.Duration) (list []made, _ time.Time) {
	for ; !next.After(time.Now()); next = next.Add(every) {
		ahead := time.Duration(n.ahead.Load())
		at := next.Add(ahead - n.past).UnixMilli()
		n.mu.Lock()
		var last int64
		if len(n.at) > 0 {
			last = n.at[len(n.at)-1]
		}
		n.mu.Unlock()
		if last-at > mostBackward.Milliseconds() {
			n.Restart(at)
		} else if at <= last {
			continue
		}
		list = append(list, n.make(at))
	}
	return list, next
}

// newestFirst is how many frames wait before the newest take turns with the oldest, as an agent's
// backlog does.
const newestFirst = 8

// send makes a node's frames until making ends, and sends each until it is acknowledged.
func (f *fleet) send(ctx, making context.Context, n *node) error {
	random := rand.New(rand.NewPCG(f.Seed, uint64(n.base)))
	next := time.Now().Truncate(f.Interval).Add(f.Interval)
	var waiting []made
	turn, address := 0, int(n.base/spaced)
	for {
		if making.Err() == nil {
			var list []made
			list, next = n.due(next, f.Interval)
			waiting = append(waiting, list...)
			f.add(&f.Sent, len(list))
		}
		n.waiting.Store(int64(len(waiting)))
		if len(waiting) == 0 {
			if making.Err() != nil {
				return nil
			}
			if err := bench.Pass(ctx, time.Until(next)); err != nil {
				return err
			}
			continue
		}
		i := 0
		if turn++; len(waiting) > newestFirst && turn%2 == 0 {
			i = len(waiting) - 1
		}
		began := time.Now()
		taken, err := f.post(ctx, f.ingests[address%len(f.ingests)], n, waiting[i].bytes)
		if err != nil {
			return err
		}
		if !taken {
			f.add(&f.Again, 1)
			address++ // an agent asks the next one, too
			if err := bench.Pass(ctx,
				time.Duration(50+random.IntN(200))*time.Millisecond); err != nil {
				return err
			}
			continue
		}
		n.mu.Lock()
		n.acked[waiting[i].number] = time.Now()
		n.mu.Unlock()
		f.add(&f.Acked, 1)
		f.recover.acked(began)
		waiting = append(waiting[:i], waiting[i+1:]...)
	}
}

// post sends a frame once. The error is that of a frame that is refused for good.
func (f *fleet) post(ctx context.Context, base string, n *node, b []byte) (taken bool, _ error) {
	taken, _, err := line.Post(ctx, client, base, f.keys[n.account], b)
	if errors.Is(err, line.ErrRefused) {
		return false, fmt.Errorf("chaos: %s: %w", n.name, err)
	}
	if err != nil {
		return false, ctx.Err() // whoever was killed or hangs
	}
	return taken, nil
}

// wrongClock sets the clocks of some nodes wrong and right again. An agent whose clock
// was set back waits until it is past the last frame, or begins anew.
func (f *fleet) wrongClock(by time.Duration) fault {
	// Not on the interval, and ahead not as behind, so that no instant comes twice; an agent's
	// frames are never that exact.
	name := fmt.Sprintf("clocks off by %s", by)
	if by > 0 {
		by += 123 * time.Millisecond
	} else {
		by += 277 * time.Millisecond
	}
	set := func(by time.Duration) func(context.Context) error {
		return func(context.Context) error {
			for _, n := range f.nodes {
				if n.odd {
					n.ahead.Store(int64(by))
				}
			}
			return nil
		}
	}
	return fault{name: name, lasts: wrongly, do: set(by), undo: set(0)}
}

// tell says now and then how far the run is.
func (f *fleet) tell(ctx context.Context) {
	for bench.Pass(ctx, 20*time.Second) == nil {
		waiting := int64(0)
		for _, n := range f.nodes {
			waiting += n.waiting.Load()
		}
		f.mu.Lock()
		text := fmt.Sprintf("%d kills, %d frames acknowledged, %d wait; %d answers, %d partial, "+
			"%d failed; doubled %d, wrong %d, holes %d", f.Report.Kills, f.Acked, waiting,
			f.Answers, f.Partial, f.Failed, f.Doubled, f.Wrong, f.Holes)
		f.mu.Unlock()
		f.Progress(text)
	}
}

// drain waits until all frames are taken.
func (f *fleet) drain(ctx context.Context, senders *errgroup.Group) error {
	ended := make(chan error, 1)
	go func() { ended <- senders.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(drainTimeout):
		return fmt.Errorf("chaos: frames are not taken %s after the last fault", drainTimeout)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// recovery finds out how long it takes from a fault's end until a frame is taken and a question has
// a right and complete answer, both of which began after it.
type recovery struct {
	*tally
	waiting []*recovering
}

type recovering struct {
	after           string
	since           time.Time
	taken, answered time.Time
}

func (r *recovery) over(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = append(r.waiting, &recovering{after: name, since: time.Now()})
}

func (r *recovery) acked(began time.Time)    { r.saw(began, true) }
func (r *recovery) answered(began time.Time) { r.saw(began, false) }

func (r *recovery) saw(began time.Time, frame bool) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	rest := r.waiting[:0]
	for _, one := range r.waiting {
		switch {
		case began.Before(one.since):
		case frame && one.taken.IsZero():
			one.taken = now
		case !frame && one.answered.IsZero():
			one.answered = now
		}
		if one.taken.IsZero() || one.answered.IsZero() {
			rest = append(rest, one)
			continue
		}
		took := now.Sub(one.since).Seconds()
		r.Recovery = append(r.Recovery, took)
		r.Slowest[one.after] = max(r.Slowest[one.after], took)
	}
	r.waiting = rest
}

// values are a node's samples as an answer has them.
type values []sample

type sample struct {
	at int64 // ms
	id int64
}

// known is how old an acknowledgement must be for an answer that calls itself complete to have the
// frame: ten seconds until answers from Cassandra call themselves partial, what a reader remembers
// of that, and a machine that is slow for a moment.
const known = 15 * time.Second

// judge holds values of a node from … to (ms) against what it sent: nothing else, each instant
// once, and if the answer calls itself complete, all that was acknowledged long enough before it
// was asked for. It reports whether they are right.
func (f *fleet) judge(
	n *node, what string, list values, from, to int64, asked time.Time, complete bool,
) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	right := true
	wrong := func(count *int, format string, args ...any) {
		right = false
		// One thing that is wrong is in many answers: it counts once.
		text := fmt.Sprintf(format, args...)
		if !n.told[text] {
			n.told[text] = true
			f.problem(count, "%s of %s (%s): %s", what, n.name, n.ID, text)
		}
	}
	seen := map[int64]bool{}
	for _, v := range list {
		number, sent := n.by[v.at]
		switch {
		case !sent:
			wrong(&f.Wrong, "id %d at %d, when nothing was sent", v.id, v.at)
		case v.id != n.base+int64(number):
			wrong(&f.Wrong, "id %d at %d, when %d was sent", v.id, v.at, n.base+int64(number))
		case seen[v.at]:
			wrong(&f.Doubled, "two values at %d", v.at)
		case v.at < from || v.at > to:
			wrong(&f.Wrong, "a value at %d, outside %d to %d", v.at, from, to)
		}
		seen[v.at] = true
	}
	if !complete {
		return right
	}
	missing, first, last := 0, -1, -1
	for number, at := range n.at {
		acked := n.acked[number]
		if acked.IsZero() || at < from || at > to || seen[at] || asked.Sub(acked) < known {
			continue
		}
		if first < 0 {
			first = number
		}
		missing, last = missing+1, number
	}
	if missing > 0 {
		wrong(&f.Holes,
			"%d frames are missing, %d (at %d, acknowledged %.1f s before) to %d (at %d, "+
				"%.1f s), of %d values, of what calls itself complete from %d to %d", missing,
			first, n.at[first], asked.Sub(n.acked[first]).Seconds(),
			last, n.at[last], asked.Sub(n.acked[last]).Seconds(), len(list), from, to)
	}
	return right
}

// valuesOf are the values of the one series.
func valuesOf(list []window.Series) (out values, _ error) {
	if len(list) > 1 {
		return nil, fmt.Errorf("%d series of a node", len(list))
	}
	for _, s := range list {
		for i, at := range s.At {
			out = append(out, sample{at, s.Ints[i]})
		}
	}
	return out, nil
}
