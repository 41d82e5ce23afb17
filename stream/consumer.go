package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Record is one frame as the engine has it.
type Record struct {
	Account   string
	Cluster   string
	Partition int32
	Offset    int64
	Received  time.Time // when ingest took it, by ingest's clock
	Value     []byte    // the frame; the handler's to keep
}

// Handler does something with frames. Its methods are never called concurrently.
type Handler interface {
	// Handle takes records, in order within each partition. It returns nil when their effect is
	// done; records that cannot be read are counted and left out. After an error the same records
	// come again, without those whose partition has gone, until it returns nil. An error that
	// wraps ErrFatal ends Run. ctx ends after ConsumerConfig.HandleTimeout.
	Handle(ctx context.Context, records []Record) error
	// Tick does what is due by time. It is called about every ConsumerConfig.TickEvery, unless
	// Handle is failing. After an error it is called again, unless the error wraps ErrAgain. ctx
	// ends after ConsumerConfig.HandleTimeout; what is left is for the next call.
	Tick(ctx context.Context, now time.Time) error
	// LowWater returns the offset of the partition's oldest record that a restart would need
	// again; false if there is none.
	LowWater(partition int32) (offset int64, ok bool)
	// Revoke says that the partition is another's now: forget it, without effect. Records of it
	// may come again from LowWater on.
	Revoke(partition int32)
}

// Assigner is a Handler that wants to know of its partitions before records of them come: there
// may be none for hours.
type Assigner interface {
	// Assign says that the partition is this consumer's now, until Revoke. It must return at
	// once. It is never called beside the Handler's methods.
	Assign(partition int32)
}

// Loser is a Handler that wants to know when the engine is out of reach.
type Loser interface {
	// Lose says instead of Revoke that the engine has not answered for a session's time: the
	// partition is another's, or nobody's while the engine is away.
	Lose(partition int32)
	// Joined says that the engine answers again. What is this consumer's was assigned before.
	Joined()
}

// ErrFatal, wrapped by an error of Handle, ends Run: trying again makes no sense.
var ErrFatal = errors.New("stream: the handler cannot go on")

// ErrAgain, wrapped by an error of Tick, says that the effect of some records has been lost. The
// consumer gives all partitions back, and begins again at LowWater.
var ErrAgain = errors.New("stream: the handler needs records again")

// ConsumerConfig says how to consume.
type ConsumerConfig struct {
	Topic string `yaml:"-"`
	Group string `yaml:"group"`

	// MaxAge, if not 0, is how far back a partition starts at most, whatever is committed. It is
	// for effects that do not matter after that time.
	MaxAge time.Duration `yaml:"max_age"`
	// From, if not zero, makes each partition start at the first record that ingest took at or
	// after it, whatever is committed: to walk back. Once this process has committed something of
	// a partition, it starts at what is committed, so that a rebalance does not begin the walk
	// again.
	From time.Time `yaml:"-"`
	// SessionTimeout is after how long without a heartbeat the engine gives a dead process's
	// partitions to others: freshness after a crash. Kafka allows 6 s and more unless told
	// otherwise.
	SessionTimeout time.Duration `yaml:"session_timeout"`
	// HandleTimeout bounds one call of Handle or Tick. Half of the minute that the engine waits
	// for a consumer in a rebalance.
	HandleTimeout time.Duration `yaml:"handle_timeout"`
	TickEvery     time.Duration `yaml:"tick_every"`
	// the most that is done again after a crash, beside open windows
	CommitEvery time.Duration `yaml:"commit_every"`
	MaxBackoff  time.Duration `yaml:"max_backoff"` // between failing calls of Handle
	// fetched ahead per broker; a batch is at most that, or one message
	MaxFetchBytes int32 `yaml:"max_fetch_bytes"`
	MaxRecords    int   `yaml:"max_records"` // in a batch
}

// DefaultConsumerConfig returns the configuration of a group's consumer.
func DefaultConsumerConfig(topic, group string) ConsumerConfig {
	return ConsumerConfig{
		Topic: topic, Group: group,
		SessionTimeout: 10 * time.Second, HandleTimeout: 30 * time.Second, TickEvery: time.Second,
		CommitEvery: time.Second,
		MaxBackoff:  5 * time.Second, MaxFetchBytes: 32 << 20, MaxRecords: 1000,
	}
}

