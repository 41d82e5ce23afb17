package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// owned returns the partitions that records were handled of.
func (c *Consumer) owned() []int32 {
	var list []int32
	for p := range c.parts {
		list = append(list, p)
	}
	return list
}

// commit tells Kafka where to go on after us in the given partitions: at the oldest record that the handler still needs, else after the last
// handled one. A failure is logged: the next commit makes up for it.
func (c *Consumer) commit(ctx context.Context, partitions []int32) {
	offsets := map[int32]kgo.EpochOffset{}
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
			offsets[p] = kgo.EpochOffset{Epoch: -1, Offset: at}
		}
	}
	if len(offsets) == 0 {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	var failed error
	c.client.CommitOffsetsSync(bounded, map[string]map[int32]kgo.EpochOffset{c.config.Stream.Topic: offsets},
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, answer *kmsg.OffsetCommitResponse, err error) {
			if err != nil {
				failed = err
				return
			}
			for _, t := range answer.Topics {
				for _, p := range t.Partitions {
					if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
						failed = err
					} else if known := c.parts[p.Partition]; known != nil {
						known.committed = offsets[p.Partition].Offset
						c.walked.Store(p.Partition, true)
					}
				}
			}
		})
	if failed != nil && ctx.Err() == nil {
		c.metrics.commitErrors.Inc()
		c.log.Warn("offsets could not be committed; the next commit includes them", "error", failed)
	}
}

// giveBack ends what we have to do with partitions: what is pending of them is dropped (the next owner reads it again), what is done is committed
// if we still may, and the handler forgets them. The client calls it while it holds the gate.
func (c *Consumer) giveBack(ctx context.Context, client *kgo.Client, partitions []int32, mayCommit bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client != client || len(partitions) == 0 {
		return // a client that we have left behind, or a rebalance that takes nothing
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
		c.handler.Revoke(p)
		delete(c.parts, p)
		delete(c.fetched, p)
		c.progress.forget(p)
		c.metrics.lag.DeleteLabelValues(partitionLabel(p))
	}
}

// leave gives everything back and ends the client. Other members take over at once.
func (c *Consumer) leave(client *kgo.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	client.AllowRebalance()
	if err := client.LeaveGroupContext(ctx); err != nil {
		c.log.Warn("this consumer could not leave its group; others take over after the session timeout", "error", err)
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
	c.client, c.parts, c.pending = nil, nil, nil
	c.mu.Unlock()
	client.Close()
}

// notOlder moves the start of newly assigned partitions forward to MaxAge ago.
func (c *Consumer) notOlder(ctx context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	return c.adjust(ctx, offsets, c.now().Add(-c.config.MaxAge), func(_ int32, committed, then int64) bool { return then > committed })
}

// walkBack moves the start of partitions to From, unless they have been walked.
func (c *Consumer) walkBack(ctx context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	return c.adjust(ctx, offsets, c.config.From, func(p int32, committed, then int64) bool {
		_, walked := c.walked.Load(p)
		if !walked {
			c.log.Info("walks back", "partition", p, "from", c.config.From, "offset", then, "committed", committed)
		}
		return !walked
	})
}

// adjust moves the start of newly assigned partitions to the first record at or after t, where want says so.
func (c *Consumer) adjust(ctx context.Context, offsets map[string]map[int32]kgo.Offset, t time.Time, want func(partition int32, committed, then int64) bool) (map[string]map[int32]kgo.Offset, error) {
	topic := c.config.Stream.Topic
	c.mu.Lock()
	client := c.client
	c.mu.Unlock()
	if client == nil {
		return nil, errors.New("stream: the client is not ready yet") // the group joins again
	}
	if len(offsets[topic]) == 0 {
		return offsets, nil
	}
	bounded, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	listed, err := kadm.NewClient(client).ListOffsetsAfterMilli(bounded, t.UnixMilli(), topic)
	if err != nil {
		return nil, fmt.Errorf("stream: cannot find where %s is: %w", t.UTC().Format(time.RFC3339), err)
	}
	for p, committed := range offsets[topic] {
		if l, ok := listed.Lookup(topic, p); ok && l.Err == nil && want(p, committed.EpochOffset().Offset, l.Offset) {
			offsets[topic][p] = kgo.NewOffset().At(l.Offset).WithEpoch(-1)
		}
	}
	return offsets, nil
}
