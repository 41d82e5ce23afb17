package stream

import (
	"context"
	"slices"
)

// owned returns the partitions that records were handled of.
func (c *Consumer) owned() []int32 {
	var list []int32
	for p := range c.parts {
		list = append(list, p)
	}
	return list
}

// commit tells the group where to go on after us in the given partitions: at the oldest record
// that the handler still needs, else after the last handled one. A failure is logged: the next
// commit makes up for it.
func (c *Consumer) commit(ctx context.Context, partitions []int32) {
	offsets := map[int32]int64{}
	for _, p := range partitions {
		known := c.parts[p]
		if known == nil {
			continue // nothing handled, so what is committed is right
		}
		at := known.next
		if low, ok := c.handler.LowWater(p); ok {
			at = min(low, at)
		}
		if at != known.committed {
			offsets[p] = at
		}
	}
	if len(offsets) == 0 {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	kept, failed := c.member.Commit(bounded, offsets)
	for _, p := range kept {
		if known := c.parts[p]; known != nil {
			known.committed = offsets[p]
			c.walked.Store(p, true)
		}
	}
	if failed != nil && ctx.Err() == nil {
		c.metrics.commitErrors.Inc()
		c.log.Warn("offsets could not be committed; the next commit includes them", "error", failed)
	}
}

// giveBack ends what we have to do with partitions: what is pending of them is dropped (the next
// owner reads it again), what is done is committed if we still may, and the handler forgets them.
// The engine calls it while it holds the gate.
func (c *Consumer) giveBack(ctx context.Context, m Member, partitions []int32, mayCommit bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.member != m || len(partitions) == 0 {
		return // a member that we have left behind, or a rebalance that takes nothing
	}
	before := len(c.pending)
	// A new slice: the handler may have kept the old one.
	var rest []Record
	for _, r := range c.pending {
		if !slices.Contains(partitions, r.Partition) {
			rest = append(rest, r)
		}
	}
	c.pending = rest
	c.metrics.dropped.WithLabelValues("returned").Add(float64(before - len(rest)))
	c.metrics.waiting(rest)
	if mayCommit {
		c.commit(ctx, partitions)
	}
	for _, p := range partitions {
		if l, wants := c.handler.(Loser); wants && !mayCommit {
			l.Lose(p)
		} else {
			c.handler.Revoke(p)
		}
		delete(c.parts, p)
		delete(c.fetched, p)
		c.progress.forget(p)
		c.metrics.lag.DeleteLabelValues(partitionLabel(p))
	}
}

// leave gives everything back and ends the member. Others take over at once.
func (c *Consumer) leave(m Member) {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	m.Allow()
	if err := m.Leave(ctx); err != nil {
		c.log.Warn("this consumer could not leave its group; others take over after the session "+
			"timeout", "error", err)
	}
	c.mu.Lock()
	// Usually nothing is left by now: leaving gave it back.
	for _, p := range c.owned() {
		c.handler.Revoke(p)
		c.progress.forget(p)
		c.metrics.lag.DeleteLabelValues(partitionLabel(p))
	}
	c.metrics.dropped.WithLabelValues("returned").Add(float64(len(c.pending)))
	c.metrics.waiting(nil)
	c.member, c.parts, c.pending = nil, nil, nil
	c.mu.Unlock()
}
