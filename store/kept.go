package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/window"
)

// A closed window says the same until a late frame comes, and dashboards ask for the same windows
// again and again. So what a closed window said to some matchers is kept, bounded in bytes. Each
// reading asks which windows have late frames, and takes those from Cassandra whose columns were not
// made after that: a mark is there before the frame that it tells of, and before the window is closed
// again. Marks live twice as long as frames. So what is kept for as long as frames live never outlives
// a mark.

// keptID is what a window said to some matchers.
type keptID struct {
	windowID
	question string
}

type keptWindow struct {
	series []window.Series // of the whole window
	times  []int64         // its instants
	lost   int             // frames that could not be read
	read   int64           // when Cassandra was asked, ms
	stamp  int64           // Kept's
	bytes  int64
}

// keptCost is what an entry takes beside its series and its instants, in bytes.
const keptCost = 300

// questionOf names matchers, so that no two lists of them have one name.
func questionOf(matchers []*labels.Matcher) string {
	var b strings.Builder
	for _, m := range matchers {
		fmt.Fprintf(&b, "%q%s%q,", m.Name, m.Type, m.Value)
	}
	return b.String()
}

// keptOf returns by window what is kept of windows for the reader's matchers.
func (r *reader) keptOf(windows []int64) map[int64]*keptWindow {
	if r.keptWindows == nil {
		return nil
	}
	r.question = questionOf(r.matchers)
	known := map[int64]*keptWindow{}
	now := r.millis()
	for _, w := range windows {
		k, found := r.keptWindows.get(keptID{windowID{r.account, r.node, w}, r.question})
		if age := now - k.readAt(); found && age >= 0 && age < r.config.FreshTTL.Milliseconds() {
			known[w] = k
		}
	}
	return known
}

func (k *keptWindow) readAt() int64 {
	if k == nil {
		return 0
	}
	return k.read
}

// keep keeps what a closed window without late frames says, and returns what of it is asked for.
func (r *reader) keep(ctx context.Context, k *Kept) ([]window.Series, error) {
	end := k.Start + windowMillis - 1
	list, err := k.Window.SelectContext(ctx, k.Start, end, r.matchers...)
	if err != nil {
		return nil, err
	}
	of := &keptWindow{series: list, times: k.Window.Times, lost: k.Meta.Report.Lost(), read: r.began, stamp: k.Stamp,
		bytes: keptCost + int64(len(r.question)) + 8*int64(len(k.Window.Times))}
	for i := range list {
		of.bytes += list[i].Bytes()
	}
	r.keptWindows.put(keptID{windowID{r.account, r.node, k.Start}, r.question}, of, int(of.bytes))
	return inRange(list, max(r.from, k.Start), min(r.to, end), k.Start, end), nil
}

// takeKnown answers a window from what is kept of it.
func (r *reader) takeKnown(start int64, k *keptWindow) error {
	if err := memory.Of(r.ctx).Take(k.bytes); err != nil {
		return err
	}
	end := start + windowMillis - 1
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Kept++
	r.report.Lost += k.lost
	r.times[start] = k.times
	r.parts[start] = inRange(k.series, max(r.from, start), min(r.to, end), start, end)
	return nil
}

// inRange returns the values from from to to, both inclusive, of series that have some from first to
// last. The list is the caller's.
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
