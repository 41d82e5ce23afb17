package rules

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sort"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/stream"
)

// partition is the clusters of one partition of the stream.
type partition struct {
	id       int32
	clusters map[clusterKey]*cluster
	marks    []mark // ascending; where records of a time are
	newest   time.Time
}

type clusterKey struct{ account, cluster string }

// mark says that records from an offset on were taken by ingest at a time or later.
type mark struct {
	offset   int64
	received int64 // ms
}

// markEvery is how far apart marks are.
const markEvery = 5 * time.Second

// Assign implements stream.Assigner: of a cluster that is silent altogether no record may come, and
// its alerts are to go on all the same.
func (r *Rules) Assign(id int32) { r.assigned[id] = true }

// Handle implements stream.Handler: it enters frames.
func (r *Rules) Handle(ctx context.Context, records []stream.Record) error {
	byCluster := map[*cluster][]stream.Record{}
	for _, rec := range records {
		if (rec.Cluster == frame.EveryCluster) != r.deps.Every {
			continue // what rules over all clusters recorded
		}
		p, err := r.partition(ctx, rec.Partition)
		if err != nil {
			return err
		}
		p.mark(&rec)
		c, err := r.cluster(p, rec.Account, rec.Cluster)
		if err != nil {
			return err
		}
		byCluster[c] = append(byCluster[c], rec)
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for c, list := range byCluster {
		g.Go(func() error {
			for i := range list {
				if err := c.takeFrame(&list[i]); err != nil {
					r.metrics.unread.Inc()
					c.log.Debug("a frame cannot be read", "error", err)
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// partition returns a partition, with what is known of its clusters.
func (r *Rules) partition(ctx context.Context, id int32) (*partition, error) {
	if p := r.partitions[id]; p != nil {
		return p, nil
	}
	p := &partition{id: id, clusters: map[clusterKey]*cluster{}}
	if r.deps.Load != nil {
		states, err := r.deps.Load(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("rules: what alerts there were in partition %d: %w", id, err)
		}
		for i := range states {
			if len(states[i].Groups) == 0 ||
				(states[i].Cluster == frame.EveryCluster) != r.deps.Every {
				continue
			}
			c, err := r.cluster(p, states[i].Account, states[i].Cluster)
			if err != nil {
				return nil, err
			}
			c.restore(&states[i])
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.partitions[id] = p
	delete(r.lost, id) // they are among the states
	return p, nil
}

func (r *Rules) cluster(p *partition, account, cluster string) (*cluster, error) {
	key := clusterKey{account, cluster}
	if c := p.clusters[key]; c != nil {
		return c, nil
	}
	c, err := r.newCluster(account, cluster, p.id)
	if err != nil {
		return nil, errors.Join(stream.ErrFatal, err)
	}
	p.clusters[key] = c
	return c, nil
}

func (p *partition) mark(rec *stream.Record) {
	if rec.Received.After(p.newest) {
		p.newest = rec.Received
	}
	at := p.newest.UnixMilli()
	if n := len(p.marks); n == 0 || at-p.marks[n-1].received >= markEvery.Milliseconds() {
		p.marks = append(p.marks, mark{rec.Offset, at})
	}
}

// evaluableUntil returns up to when evaluation may go, in ms; 0 if that is not known.
func (r *Rules) evaluableUntil(p *partition, now time.Time) int64 {
	var t time.Time
	if r.deps.Through != nil {
		t, _ = r.deps.Through(p.id)
	}
	if now.Before(t) {
		t = now
	}
	if t.IsZero() {
		return 0
	}
	delay := r.config.Delay
	if r.deps.Every { // clusters are evaluated first
		delay *= 2
	}
	return t.Add(-delay).UnixMilli()
}

// saveEvery is how often the state is written down while nothing important happens.
const saveEvery = 20 * time.Second

// Tick implements stream.Handler: it evaluates what is due, publishes what was recorded and writes
// down what has to survive.
func (r *Rules) Tick(ctx context.Context, now time.Time) error {
	r.resendLost(ctx, now)
	before := r.files.version
	if r.files.look(now); r.files.version != before && before > 0 && r.outdated() {
		if err := r.keepRoster(ctx, now); err != nil {
			return err
		}
		if err := r.save(ctx, now, true); err != nil {
			return err
		}
		return fmt.Errorf("%w: the rules have changed", stream.ErrAgain)
	}
	for id := range r.assigned {
		if _, err := r.partition(ctx, id); err != nil {
			return err
		}
	}
	var since, until time.Time
	if r.deps.Pulse != nil {
		since, until = r.deps.Pulse()
	}
	listening := read.Listening{Since: millis(since)}
	if r.deps.Away != nil {
		listening.Away = r.deps.Away()
	}
	halted := !since.IsZero() && now.Sub(since) < r.config.Settle
	evaluating, cancel := evaluationTime(ctx)
	defer cancel()
	g, gctx := errgroup.WithContext(evaluating)
	g.SetLimit(runtime.GOMAXPROCS(0))
	series, clusters, behind := 0, 0, 0.0
	for _, p := range r.partitions {
		limit := r.evaluableUntil(p, now)
		if r.deps.Pulse != nil {
			limit = min(limit, millis(until))
		}
		for _, c := range p.clusters {
			clusters, series = clusters+1, series+c.head.count
			if limit == 0 || halted {
				c.resendFiring(ctx, now)
				continue
			}
			c.members.listening = listening
			g.Go(func() error {
				c.evaluateDue(gctx, limit)
				return nil
			})
		}
	}
	_ = g.Wait()
	for _, p := range r.partitions {
		for _, c := range p.clusters {
			for _, g := range c.groups {
				if g.evaluated > 0 {
					behind = max(behind, float64(now.UnixMilli()-g.next)/1000)
				}
			}
			if millis(now)-limitOf(c) > 2*r.config.ResendDelay.Milliseconds() {
				c.resendFiring(ctx, now)
			}
		}
	}
	r.metrics.series.Set(float64(series))
	r.metrics.clusters.Set(float64(clusters))
	r.metrics.behind.Set(behind)
	if err := r.keepRoster(ctx, now); err != nil {
		return err
	}
	if err := r.publish(ctx); err != nil {
		return err
	}
	return r.save(ctx, now, false)
}

// evaluationTime returns a context that ends after two thirds of the time that is left: what was
// evaluated is published and written down in the rest.
func evaluationTime(ctx context.Context) (context.Context, context.CancelFunc) {
	end, bounded := ctx.Deadline()
	if !bounded {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(end)*2/3)
}

// limitOf returns the instant of a cluster's newest evaluation, in ms.
func limitOf(c *cluster) int64 {
	newest := int64(0)
	for _, g := range c.groups {
		newest = max(newest, g.evaluated)
	}
	return newest
}

// outdated reports whether any cluster's rules are not those of the files any more.
func (r *Rules) outdated() bool {
	for _, p := range r.partitions {
		for _, c := range p.clusters {
			if set, _ := r.files.of(c.account); set != c.set {
				return true
			}
		}
	}
	return false
}

// publish puts what was recorded into the stream. What Kafka does not take stays, in order.
func (r *Rules) publish(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(64)
	waiting := 0
	for _, p := range r.partitions {
		for _, c := range p.clusters {
			if len(c.out) == 0 {
				continue
			}
			g.Go(func() error {
				for len(c.out) > 0 {
					o := c.out[0]
					if o.stored {
						if err := r.deps.Publish(gctx, c.account, c.name, o.bytes); err != nil {
							return err
						}
					}
					if o.forward && r.deps.Forward != nil {
						if err := r.deps.Forward(gctx, c.account, o.bytes); err != nil {
							return err
						}
					}
					c.out = c.out[1:]
					r.metrics.published.Inc()
				}
				return nil
			})
		}
	}
	err := g.Wait()
	for _, p := range r.partitions {
		for _, c := range p.clusters {
			waiting += len(c.out)
		}
	}
	r.metrics.pending.Set(float64(waiting))
	return err
}

// save writes down the states that have changed: at once where an alert has, else now and then.
func (r *Rules) save(ctx context.Context, now time.Time, all bool) error {
	if r.deps.Save == nil {
		return nil
	}
	for _, p := range r.partitions {
		for _, c := range p.clusters {
			if c.gone && len(c.out) == 0 && len(c.members.records) == 0 {
				if err := r.deps.Save(ctx, p.id, State{Account: c.account, Cluster: c.name}); err !=
					nil {
					return fmt.Errorf("rules: forget the state of %s: %w", c.name, err)
				}
				c.release()
				delete(p.clusters, clusterKey{c.account, c.name})
				continue
			}
			due := now.UnixMilli()-c.saved >= saveEvery.Milliseconds()
			if len(c.out) > 0 || !c.changed || !(c.urgent || due || all) {
				continue
			}
			low := c.lowWater()
			if err := r.deps.Save(ctx, p.id, c.state()); err != nil {
				return fmt.Errorf("rules: write down the state of %s: %w", c.name, err)
			}
			c.saved, c.savedLow, c.changed, c.urgent = now.UnixMilli(), low, false, false
		}
	}
	return nil
}

// LowWater implements stream.Handler.
func (r *Rules) LowWater(id int32) (int64, bool) {
	p := r.partitions[id]
	if p == nil || len(p.marks) == 0 {
		return 0, false
	}
	low := p.newest.UnixMilli()
	for _, c := range p.clusters {
		if c.head.scope.keep == 0 || len(c.groups) == 0 {
			continue
		}
		of := c.savedLow
		if of == 0 {
			of = p.newest.Add(-c.head.scope.keep).UnixMilli() - frame.WindowMillis
		}
		low = min(low, of)
	}
	// The last mark before it; older ones are needed no more.
	i := sort.Search(len(p.marks), func(i int) bool { return p.marks[i].received > low })
	if i > 0 {
		p.marks = slices.Delete(p.marks, 0, i-1)
	}
	return p.marks[0].offset, true
}

// Revoke implements stream.Handler.
func (r *Rules) Revoke(id int32) {
	delete(r.assigned, id)
	p := r.partitions[id]
	if p == nil {
		return
	}
	for _, c := range p.clusters {
		c.release()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.partitions, id)
}
