package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/window"
)

// A closed span says the same until a late frame comes, and dashboards ask for the same hours again
// and again. So what a span said to some matchers is kept, bounded in bytes. Each reading asks
// which windows have late frames, and takes those spans from Cassandra which were not made after
// that: a mark is there before the frame that it tells of, and before the window is closed again.
// Marks live twice as long as frames. So what is kept for as long as frames live never outlives a
// mark.

// spanID names a span of a node.
type spanID struct {
	windowID
	length int64
}

// keptID is what a span said to some matchers.
type keptID struct {
	spanID
	question string
}

type keptSpan struct {
	Kept                   // without its window
	series []window.Series // of the whole span
	read   int64           // when Cassandra was asked, ms
	bytes  int64
}

func (r *reader) spanID(start, length int64) spanID {
	return spanID{windowID{r.account, r.node, start}, length}
}

// keptCost is what an entry takes beside its series and its instants, in bytes.
const keptCost = 600

// questionOf names matchers, so that no two lists of them have one name.
func questionOf(matchers []*labels.Matcher) string {
	var b strings.Builder
	for _, m := range matchers {
		fmt.Fprintf(&b, "%q%s%q,", m.Name, m.Type, m.Value)
	}
	return b.String()
}

// keptOf returns what is kept of spans that hold some of the windows for the reader's matchers.
func (r *reader) keptOf(windows []int64) map[spanID]*keptSpan {
	if r.keptSpans == nil {
		return nil
	}
	r.question = questionOf(r.matchers)
	known := map[spanID]*keptSpan{}
	now := r.millis()
	look := func(id spanID) {
		k, found := r.keptSpans.get(keptID{id, r.question})
		if !found {
			return
		}
		if age := now - k.read; age >= 0 && age < r.config.FreshTTL.Milliseconds() {
			known[id] = k
		}
	}
	hour := int64(-1)
	for _, w := range windows {
		if h := hourOf(w); h != hour {
			hour = h
			look(r.spanID(h, window.HourMillis))
		}
		if known[r.spanID(hour, window.HourMillis)] == nil {
			look(r.spanID(w, windowMillis))
		}
	}
	return known
}

// keep keeps what a closed span without late frames says, and returns what of it is asked for.
func (r *reader) keep(ctx context.Context, k *Kept) ([]window.Series, error) {
	end := k.Start + k.Length - 1
	list, err := k.Window.SelectContext(ctx, r.lease, k.Start, end, r.matchers...)
	if err != nil {
		return nil, err
	}
	of := &keptSpan{Kept: *k, series: list, read: r.began, bytes: keptCost + int64(len(r.question)) + 16*int64(len(k.Window.Times))}
	of.Window = nil
	of.Head = &window.Head{Times: k.Head.Times, Report: k.Head.Report}
	for i := range list {
		of.bytes += list[i].Bytes()
	}
	r.keptSpans.put(keptID{r.spanID(k.Start, k.Length), r.question}, of, int(of.bytes))
	return inRange(list, max(r.from, k.Start), min(r.to, end), k.Start, end), nil
}

// takeKnown answers from what is kept of a span.
func (r *reader) takeKnown(k *keptSpan) error {
	if err := r.lease.Take(k.bytes); err != nil {
		return err
	}
	end := k.Start + k.Length - 1
	r.close(&k.Kept)
	number := r.number(&k.Kept)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Kept += number
	r.report.Lost += r.lost(&k.Kept)
	r.times = append(r.times, k.Head.Times)
	r.parts = append(r.parts, readPart{k.Start, inRange(k.series, max(r.from, k.Start), min(r.to, end), k.Start, end)})
	return nil
}

// inRange returns the values from from to to, both inclusive, of series that have some from first
// to last. The list is the caller's.
func inRange(list []window.Series, from, to, first, last int64) []window.Series {
	if from <= first && to >= last {
		return slices.Clone(list)
	}
	out := make([]window.Series, 0, len(list))
	for _, s := range list {
		i, _ := slices.BinarySearch(s.At, from)
		j, _ := slices.BinarySearch(s.At, to+1)
		if i < j {
			out = append(out, s.Between(i, j))
		}
	}
	return out
}
