// Package send brings frames to ingest: at once if it takes them, later if it is away. Begin with
// Sender, or with Client, which sends one frame once. Of our packages it imports access/certs and
// frame.
//
//	Put ──► queue of a worker, in memory ──► Client.Post ──► ingest
//	          └─(no more room)──► spool, in files ──► Client.Post, once ingest takes frames again
//
// What it promises: Put never waits. The frames of a node keep their order in the queue. Each frame
// is counted as sent, dropped, queued or spooled. Memory and disk are bounded: where both are full,
// the oldest goes.
//
// What bites: after a crash, frames of the spool may be sent twice; readers take them as one.
package send

import (
	"context"
	"errors"
	"hash/maphash"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/frame"
)

const (
	// workers is how many frames are on their way at once.
	workers = 8
	// memoryBytes bounds the frames that wait in memory.
	memoryBytes = 16 << 20
	// farewellTime bounds how long the end of a process waits for ingest.
	farewellTime = time.Second
	leastBackoff = time.Second
	mostBackoff  = 30 * time.Second
)

// Sender sends frames of many nodes.
type Sender struct {
	client  *Client
	spool   *spool // nil: none
	metrics *metrics
	log     *slog.Logger

	mu     sync.Mutex
	queues [workers]queue
	bytes  int  // in all queues
	ended  bool // what comes now goes to the spool
	health Health
}

// queue holds the frames of some nodes that ingest has not taken yet.
type queue struct {
	waiting []item
	wake    chan struct{}
	// nodes whose frames ingest does not take while it takes others': they hold up nobody
	aside map[uuid.UUID]aside
}

type item struct {
	node  uuid.UUID
	frame []byte
	lost  func()
}

// aside says until when a node's frames are not tried again.
type aside struct {
	until   time.Time
	backoff time.Duration
}

// New returns a sender that spools to files as the configuration says.
func New(client *Client, files Spool, health Health, reg prometheus.Registerer) (*Sender, error) {
	s := &Sender{client: client, health: health, log: health.Log}
	for i := range s.queues {
		s.queues[i].wake = make(chan struct{}, 1)
		s.queues[i].aside = map[uuid.UUID]aside{}
	}
	var err error
	if s.metrics, err = newMetrics(reg); err != nil {
		return nil, err
	}
	if files.Directory != "" {
		s.spool, err = openSpool(files, s.metrics)
	}
	return s, err
}

var seed = maphash.MakeSeed()

