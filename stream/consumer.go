package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Record is one frame as Kafka has it.
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
	// Handle takes records, in order within each partition. nil says that their effect is done, or that they are counted as unreadable. After
	// an error the same records come again, less those whose partitions have gone, until it is nil; an error that wraps ErrFatal ends Run.
	// ctx ends after ConsumerConfig.HandleTimeout.
	Handle(ctx context.Context, records []Record) error
	// Tick is called about every ConsumerConfig.TickEvery while no Handle is failing, for what is due by time. After an error it is simply called
	// again, unless it wraps ErrAgain. ctx ends after ConsumerConfig.HandleTimeout; what is undone then is for the next call.
	Tick(ctx context.Context, now time.Time) error
	// LowWater returns the offset of the oldest record of the partition that would be needed again after a restart; false if none.
	LowWater(partition int32) (offset int64, ok bool)
	// Revoke says that the partition is another's now: forget it, without effect. Records of it may come again from LowWater on.
	Revoke(partition int32)
}

// Assigner is a Handler that wants to know of its partitions before records of them come: there may be none for hours.
type Assigner interface {
	// Assign says that the partition is this consumer's now, until Revoke. It must return at once. It is never called beside the Handler's methods.
	Assign(partition int32)
}

// ErrFatal, wrapped by an error of Handle, ends Run: trying again makes no sense.
var ErrFatal = errors.New("stream: the handler cannot go on")

// ErrAgain, wrapped by an error of Tick, gives all partitions back and begins again at LowWater, where records are still needed whose effect has been lost.
var ErrAgain = errors.New("stream: the handler needs records again")

// ConsumerConfig says how to consume.
type ConsumerConfig struct {
	Stream Config `yaml:"-"` // Brokers, Topic, TLS and SASL are used
	Group  string `yaml:"group"`

	// MaxAge, if not 0, makes a partition start at most this far back, whatever is committed: for effects that do not matter after that.
	MaxAge time.Duration `yaml:"max_age"`
	// From, if not zero, makes each partition start at the first record that ingest took at or after it, whatever is committed: to walk back. Once this process has
	// committed something of a partition, it starts at what is committed, so that a rebalance does not begin the walk again.
	From time.Time `yaml:"-"`
	// SessionTimeout is after how long without a heartbeat Kafka gives a dead process's partitions to others: freshness after a crash.
	// Kafka allows 6 s and more unless told otherwise.
	SessionTimeout time.Duration `yaml:"session_timeout"`
	// HandleTimeout bounds one call of Handle or Tick. Half of the minute that Kafka waits for a consumer in a rebalance.
	HandleTimeout time.Duration `yaml:"handle_timeout"`
	TickEvery     time.Duration `yaml:"tick_every"`
	CommitEvery   time.Duration `yaml:"commit_every"`    // the most that is done again after a crash, beside open windows
	MaxBackoff    time.Duration `yaml:"max_backoff"`     // between failing calls of Handle
	MaxFetchBytes int32         `yaml:"max_fetch_bytes"` // fetched ahead per broker; a batch is at most that, or one message
	MaxRecords    int           `yaml:"max_records"`     // in a batch
}

// DefaultConsumerConfig returns the configuration of a group's consumer.
func DefaultConsumerConfig(stream Config, group string) ConsumerConfig {
	return ConsumerConfig{
		Stream: stream, Group: group,
		SessionTimeout: 10 * time.Second, HandleTimeout: 30 * time.Second, TickEvery: time.Second, CommitEvery: time.Second,
		MaxBackoff: 5 * time.Second, MaxFetchBytes: 32 << 20, MaxRecords: 1000,
	}
}

// Validate reports everything that is wrong at once.
func (c ConsumerConfig) Validate() error {
	errs := []error{c.Stream.Validate()}
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("stream: consumer "+format, args...))
		}
	}
	check(c.Group != "", "group is empty: consumers of one role share a name")
	check(c.MaxAge >= 0, "max_age is %s: use 0 for everything that Kafka has", c.MaxAge)
	check(c.MaxAge == 0 || c.From.IsZero(), "max_age and from contradict each other: use one of them")
	check(c.SessionTimeout >= time.Second, "session_timeout is %s: use at least 1s", c.SessionTimeout)
	check(c.HandleTimeout >= time.Second && c.HandleTimeout <= rebalanceTimeout-10*time.Second, "handle_timeout is %s: use 1s to %s", c.HandleTimeout, rebalanceTimeout-10*time.Second)
	check(c.TickEvery >= 10*time.Millisecond, "tick_every is %s: use at least 10ms", c.TickEvery)
	check(c.CommitEvery >= 10*time.Millisecond, "commit_every is %s: use at least 10ms", c.CommitEvery)
	check(c.MaxBackoff >= minBackoff, "max_backoff is %s: use at least %s", c.MaxBackoff, minBackoff)
	check(c.MaxFetchBytes >= 64<<10 && c.MaxFetchBytes <= 64<<20, "max_fetch_bytes is %d: use 65536 to 67108864", c.MaxFetchBytes)
	check(c.MaxRecords >= 1, "max_records is %d: use at least 1", c.MaxRecords)
	return errors.Join(errs...)
}

