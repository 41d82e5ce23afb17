package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringwatch/ringwatch/stream"
)

// listTimeout bounds the question where a partition is to start.
const listTimeout = 5 * time.Second

// member is a stream.Member: a client that is in a consumer group. Heartbeats are the client's own
// and always go on.
type member struct {
	stream.Membership
	kafka  *Kafka
	client atomic.Pointer[kgo.Client] // nil until Join returns
}

// Join implements stream.Engine.
func (k *Kafka) Join(of stream.Membership) (stream.Member, error) {
	m := &member{Membership: of, kafka: k}
	client, err := k.client(m.options()...)
	if err != nil {
		return nil, err
	}
	m.client.Store(client)
	return m, nil
}

// A fetch is answered when the broker has fetchBytes, or after fetchWait.
const (
	fetchBytes = 256 << 10
	fetchWait  = 50 * time.Millisecond
)

func (m *member) options() []kgo.Opt {
	opts := []kgo.Opt{
		kgo.ConsumeTopics(m.Topic),
		kgo.ConsumerGroup(m.Group),
		// who keeps its partitions goes on during a rebalance
		kgo.Balancers(kgo.CooperativeStickyBalancer()),
		kgo.BlockRebalanceOnPoll(),
		kgo.DisableAutoCommit(),
		kgo.SessionTimeout(m.SessionTimeout),
		kgo.HeartbeatInterval(m.SessionTimeout / 4),
		kgo.RebalanceTimeout(m.RebalanceTimeout),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, gained map[string][]int32) {
			m.Assigned(gained[m.Topic])
		}),
		kgo.OnPartitionsRevoked(func(ctx context.Context, _ *kgo.Client, gone map[string][]int32) {
			m.Revoked(ctx, m, gone[m.Topic], true)
		}),
		kgo.OnPartitionsLost(func(ctx context.Context, _ *kgo.Client, gone map[string][]int32) {
			m.Revoked(ctx, m, gone[m.Topic], false) // they are another's already
		}),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		// After an unclean leader change nobody knows where to go on: back by three windows,
		// effects are idempotent.
		kgo.ConsumeResetOffset(kgo.RewindOffset(15 * time.Minute)),
		kgo.FetchMaxBytes(m.MaxFetchBytes),
		// so that one partition's backlog does not starve the others
		kgo.FetchMaxPartitionBytes(min(m.MaxFetchBytes, 8<<20)),
		// A fleet's frames come one by one. Fetching each as it comes would cost the broker and the
		// consumer more than the frame does, so a fetch waits for some, for a moment.
		kgo.FetchMinBytes(min(fetchBytes, m.MaxFetchBytes)),
		kgo.FetchMaxWait(fetchWait),
	}
	if id := m.kafka.config.InstanceID; id != "" {
		opts = append(opts, kgo.InstanceID(id))
	}
	if m.Since != nil {
		opts = append(opts, kgo.AdjustFetchOffsetsFn(m.adjust))
	}
	return opts
}

// Poll implements stream.Member.
func (m *member) Poll(ctx context.Context, wait time.Duration) (stream.Polled, error) {
	var got stream.Polled
	if wait > 0 {
		waiting, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		fetches := m.client.Load().PollRecords(waiting, m.MaxMessages)
		if err := m.take(&got, fetches); err != nil || len(fetches) > 0 {
			return got, err
		}
	}
	// An empty answer does not hold the gate. A poll whose context is over returns at once with
	// that as its answer, which is not empty, and so blocks rebalances.
	over, cancel := context.WithCancel(context.Background())
	cancel()
	return got, m.take(&got, m.client.Load().PollRecords(over, m.MaxMessages))
}

