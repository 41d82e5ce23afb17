package recent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/stream"
)

// Again reads records of the log again, as stream.Again does.
type Again func(ctx context.Context, w stream.Walk, f func([]stream.Record) error) error

// againTimeout bounds one reading of a partition: 15 minutes of 600 busy nodes are some 100 MB.
const againTimeout = 2 * time.Minute

// clockSlack is how much the clocks of our own machines may differ, in ms.
const clockSlack = 10_000

// maxPause is the longest pause between readings that fail.
const maxPause = time.Minute

// clusterState is what the writer knows of one active cluster. Its frames are written from the
// moment it is known, so what may be missing in Redis is a range of offsets that lies behind.
type clusterState struct {
	partition int32
	next      int64    // the offset after its newest record
	asked     bool     // its mark was looked for
	behind    bool     // from and to say what is missing
	from, to  int64    // offsets; from -1: from Config.Keep ago
	reading   bool     // what was behind is being read
	view      *logView // what the log says from some offset on up to next
	quiet     bool     // Redis has no starts of its nodes, neither ours nor an earlier writer's
}

// observe adds a record to the logView of its cluster, whether it is written or not.
func (c *clusters) observe(r *stream.Record, h *frame.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := c.warm[clusterKey(r.Account, r.Cluster)]
	if state == nil || state.partition != r.Partition {
		return
	}
	state.next = r.Offset + 1
	c.see(state.view, h)
}

// see adds a frame to a logView, and gives that up if there are too many nodes.
func (c *clusters) see(v *logView, h *frame.Header) {
	before := len(v.nodes)
	v.add(h)
	if c.seen += len(v.nodes) - before; c.seen > maxSeenNodes {
		c.seen -= len(v.nodes)
		*v = logView{since: never}
	}
}

// addGap adds offsets that Redis lacks.
func (c *clusterState) addGap(from, to int64) {
	if c.behind {
		from, to = min(from, c.from), max(to, c.to)
	}
	c.behind, c.from, c.to = true, from, to
}

// clusters are the clusters of a writer's partitions that are read by somebody.
type clusters struct {
	mu     sync.Mutex
	active map[string]bool // by clusterKey; nil: not known yet
	warm   map[string]*clusterState
	seen   int           // nodes in all views, counted anew by each refresh
	wake   chan struct{} // something is behind, or new
}

func newClusters() *clusters {
	return &clusters{warm: map[string]*clusterState{}, wake: make(chan struct{}, 1)}
}

func (c *clusters) wakeRun() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// admit reports whether a record is to be written. known is false as long as nobody could say.
// now is in ms.
func (c *clusters) admit(cluster string, r *stream.Record, h *frame.Header, now int64) (wanted,
	known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.active != nil && !c.active[cluster] {
		return false, true
	}
	state := c.warm[cluster]
	if state == nil || state.partition != r.Partition {
		// All records before this one came before now, and their frames are at most maxAhead ahead.
		state = &clusterState{partition: r.Partition, view: newLogView(now + maxAhead + clockSlack)}
		c.warm[cluster] = state
		c.see(state.view, h)
		c.wakeRun()
	}
	state.next = r.Offset + 1
	return true, c.active != nil
}

// lost says that a record did not get into Redis.
func (c *clusters) lost(r *stream.Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state := c.warm[clusterKey(r.Account, r.Cluster)]; state != nil &&
		state.partition == r.Partition {
		state.addGap(r.Offset, r.Offset+1)
	}
}

func (c *clusters) revoke(partition int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for cluster, state := range c.warm {
		if state.partition == partition {
			delete(c.warm, cluster)
		}
	}
}

// Run learns every Refresh which clusters are read, and brings those that have just become so up
// to date, until ctx ends. Beside it the consumer calls Handle.
func (w *Writer) Run(ctx context.Context) error {
	if w.config.ActiveFor == 0 {
		<-ctx.Done()
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		every := time.NewTicker(w.config.Refresh)
		defer every.Stop()
		for ctx.Err() == nil {
			w.refresh(ctx)
			select {
			case <-ctx.Done():
			case <-every.C:
			case <-w.clusters.wake:
			}
		}
		return nil
	})
	g.Go(func() error { w.catchUp(ctx); return nil })
	return g.Wait()
}

// refresh takes the active clusters from Redis, and finds out which of ours are not whole there.
// What fails is tried again the next time.
func (w *Writer) refresh(ctx context.Context) {
	call, cancel := within(ctx, w.config.WriteTimeout)
	defer cancel()
	if err := w.refreshOnce(call); err != nil {
		w.metrics.refreshFailures.Inc()
	}
	w.metrics.memory.set(w.backend.memoryUsage(call))
}

