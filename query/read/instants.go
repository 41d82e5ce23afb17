package read

import (
	"context"
	"math"
	"sync"

	"github.com/prometheus/prometheus/model/labels"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/share"
	"github.com/ringwatch/ringwatch/window"
)

// When nodes were heard of, over time, is what their own series are made of: up, and when each was
// last seen. It is asked of all nodes at once, and a question that has been asked before reads
// nothing for a node. What is older than Sources.Settles is kept by node and hour (instantsHour).
// Of what is newer the recent source tells in two requests for all nodes. Only of a node of which
// that does not know all, as after its agent began anew, frames are read.

// instantsAtOnce is how many nodes one goroutine looks at: a kept one takes some microseconds.
const instantsAtOnce = 32

// anyCluster says of every cluster that it is meant: a node's older frames may be of another one.
func anyCluster(string) bool { return true }

// noSeries selects nothing but the instants of frames.
var noSeries = [][]*labels.Matcher{{labels.MustNewMatcher(labels.MatchEqual, labels.MetricName,
	"")}}

// instantsQuery asks when nodes sent frames. Times are in ms.
type instantsQuery struct {
	reader   *Reader
	account  string
	nodes    []window.Node
	from, to int64
	now      int64
	settled  int64 // what is before it is kept
	still    unchanged

	opens  []int64   // by node: from when on the recent source was asked
	recent [][]int64 // by node: what it said
	whole  []bool    // by node: it said all
}