const (
	rebalanceTimeout = time.Minute // how long Kafka waits for every consumer to agree to a rebalance
	minBackoff       = 50 * time.Millisecond
	commitTimeout    = 5 * time.Second
	leaveTimeout     = 10 * time.Second
)

// Consumer is a member of a consumer group.
//
// One goroutine, Run's, polls, calls the handler and commits. Rebalances wait while it works and are let in between (also between failing
// calls of Handle), so the handler and the client's callbacks never meet. Heartbeats are the client's own and always go on.
type Consumer struct {
	config  ConsumerConfig
	handler Handler
	log     *slog.Logger
	metrics *consumerMetrics
	now     func() time.Time

	// What follows belongs to whoever holds the gate: Run between a poll and AllowRebalance, the client's callbacks otherwise. mu is for the
	// moment when a client that could not leave its group in time calls back late.
	mu      sync.Mutex
	client  *kgo.Client // the session's; nil: none
	parts   map[int32]*part
	pending []Record // polled and not handled

	fetched  map[int32]Record // the last record taken of each partition since the last handling, whoever wrote it
	progress progress

	walked sync.Map // partitions (int32) whose walk from ConsumerConfig.From is committed, so that Kafka knows how far it is
}

// part is what the consumer knows of a partition that it has handled records of.
type part struct {
	next      int64 // offset after the last handled record
	committed int64 // what Kafka has from us, -1 if nothing yet
}

// NewConsumer checks the configuration. Metrics carry the label group.
func NewConsumer(c ConsumerConfig, h Handler, reg prometheus.Registerer, log *slog.Logger) (*Consumer, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	m, err := newConsumerMetrics(prometheus.WrapRegistererWith(prometheus.Labels{"group": c.Group}, reg))
	if err != nil {
		return nil, err
	}
	return &Consumer{config: c, handler: h, log: log.With("group", c.Group), metrics: m, now: time.Now, progress: progress{parts: map[int32]reached{}}}, nil
}

// Run consumes until ctx ends, and returns nil then; or until Handle's error wraps ErrFatal. Kafka may be away at any time.
func (c *Consumer) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := c.session(ctx)
		switch {
		case errors.Is(err, ErrFatal):
			return err
		case err != nil && ctx.Err() == nil:
			// Such a partition would never be fetched again by this client (its topic was deleted, a permission is missing).
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

// session is the life of one client.
func (c *Consumer) session(ctx context.Context) error {
	client, err := c.config.Stream.client(c.log, c.options()...)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.client, c.parts, c.pending, c.fetched = client, map[int32]*part{}, nil, map[int32]Record{}
	c.mu.Unlock()
	defer c.leave(client)
	nextTick, nextCommit := c.now(), c.now()
	for {
		until := nextTick
		if nextCommit.Before(until) {
			until = nextCommit
		}
		// Never 0: a poll whose time is over returns without looking.
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
			nextTick = c.now().Add(c.config.TickEvery) // counted from its end, so that a slow one leaves time for records
		}
		if !c.now().Before(nextCommit) {
			c.commit(ctx, c.owned())
			nextCommit = c.now().Add(c.config.CommitEvery)
		}
		client.AllowRebalance()
	}
}