func (w *Writer) refreshOnce(ctx context.Context) error {
	active, err := w.readActive(ctx)
	if err != nil {
		return err
	}
	c := w.clusters
	c.mu.Lock()
	c.active = active
	var ours, left []string
	for cluster := range c.warm {
		if active[cluster] {
			ours = append(ours, cluster)
		} else {
			left = append(left, cluster)
			delete(c.warm, cluster)
		}
	}
	c.mu.Unlock()
	w.metrics.active.Set(float64(len(ours)))
	if err := w.setMarks(ctx, left, false); err != nil {
		return err
	}
	there, err := w.renewMarks(ctx, ours)
	if err != nil {
		return err
	}
	behind := false
	c.mu.Lock()
	for i, cluster := range ours {
		state := c.warm[cluster]
		if state == nil {
			continue // revoked meanwhile
		}
		// Without a mark nobody has kept it up to now, or Redis has lost all it had. Records
		// after next are written by us.
		if !there[i] && !state.reading {
			state.addGap(-1, state.next)
		}
		state.asked = true
		behind = behind || state.behind
	}
	c.mu.Unlock()
	if behind {
		select {
		case w.behind <- struct{}{}:
		default:
		}
	}
	return w.tellStarts(ctx, ours)
}

// catchUp reads again what is missing, a partition after the other.
func (w *Writer) catchUp(ctx context.Context) {
	pause := w.config.Refresh
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.behind:
		}
		if err := w.readBehind(ctx); err == nil {
			pause = w.config.Refresh
			continue
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		pause = min(2*pause, maxPause)
	}
}

// gap is what is missing of some clusters of a partition.
type gap struct {
	from, to int64
	of       map[string]*clusterState
	was      map[string]clusterState
	views    map[string]*logView // what is read of those whose last minutes are read
}

// known reports whether Redis has said which clusters are read.
func (c *clusters) known() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.active != nil
}

// gaps takes all that is behind, by partition. What is read of the last minutes ends where the
// cluster's view begins anew, so that both together miss nothing. now is in ms.
func (c *clusters) gaps(now int64) map[int32]*gap {
	c.mu.Lock()
	defer c.mu.Unlock()
	gaps := map[int32]*gap{}
	for cluster, state := range c.warm {
		if !state.behind || !state.asked {
			continue
		}
		g := gaps[state.partition]
		if g == nil {
			g = &gap{from: state.from, to: state.to, of: map[string]*clusterState{},
				was: map[string]clusterState{}, views: map[string]*logView{}}
			gaps[state.partition] = g
		}
		if state.from < 0 {
			state.to, state.view = state.next, newLogView(now+maxAhead+clockSlack)
		}
		g.from, g.to = min(g.from, state.from), max(g.to, state.to)
		g.of[cluster], g.was[cluster] = state, *state
		state.behind, state.reading = false, true
	}
	return gaps
}

func (w *Writer) readBehind(ctx context.Context) error {
	var failed error
	for partition, g := range w.clusters.gaps(w.config.millis()) {
		err := w.readGap(ctx, partition, g)
		result := "done"
		if err != nil {
			result, failed = "failed", err
		}
		w.metrics.walks.WithLabelValues(result).Inc()
		w.clusters.mu.Lock()
		for cluster, state := range g.of {
			state.reading = false
			if was := g.was[cluster]; err != nil {
				state.addGap(was.from, was.to)
			} else if v := g.views[cluster]; v != nil && was.view == state.view {
				state.view.join(v)
			}
		}
		w.clusters.mu.Unlock()
		if err == nil {
			w.clusters.wakeRun() // the starts that are known now are told
		}
	}
	return failed
}

func (w *Writer) readGap(ctx context.Context, partition int32, g *gap) error {
	ctx, cancel := context.WithTimeout(ctx, againTimeout)
	defer cancel()
	wanted := func(account, cluster string) bool {
		return g.of[clusterKey(account, cluster)] != nil
	}
	// From a window's beginning: without its key frame the rest of it could not be read.
	oldest := frame.WindowOf(w.config.millis() - w.config.Keep.Milliseconds())
	for cluster, was := range g.was {
		if was.from < 0 {
			g.views[cluster] = newLogView(oldest)
		}
	}
	walk := stream.Walk{Partition: partition, Offset: g.from, Until: g.to, Wanted: wanted,
		Since: time.UnixMilli(oldest - maxAhead - clockSlack)}
	err := w.again(ctx, walk, func(records []stream.Record) error {
		w.clusters.look(g, records)
		batch, _ := w.entries(records, oldest, nil)
		deadline, cancel := within(ctx, w.config.WriteTimeout)
		defer cancel()
		failed := errors.Join(w.backend.put(deadline, batch, w.config.Keep)...)
		if failed == nil {
			w.metrics.walked.Add(float64(len(batch)))
		}
		return failed
	})
	if err != nil {
		return fmt.Errorf("recent: the last minutes of %d clusters could not be read again: %w",
			len(g.of), err)
	}
	names := make([]string, 0, len(g.of))
	for cluster := range g.of {
		names = append(names, cluster)
	}
	deadline, cancel := within(ctx, w.config.WriteTimeout)
	defer cancel()
	return w.setMarks(deadline, names, true)
}

// look adds records that are read again to what is known of their clusters.
func (c *clusters) look(g *gap, records []stream.Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range records {
		r := &records[i]
		cluster := clusterKey(r.Account, r.Cluster)
		v := g.views[cluster]
		if v == nil || r.Offset >= g.was[cluster].to {
			continue // the cluster's own view has those
		}
		if h, _, err := frame.Parse(r.Value); err == nil {
			c.see(v, &h)
		}
	}
}