// Validate reports everything that is wrong at once.
func (c ConsumerConfig) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("stream: consumer "+format, args...))
		}
	}
	check(isTopic(c.Topic), "topic %q: use 1 to 249 of a-z, A-Z, 0-9, '.', '_' and '-'", c.Topic)
	check(c.Group != "", "group is empty: consumers of one role share a name")
	check(c.MaxAge >= 0, "max_age is %s: use 0 for everything that is kept", c.MaxAge)
	check(c.MaxAge == 0 || c.From.IsZero(),
		"max_age and from contradict each other: use one of them")
	check(c.SessionTimeout >= time.Second, "session_timeout is %s: use at least 1s",
		c.SessionTimeout)
	check(c.HandleTimeout >= time.Second && c.HandleTimeout <= rebalanceTimeout-10*time.Second,
		"handle_timeout is %s: use 1s to %s", c.HandleTimeout, rebalanceTimeout-10*time.Second)
	check(c.TickEvery >= 10*time.Millisecond, "tick_every is %s: use at least 10ms", c.TickEvery)
	check(c.CommitEvery >= 10*time.Millisecond, "commit_every is %s: use at least 10ms",
		c.CommitEvery)
	check(c.MaxBackoff >= minBackoff, "max_backoff is %s: use at least %s", c.MaxBackoff,
		minBackoff)
	check(c.MaxFetchBytes >= 64<<10 && c.MaxFetchBytes <= 64<<20,
		"max_fetch_bytes is %d: use 65536 to 67108864", c.MaxFetchBytes)
	check(c.MaxRecords >= 1, "max_records is %d: use at least 1", c.MaxRecords)
	return errors.Join(errs...)
}

const (
	// how long the engine waits for every consumer to agree to a rebalance
	rebalanceTimeout = time.Minute
	minBackoff       = 50 * time.Millisecond
	commitTimeout    = 5 * time.Second
	leaveTimeout     = 10 * time.Second
)

// Consumer is a member of a consumer group.
//
// One goroutine, Run's, polls, calls the handler and commits. Rebalances wait while it works, and
// happen in between, also between failing calls of Handle. So the handler and the engine's
// callbacks never run at the same time. Heartbeats are the engine's own and always go on.
type Consumer struct {
	engine  Engine
	config  ConsumerConfig
	handler Handler
	log     *slog.Logger
	metrics *consumerMetrics
	now     func() time.Time

	// What follows belongs to whoever holds the gate: Run between Member.Poll and Member.Allow,
	// the engine's callbacks otherwise. mu is for the moment when a member that could not leave
	// its group in time calls back late.
	mu      sync.Mutex
	member  Member // the session's; nil: none
	parts   map[int32]*part
	pending []Record // polled and not handled

	// the last record taken of each partition since the last handling, whoever wrote it
	fetched  map[int32]Record
	progress progress

	// partitions (int32) whose walk from ConsumerConfig.From is committed, so that the group
	// knows how far it is
	walked sync.Map
}

// part is what the consumer knows of a partition that it has handled records of.
type part struct {
	next      int64 // offset after the last handled record
	committed int64 // what the group has from us, -1 if nothing yet
}

// NewConsumer checks the configuration. Metrics carry the label group.
func NewConsumer(e Engine, c ConsumerConfig, h Handler, reg prometheus.Registerer,
	log *slog.Logger) (*Consumer, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	m, err := newConsumerMetrics(prometheus.WrapRegistererWith(prometheus.Labels{"group": c.Group},
		reg))
	if err != nil {
		return nil, err
	}
	return &Consumer{engine: e, config: c, handler: h, log: log.With("group", c.Group), metrics: m,
		now: time.Now, progress: progress{parts: map[int32]reached{}}}, nil
}

// Run consumes until ctx ends, and returns nil then; or until Handle's error wraps ErrFatal. The
// engine may be away at any time.
func (c *Consumer) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := c.session(ctx)
		switch {
		case errors.Is(err, ErrFatal):
			return err
		case err != nil && ctx.Err() == nil:
			// This member would never get such a partition again (its topic was deleted, a
			// permission is missing).
			level := slog.LevelError
			if errors.Is(err, ErrAgain) { // the handler asked for it, and has said why
				level = slog.LevelInfo
			}
			c.log.Log(ctx, level, "an error ended consuming; it begins again", "error", err,
				"after", c.config.MaxBackoff)
			wait(ctx, c.config.MaxBackoff)
		}
	}
	return nil
}

// session is the life of one member.
func (c *Consumer) session(ctx context.Context) error {
	member, err := c.engine.Join(c.membership())
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.member, c.parts, c.pending, c.fetched = member, map[int32]*part{}, nil, map[int32]Record{}
	c.mu.Unlock()
	defer c.leave(member)
	nextTick, nextCommit := c.now(), c.now()
	for {
		until := nextTick
		if nextCommit.Before(until) {
			until = nextCommit
		}
		// Never 0: a poll without time returns without looking.
		err := c.poll(ctx, max(until.Sub(c.now()), time.Millisecond))
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			err = c.handle(ctx)
		}
		if err != nil || ctx.Err() != nil {
			return err
		}
		if now := c.now(); !now.Before(nextTick) {
			if err := c.tick(ctx, now); err != nil {
				return err
			}
			// counted from its end, so that a slow one leaves time for records
			nextTick = c.now().Add(c.config.TickEvery)
		}
		if !c.now().Before(nextCommit) {
			c.commit(ctx, c.owned())
			nextCommit = c.now().Add(c.config.CommitEvery)
		}
		member.Allow()
	}
}

