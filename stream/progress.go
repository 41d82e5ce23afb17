package stream

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Progress says up to when everything that Publish has acknowledged has had its effect.
type Progress struct {
	// Through is a time by partition: records that the engine had by then have been handled.
	// Partitions of which this consumer cannot say anything are not in it.
	Through map[int32]time.Time
	// Partitions is how many the topic has.
	Partitions int
}

// publishedApart is how far apart the times may be at which ingest took two neighbours of a
// partition: several processes publish there, and each tries for publish_timeout.
const publishedApart = 5 * time.Second

// progress is what a consumer has handled, for who asks beside it.
type progress struct {
	mu    sync.Mutex
	parts map[int32]reached
}

type reached struct {
	// offset after the last handled record; -1: none was since the partition became ours
	next    int64
	through time.Time // see Progress.Through; zero: not known
}

// assigned notes that a partition is ours now.
func (p *progress) assigned(partition int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.parts[partition] = reached{next: -1}
}

// handled notes that all records of a partition before an offset are handled, of which the last one
// was taken by ingest at a time; zero: not known.
func (p *progress) handled(partition int32, next int64, last time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, ours := p.parts[partition]
	if !ours {
		return
	}
	r.next = next
	if t := last.Add(-publishedApart); !last.IsZero() && t.After(r.through) {
		r.through = t
	}
	p.parts[partition] = r
}

func (p *progress) forget(partition int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.parts, partition)
}

// Progress asks the engine where the partitions end, and compares that with what has been
// handled. It may be called beside Run. What it says stays true, whoever has the partition later.
func (c *Consumer) Progress(ctx context.Context) (Progress, error) {
	c.mu.Lock()
	member := c.member
	c.mu.Unlock()
	if member == nil {
		return Progress{}, nil // between two sessions
	}
	began := c.now()
	bounded, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	ends, err := member.Ends(bounded)
	if err != nil {
		return Progress{}, fmt.Errorf("stream: cannot find where the partitions of %s end: %w",
			c.config.Topic, err)
	}
	p := Progress{Through: map[int32]time.Time{}, Partitions: len(ends)}
	committed := member.Committed()
	c.progress.mu.Lock()
	defer c.progress.mu.Unlock()
	for partition, end := range ends {
		r, ours := c.progress.parts[partition]
		if !ours || end < 0 {
			continue
		}
		// All before what is committed has been handled, by whoever had the partition.
		if max(r.next, committed[partition]) >= end && began.After(r.through) {
			r.through = began
			c.progress.parts[partition] = r
		}
		if !r.through.IsZero() {
			p.Through[partition] = r.through
		}
	}
	return p, nil
}