// Put takes a frame of a node. lost is called if the frame is dropped: those that need it are of no
// use then.
func (s *Sender) Put(node uuid.UUID, b []byte, lost func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.metrics.frames.Inc()
	if s.ended {
		s.keep(item{node, b, lost})
		return
	}
	q := &s.queues[maphash.Comparable(seed, node)%workers]
	q.waiting = append(q.waiting, item{node, b, lost})
	s.bytes += len(b)
	for s.bytes > memoryBytes {
		s.moveOldest()
	}
	s.metrics.queued.Set(float64(s.waiting()))
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (s *Sender) waiting() (n int) {
	for i := range s.queues {
		n += len(s.queues[i].waiting)
	}
	return n
}

// moveOldest moves the oldest frame of the longest queue to the spool, or drops it.
func (s *Sender) moveOldest() {
	longest := &s.queues[0]
	for i := range s.queues {
		if len(s.queues[i].waiting) > len(longest.waiting) {
			longest = &s.queues[i]
		}
	}
	one := longest.waiting[0]
	longest.drop(0)
	s.bytes -= len(one.frame)
	s.keep(one)
}

// keep puts a frame into the spool, or drops it.
func (s *Sender) keep(one item) {
	reason := "queue_full"
	if s.spool != nil {
		err := s.spool.put(one.frame)
		if err == nil {
			return
		}
		reason = "disk"
		s.log.Error("a frame cannot be spooled: free disk space, or correct watch.spool",
			"error", err)
	}
	s.metrics.dropped.WithLabelValues(reason).Inc()
	one.lost()
}

// drop lets go of a frame by its place.
func (q *queue) drop(i int) {
	if i == 0 { // as nearly always
		q.waiting[0] = item{}
		q.waiting = q.waiting[1:]
		return
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
}

// next returns the place of the oldest frame that may be sent now, or -1 and after how long there
// is one; 0: there is none at all.
func (q *queue) next(now time.Time) (place int, after time.Duration) {
	for i := range q.waiting {
		a, is := q.aside[q.waiting[i].node]
		if !is || !now.Before(a.until) {
			return i, 0
		}
		if d := a.until.Sub(now); after == 0 || d < after {
			after = d
		}
	}
	return -1, after
}

// Run sends until ctx ends. Then it tries for farewellTime to send what waits, and spools the rest.
func (s *Sender) Run(ctx context.Context) error {
	defer s.client.Close()
	var all sync.WaitGroup
	for i := range s.queues {
		all.Go(func() { s.work(ctx, &s.queues[i]) })
	}
	if s.spool != nil {
		all.Go(func() { s.drain(ctx) })
	}
	all.Wait()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewellTime)
	defer cancel()
	for i := range s.queues {
		for last.Err() == nil {
			if there, _, err := s.sendNext(last, &s.queues[i]); !there || Again(err) {
				break
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for s.waiting() > 0 {
		s.moveOldest()
	}
	s.metrics.queued.Set(0)
	if s.spool != nil {
		s.spool.close()
	}
	return nil
}

// work sends what one queue has.
func (s *Sender) work(ctx context.Context, q *queue) {
	backoff := leastBackoff
	for ctx.Err() == nil {
		there, after, err := s.sendNext(ctx, q)
		switch {
		case !there && after == 0:
			select {
			case <-q.wake:
			case <-ctx.Done():
			}
		case !there:
			t := time.NewTimer(after)
			select {
			case <-q.wake:
			case <-t.C:
			case <-ctx.Done():
			}
			t.Stop()
		case Again(err) && !ofNode(err):
			pause(ctx, backoff, err)
			backoff = min(2*backoff, mostBackoff)
		default:
			backoff = leastBackoff
		}
	}
}

// ofNode reports whether ingest does not take the frames of this node or cluster now, which says
// nothing of others.
func ofNode(err error) bool {
	said, is := errors.AsType[*Answer](err)
	return is && (said.Status == http.StatusForbidden || said.Status == http.StatusTooManyRequests)
}

// pause waits before a frame is sent again, with some chance in it, so that senders spread.
func pause(ctx context.Context, backoff time.Duration, err error) {
	t := time.NewTimer(spread(backoff, err))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// spread returns how long to wait after an error.
func spread(backoff time.Duration, err error) time.Duration {
	if said, is := errors.AsType[*Answer](err); is && said.After > 0 {
		backoff = min(max(backoff, said.After), mostBackoff)
	}
	return backoff/2 + rand.N(backoff)
}

// sendNext posts the oldest frame that may be sent now, once. Unless it is to be sent again it
// leaves the queue. Where there is none it says after how long there will be; 0: that is not known.
func (s *Sender) sendNext(ctx context.Context, q *queue) (there bool, after time.Duration,
	err error) {
	s.mu.Lock()
	place, after := q.next(time.Now())
	if place < 0 {
		s.mu.Unlock()
		return false, after, nil
	}
	one := q.waiting[place]
	s.mu.Unlock()
	err = s.client.Post(ctx, one.frame)
	if err != nil && ctx.Err() != nil {
		return true, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ofNode(err) {
		s.setAside(q, one.node, err)
		return true, 0, err
	}
	delete(q.aside, one.node)
	s.health.Note(err)
	if Again(err) {
		return true, 0, err
	}
	place = slices.IndexFunc(q.waiting, func(i item) bool { return &i.frame[0] == &one.frame[0] })
	if place >= 0 { // else it was moved to the spool meanwhile, and is sent once more from there
		q.drop(place)
		s.bytes -= len(one.frame)
		s.metrics.queued.Set(float64(s.waiting()))
		s.count(one.frame, err, one.lost)
	}
	return true, 0, err
}

// setAside lets a node's frames wait while others are sent.
func (s *Sender) setAside(q *queue, node uuid.UUID, err error) {
	a, was := q.aside[node]
	if !was {
		s.log.Warn("ingest does not take the frames of a node now; they wait", "node", node,
			"error", err)
		a.backoff = leastBackoff
	}
	a.until = time.Now().Add(spread(a.backoff, err))
	a.backoff = min(2*a.backoff, mostBackoff)
	q.aside[node] = a
}

// count counts a frame that is done with.
func (s *Sender) count(b []byte, err error, lost func()) {
	if err == nil {
		s.metrics.sent.Inc()
		return
	}
	s.metrics.dropped.WithLabelValues("refused").Inc()
	if h, _, bad := frame.Parse(b); bad == nil {
		s.log.Warn("ingest refuses a frame, which is dropped", "cluster", h.Cluster, "node", h.Node,
			"error", err)
	}
	if lost != nil {
		lost()
	}
}