func (c *Consumer) membership() Membership {
	m := Membership{
		Topic: c.config.Topic, Group: c.config.Group,
		SessionTimeout: c.config.SessionTimeout, RebalanceTimeout: rebalanceTimeout,
		MaxFetchBytes: c.config.MaxFetchBytes, MaxMessages: c.config.MaxRecords,
		Assigned: c.assigned, Revoked: c.giveBack,
	}
	switch {
	case c.config.MaxAge > 0:
		m.Since = func() time.Time { return c.now().Add(-c.config.MaxAge) }
	case !c.config.From.IsZero():
		m.Since, m.Again = func() time.Time { return c.config.From }, c.walksBack
	}
	return m
}

// walksBack says of a partition that it begins at From, unless it has been walked.
func (c *Consumer) walksBack(partition int32) bool {
	_, walked := c.walked.Load(partition)
	if !walked {
		c.log.Info("walks back", "partition", partition, "from", c.config.From)
	}
	return !walked
}

func (c *Consumer) assigned(partitions []int32) {
	for _, p := range partitions {
		c.progress.assigned(p)
		if a, wants := c.handler.(Assigner); wants {
			a.Assign(p)
		}
	}
	if l, wants := c.handler.(Loser); wants {
		l.Joined()
	}
}

// poll adds what has arrived to the pending records, waiting for at most d, and holds the gate
// when it returns. The error ends the session.
func (c *Consumer) poll(ctx context.Context, d time.Duration) error {
	got, err := c.member.Poll(ctx, d)
	for _, trouble := range got.Troubles {
		c.metrics.fetchErrors.Inc()
		c.log.Warn("the stream cannot be read for the moment", "error", trouble)
	}
	if err != nil {
		c.metrics.fetchErrors.Inc()
	}
	for _, m := range got.Messages {
		c.metrics.consumed.Inc()
		c.fetched[m.Partition] = Record{Offset: m.Offset, Received: m.Time}
		account, cluster, ok := splitKey(m.Key)
		if !ok {
			c.metrics.dropped.WithLabelValues("key").Inc() // not written by ingest
			continue
		}
		c.pending = append(c.pending, Record{Account: account, Cluster: cluster,
			Partition: m.Partition, Offset: m.Offset, Received: m.Time, Value: m.Value})
	}
	for p, n := range got.Behind {
		c.metrics.lag.WithLabelValues(partitionLabel(p)).Set(float64(n))
	}
	c.metrics.waiting(c.pending)
	return err
}

// handle brings the pending records to their effect, however often it takes. It returns an error
// that wraps ErrFatal, or nil: then nothing is pending, or ctx has ended.
func (c *Consumer) handle(ctx context.Context) error {
	for backoff := minBackoff; len(c.pending) > 0; backoff = min(2*backoff, c.config.MaxBackoff) {
		bounded, cancel := context.WithTimeout(ctx, c.config.HandleTimeout)
		err := c.handler.Handle(bounded, c.pending)
		cancel()
		if err == nil {
			c.handled()
			break
		}
		if ctx.Err() != nil || errors.Is(err, ErrFatal) {
			return err
		}
		c.metrics.retries.Inc()
		c.log.Warn("records could not be handled; trying again", "records", len(c.pending),
			"error", err, "after", backoff)
		c.member.Allow()
		wait(ctx, backoff/2+rand.N(backoff/2))
		if err := c.poll(ctx, 0); err != nil {
			return err
		}
	}
	for p, last := range c.fetched {
		c.progress.handled(p, last.Offset+1, last.Received)
	}
	clear(c.fetched)
	return nil
}

func (c *Consumer) handled() {
	for _, r := range c.pending {
		p := c.parts[r.Partition]
		if p == nil {
			p = &part{committed: -1}
			c.parts[r.Partition] = p
		}
		p.next = r.Offset + 1
	}
	c.metrics.handled.Add(float64(len(c.pending)))
	c.pending = nil // the handler may keep the slice
	c.metrics.waiting(nil)
}

// tick returns an error that wraps ErrAgain, or nil.
func (c *Consumer) tick(ctx context.Context, now time.Time) error {
	bounded, cancel := context.WithTimeout(ctx, c.config.HandleTimeout)
	defer cancel()
	err := c.handler.Tick(bounded, now)
	if err == nil || ctx.Err() != nil {
		return nil
	}
	c.metrics.tickErrors.Inc()
	if errors.Is(err, ErrAgain) {
		return err
	}
	c.log.Warn("work that is due failed; trying again", "error", err)
	return nil
}

// wait returns after d, or when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