func (c *Consumer) options() []kgo.Opt {
	opts := []kgo.Opt{
		kgo.ConsumeTopics(c.config.Stream.Topic),
		kgo.ConsumerGroup(c.config.Group),
		kgo.Balancers(kgo.CooperativeStickyBalancer()), // who keeps its partitions goes on during a rebalance
		kgo.BlockRebalanceOnPoll(),
		kgo.DisableAutoCommit(),
		kgo.SessionTimeout(c.config.SessionTimeout),
		kgo.HeartbeatInterval(c.config.SessionTimeout / 4),
		kgo.RebalanceTimeout(rebalanceTimeout),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, gained map[string][]int32) {
			for _, p := range gained[c.config.Stream.Topic] {
				c.progress.assigned(p)
				if a, wants := c.handler.(Assigner); wants {
					a.Assign(p)
				}
			}
		}),
		kgo.OnPartitionsRevoked(func(ctx context.Context, client *kgo.Client, gone map[string][]int32) {
			c.giveBack(ctx, client, gone[c.config.Stream.Topic], true)
		}),
		kgo.OnPartitionsLost(func(ctx context.Context, client *kgo.Client, gone map[string][]int32) {
			c.giveBack(ctx, client, gone[c.config.Stream.Topic], false) // they are another's already
		}),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		// After an unclean leader change nobody knows where to go on: back by three windows, effects are idempotent.
		kgo.ConsumeResetOffset(kgo.RewindOffset(15 * time.Minute)),
		kgo.FetchMaxBytes(c.config.MaxFetchBytes),
		kgo.FetchMaxPartitionBytes(min(c.config.MaxFetchBytes, 8<<20)), // so that one partition's backlog does not starve the others
		kgo.FetchMaxWait(500 * time.Millisecond),
	}
	if id := c.config.Stream.InstanceID; id != "" {
		opts = append(opts, kgo.InstanceID(id))
	}
	if c.config.MaxAge > 0 {
		opts = append(opts, kgo.AdjustFetchOffsetsFn(c.notOlder))
	}
	if !c.config.From.IsZero() {
		opts = append(opts, kgo.AdjustFetchOffsetsFn(c.walkBack))
	}
	return opts
}

// poll takes what has arrived, waiting for at most d, and holds the gate when it returns. The error ends the session.
func (c *Consumer) poll(ctx context.Context, d time.Duration) error {
	waiting, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	fetches := c.client.PollRecords(waiting, c.config.MaxRecords)
	err := c.take(fetches)
	if len(fetches) == 0 {
		return errors.Join(err, c.hold()) // an empty answer does not hold the gate
	}
	return err
}

// hold takes the gate back: a poll whose context is over returns at once with that as its (non-empty) answer, and so blocks rebalances.
func (c *Consumer) hold() error {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	return c.take(c.client.PollRecords(over, c.config.MaxRecords))
}

// take adds what was fetched to the pending records.
func (c *Consumer) take(fetches kgo.Fetches) error {
	var fatal error
	fetches.EachError(func(topic string, partition int32, err error) {
		var loss *kgo.ErrDataLoss
		var group *kgo.ErrGroupSession
		switch {
		case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		case errors.As(err, &loss):
			c.metrics.fetchErrors.Inc()
			c.log.Error("Kafka has lost records", "partition", partition, "error", err)
		case errors.As(err, &group):
			c.metrics.fetchErrors.Inc()
			c.log.Warn("the consumer group cannot be reached; trying again", "error", err)
		default:
			c.metrics.fetchErrors.Inc()
			fatal = fmt.Errorf("stream: cannot fetch partition %d of %s: %w", partition, topic, err)
		}
	})
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		for _, r := range p.Records {
			c.metrics.consumed.Inc()
			c.fetched[p.Partition] = Record{Offset: r.Offset, Received: r.Timestamp}
			account, cluster, ok := splitKey(r.Key)
			if !ok {
				c.metrics.dropped.WithLabelValues("key").Inc() // not written by ingest
				continue
			}
			// A copy, because a fetch's records share its buffer: who keeps one frame for five minutes must not keep 32 MiB.
			c.pending = append(c.pending, Record{Account: account, Cluster: cluster, Partition: p.Partition, Offset: r.Offset, Received: r.Timestamp, Value: slices.Clone(r.Value)})
		}
		if n := len(p.Records); n > 0 {
			c.metrics.lag.WithLabelValues(partitionLabel(p.Partition)).Set(float64(max(0, p.HighWatermark-p.Records[n-1].Offset-1)))
		}
	})
	c.metrics.waiting(c.pending)
	return fatal
}

// handle brings the pending records to their effect, however often it takes. It returns an error that wraps ErrFatal, or nil: then nothing
// is pending, or ctx has ended.
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
		c.log.Warn("records could not be handled; trying again", "records", len(c.pending), "error", err, "after", backoff)
		c.client.AllowRebalance()
		wait(ctx, backoff/2+rand.N(backoff/2))
		if err := c.hold(); err != nil {
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