// take adds what was fetched. The error ends the member.
func (m *member) take(got *stream.Polled, fetches kgo.Fetches) error {
	var fatal error
	fetches.EachError(func(topic string, partition int32, err error) {
		var loss *kgo.ErrDataLoss
		var group *kgo.ErrGroupSession
		switch {
		case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		case errors.As(err, &loss):
			got.Troubles = append(got.Troubles,
				fmt.Errorf("Kafka has lost records of partition %d: %w", partition, err))
		case errors.As(err, &group):
			got.Troubles = append(got.Troubles,
				fmt.Errorf("the consumer group cannot be reached: %w", err))
		default:
			fatal = fmt.Errorf("stream: cannot fetch partition %d of %s: %w", partition, topic, err)
		}
	})
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		for _, r := range p.Records {
			one := message(r)
			// Copies, because a fetch's records share its buffer: who keeps one frame for five
			// minutes must not keep 32 MiB.
			one.Key, one.Value = slices.Clone(one.Key), slices.Clone(one.Value)
			got.Messages = append(got.Messages, one)
		}
		if n := len(p.Records); n > 0 {
			if got.Behind == nil {
				got.Behind = map[int32]int64{}
			}
			got.Behind[p.Partition] = max(0, p.HighWatermark-p.Records[n-1].Offset-1)
		}
	})
	return fatal
}

// Allow implements stream.Member.
func (m *member) Allow() { m.client.Load().AllowRebalance() }

// Commit implements stream.Member.
func (m *member) Commit(ctx context.Context, offsets map[int32]int64) (kept []int32, failed error) {
	at := map[int32]kgo.EpochOffset{}
	for p, offset := range offsets {
		at[p] = kgo.EpochOffset{Epoch: -1, Offset: offset}
	}
	m.client.Load().CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{m.Topic: at},
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, answer *kmsg.OffsetCommitResponse,
			err error) {
			if err != nil {
				failed = err
				return
			}
			for _, t := range answer.Topics {
				for _, p := range t.Partitions {
					if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
						failed = err
					} else {
						kept = append(kept, p.Partition)
					}
				}
			}
		})
	return kept, failed
}

// Committed implements stream.Member.
func (m *member) Committed() map[int32]int64 {
	at := map[int32]int64{}
	for p, offset := range m.client.Load().CommittedOffsets()[m.Topic] {
		at[p] = offset.Offset
	}
	return at
}

// Ends implements stream.Member.
func (m *member) Ends(ctx context.Context) (map[int32]int64, error) {
	listed, err := kadm.NewClient(m.client.Load()).ListEndOffsets(ctx, m.Topic)
	if err != nil {
		return nil, err
	}
	ends := map[int32]int64{}
	listed.Each(func(o kadm.ListedOffset) {
		ends[o.Partition] = o.Offset
		if o.Err != nil {
			ends[o.Partition] = -1
		}
	})
	return ends, nil
}

// Leave implements stream.Member.
func (m *member) Leave(ctx context.Context) error {
	client := m.client.Load()
	defer client.Close()
	return client.LeaveGroupContext(ctx)
}

// adjust moves the start of newly assigned partitions to the first record at or after Since, where
// that is behind or they are to be read again.
func (m *member) adjust(ctx context.Context,
	offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	client := m.client.Load()
	if client == nil {
		return nil, errors.New("stream: the client is not ready yet") // the group joins again
	}
	if len(offsets[m.Topic]) == 0 {
		return offsets, nil
	}
	bounded, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	since := m.Since()
	listed, err := kadm.NewClient(client).ListOffsetsAfterMilli(bounded, since.UnixMilli(), m.Topic)
	if err != nil {
		return nil, fmt.Errorf("stream: cannot find where %s is: %w",
			since.UTC().Format(time.RFC3339), err)
	}
	for p, committed := range offsets[m.Topic] {
		l, ok := listed.Lookup(m.Topic, p)
		if !ok || l.Err != nil {
			continue
		}
		if l.Offset > committed.EpochOffset().Offset && m.Again == nil ||
			m.Again != nil && m.Again(p) {
			offsets[m.Topic][p] = kgo.NewOffset().At(l.Offset).WithEpoch(-1)
		}
	}
	return offsets, nil
}
