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
	"hash/maphash"
	"log/slog"
	"math/rand/v2"
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
	bytes  int // in all queues
	health Health
}

// queue holds the frames of some nodes that ingest has not taken yet.
type queue struct {
	waiting []item
	wake    chan struct{}
}

type item struct {
	frame []byte
	lost  func()
}

// New returns a sender that spools to files as the configuration says.
func New(client *Client, files Spool, health Health, reg prometheus.Registerer) (*Sender, error) {
	s := &Sender{client: client, health: health, log: health.Log}
	for i := range s.queues {
		s.queues[i].wake = make(chan struct{}, 1)
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
	q := &s.queues[maphash.Comparable(seed, node)%workers]
	q.waiting = append(q.waiting, item{b, lost})
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
	longest.drop()
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

func (q *queue) drop() {
	q.waiting[0] = item{}
	q.waiting = q.waiting[1:]
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
		for s.sendOldest(last, &s.queues[i]) == nil && len(s.queues[i].waiting) > 0 {
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
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
	for {
		s.mu.Lock()
		empty := len(q.waiting) == 0
		s.mu.Unlock()
		if empty {
			select {
			case <-q.wake:
				continue
			case <-ctx.Done():
				return
			}
		}
		err := s.sendOldest(ctx, q)
		if ctx.Err() != nil {
			return
		}
		if !Again(err) {
			backoff = leastBackoff
			continue
		}
		pause(ctx, backoff, err)
		backoff = min(2*backoff, mostBackoff)
	}
}

// pause waits before a frame is sent again, with some chance in it, so that senders spread.
func pause(ctx context.Context, backoff time.Duration, err error) {
	if said, is := err.(*Answer); is && said.After > 0 {
		backoff = min(max(backoff, said.After), mostBackoff)
	}
	t := time.NewTimer(backoff/2 + rand.N(backoff))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// sendOldest posts a queue's oldest frame once. Unless it is to be sent again it leaves the queue.
func (s *Sender) sendOldest(ctx context.Context, q *queue) error {
	s.mu.Lock()
	if len(q.waiting) == 0 {
		s.mu.Unlock()
		return nil
	}
	one := q.waiting[0]
	s.mu.Unlock()
	err := s.client.Post(ctx, one.frame)
	if err != nil && ctx.Err() != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.health.Note(err)
	there := len(q.waiting) > 0 && &q.waiting[0].frame[0] == &one.frame[0]
	if Again(err) {
		return err
	}
	if there { // else it was moved to the spool meanwhile, and is sent once more from there
		q.drop()
		s.bytes -= len(one.frame)
		s.metrics.queued.Set(float64(s.waiting()))
		s.count(one.frame, err, one.lost)
	}
	return err
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