// Instants calls take with the instants, ascending and in ms, at which each of the nodes sent
// frames from from to to, or with the error for which that is not known; side by side, each for
// one node. Instants are not to be used after that. missing says in words what may be missing.
// Nodes come by cluster. The error is the context's, or one of take's.
func (r *Reader) Instants(
	ctx context.Context, account string, nodes []window.Node, from, to int64,
	take func(i int, instants []int64, err error) error,
) (missing []string, err error) {
	h := &instantsQuery{reader: r, account: account, nodes: nodes, from: from, to: to,
		now: r.source.config.Clock().UnixMilli(), settled: math.MinInt64}
	if r.instants.Keeps() && r.source.sources.Unchanged != nil {
		// Windows that were closed by now: each lasts so long, and settles as long after its begin.
		h.settled = frame.WindowMillis +
			frame.WindowOf(h.now-r.source.sources.Settles.Milliseconds())
		h.still = unchanged{ask: func(began int64) bool {
			unchanged, err := r.source.sources.Unchanged(ctx, account, anyCluster, began)
			return unchanged && err == nil
		}}
	}
	h.askRecent(ctx)
	var mu sync.Mutex
	lacks := func(list []string) {
		mu.Lock()
		defer mu.Unlock()
		missing = AppendMissing(missing, list)
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(RangesAtOnce)
	for first := 0; first < len(nodes); first += instantsAtOnce {
		g.Go(func() error {
			var instants []int64
			for i := first; i < min(first+instantsAtOnce, len(nodes)); i++ {
				if err := gctx.Err(); err != nil {
					return err
				}
				var failed error
				instants, failed = h.node(gctx, i, instants[:0], lacks)
				if err := take(i, instants, failed); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return missing, ctx.Err()
}

// askRecent asks the recent source for what the store may not have in columns yet, or for all if
// it reaches so far back.
func (h *instantsQuery) askRecent(ctx context.Context) {
	n := len(h.nodes)
	h.opens, h.recent, h.whole = make([]int64, n), make([][]int64, n), make([]bool, n)
	if h.reader.source.sources.Recent == nil {
		return
	}
	ids, known := h.reader.source.touch(h.account, h.nodes), 0
	defer func() {
		h.reader.source.metrics.reads.WithLabelValues("heard",
			fromRecent).Add(float64(known))
	}()
	for i := 0; i < n; {
		open := h.openFrom(ctx, h.nodes[i].Cluster)
		first := i
		for ; i < n; i++ { // one request for clusters of which the same is asked
			if i > first && h.nodes[i].Cluster != h.nodes[i-1].Cluster &&
				h.openFrom(ctx, h.nodes[i].Cluster) != open {
				break
			}
			h.opens[i] = open
		}
		if h.to < open {
			continue
		}
		instants, whole, err := h.reader.source.sources.Recent.Instants(ctx, h.account,
			ids[first:i], open,
			h.to)
		if err != nil {
			continue // each node's own reading counts it
		}
		copy(h.recent[first:], instants)
		copy(h.whole[first:], whole)
		for _, all := range whole {
			if all {
				known++
			}
		}
	}
}

// openFrom returns from when on the recent source is asked.
func (h *instantsQuery) openFrom(ctx context.Context, cluster string) int64 {
	open := h.reader.source.recentFrom(ctx, h.account, cluster, h.from)
	if h.settled != math.MinInt64 && open > h.from {
		open = max(min(open, h.settled), h.now-h.reader.source.config.RecentSpan.Milliseconds())
	}
	return open
}

// node appends the instants of a node.
func (h *instantsQuery) node(
	ctx context.Context, i int, instants []int64, lacks func([]string),
) ([]int64, error) {
	n := &h.nodes[i]
	open := h.opens[i]
	if h.reader.source.sources.Recent == nil || h.to < open {
		return h.stored(ctx, n, h.from, h.to, instants, lacks)
	}
	if open > h.from {
		var err error
		if instants, err = h.stored(ctx, n, h.from, open-1, instants, lacks); err != nil {
			return instants, err
		}
	}
	if h.whole[i] {
		return append(instants, h.recent[i]...), nil
	}
	within, end := h.reader.Shared.Part(ctx)
	defer end()
	windows, err := h.reader.Windows(within, h.account, n, open, h.to, nil, noSeries)
	if err != nil {
		return instants, err
	}
	lacks(windows.Missing)
	return append(instants, windows.Instants...), nil
}

// stored appends those of a node's instants that the store has. What is settled of them is kept.
func (h *instantsQuery) stored(
	ctx context.Context, n *window.Node, from, to int64, instants []int64, lacks func([]string),
) ([]int64, error) {
	if until := min(to+1, h.settled); from < until {
		blocks, err := h.blocks(ctx, n, from, until, lacks)
		if err != nil {
			return instants, err
		}
		for _, b := range blocks {
			instants = b.appendTo(instants, from, until)
		}
		from = until
	}
	if from > to {
		return instants, nil
	}
	err := h.read(ctx, "young", n, from, to, func(read *instantsRead) {
		lacks(read.missing)
		instants = append(instants, read.instants...)
	})
	return instants, err
}

// instantsRead is a reading of a node's instants.
type instantsRead struct {
	instants []int64
	missing  []string
	began    int64
}

// read reads a node's instants of the store, and lets use look at them. Questions that want the
// same share one reading; what says whether it is to be settled.
func (h *instantsQuery) read(
	ctx context.Context, what string, n *window.Node, from, to int64, use func(*instantsRead),
) error {
	q := rangeRead{from: from, to: to, selectors: noSeries}
	within, end := h.reader.Shared.Part(ctx)
	defer end()
	read, err := share.Read(within, h.reader.Shared, h.account, readingKey(what, h.account, n, q),
		func(ctx context.Context) (*instantsRead, error) {
			read := instantsRead{began: h.reader.source.config.Clock().UnixMilli()}
			w, err := h.reader.ranges.storeRange(ctx, h.account, n, q)
			h.reader.source.metrics.reads.WithLabelValues("heard", fromStore).Inc()
			read.instants, read.missing = w.Instants, w.Missing
			return &read, err
		})
	if err == nil {
		use(read)
	}
	return err
}

// blocks returns what is known of a node's hours that have instants from ≤ t < until, all of which
// is settled; and reads what is not kept of it, at once.
func (h *instantsQuery) blocks(
	ctx context.Context, n *window.Node, from, until int64, lacks func([]string),
) ([]*instantsHour, error) {
	first := hourOf(from)
	blocks := make([]*instantsHour, 0, (until-first)/hourMillis+1)
	begin, end := int64(math.MaxInt64), int64(math.MinInt64) // of what is to be read
	for hour := first; hour < until; hour += hourMillis {
		b := h.reader.instants.Get(hourKey{h.account, n.ID, hour})
		if b != nil && !h.still.since(b.began) {
			b = nil
		}
		blocks = append(blocks, b)
		needed := min(hour+hourMillis, until)
		if b == nil {
			begin, end = min(begin, hour), needed
		} else if b.until < needed {
			begin, end = min(begin, b.until), needed
		}
	}
	if begin >= end {
		return blocks, nil
	}
	err := h.read(ctx, "heard", n, begin, end-1, func(read *instantsRead) {
		lacks(read.missing)
		for i := range blocks {
			hour := first + int64(i)*hourMillis
			if hour+hourMillis <= begin || hour >= end {
				continue
			}
			blocks[i] = blocks[i].extended(hour, max(hour, begin), min(hour+hourMillis, end),
				read.began, read.instants)
			if len(read.missing) == 0 {
				h.reader.instants.Put(hourKey{h.account, n.ID, hour}, blocks[i])
			}
		}
	})
	return blocks, err
}

// unchanged remembers since when nothing settled has changed. It is for many goroutines.
type unchanged struct {
	ask func(began int64) bool

	mu sync.Mutex
	// the earliest known instant since which nothing has, and the latest since which something has
	yes, no int64
	known   bool // yes and no are set
}

// since reports whether nothing has changed since a reading that began at an instant, in ms.
func (u *unchanged) since(began int64) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.known {
		u.yes, u.no, u.known = math.MaxInt64, math.MinInt64, true
	}
	if began > u.no && began < u.yes {
		if u.ask(began) {
			u.yes = began
		} else {
			u.no = began
		}
	}
	return began >= u.yes
}
