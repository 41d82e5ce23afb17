package node

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// OpenStore connects a store, and makes its tables.
func OpenStore(ctx context.Context, c store.Config, m *store.Metrics) (*store.Store, error) {
	s, err := store.New(c, m)
	if err != nil {
		return nil, err
	}
	if err = s.Connect(ctx); err == nil {
		err = s.Apply(ctx)
	}
	if err != nil {
		s.Close()
	}
	return s, err
}

// Keeper does with a fleet's frames what the role store does, at a time of its own.
type Keeper struct {
	*store.Store
	Writer *store.Writer
	now    atomic.Int64 // its clock, ms; 0: the machine's
}

// Keep connects a store and makes its tables. With a timeout longer than half its grace, frames
// would count as late before their window ends.
func Keep(ctx context.Context, c store.Config, m *store.Metrics) (k *Keeper, err error) {
	k = &Keeper{}
	c.Timeout, c.Log = c.Grace/2, slog.New(slog.DiscardHandler)
	c.Now = func() time.Time {
		if at := k.now.Load(); at > 0 {
			return time.UnixMilli(at)
		}
		return time.Now()
	}
	if k.Store, err = OpenStore(ctx, c, m); err != nil {
		return nil, err
	}
	k.Writer = store.NewWriter(k.Store)
	return k, nil
}

// How many frames are written at once, and how many nodes' windows are closed. An answer takes
// 10 ms, which is how long Cassandra gathers writes.
const (
	framesAtOnce = 32
	nodesAtOnce  = 8
)

// Write stores a batch: frame by frame, then each window closed, and at the end of an hour and of a
// day these made. last: so they are at the end of the batch.
func (k *Keeper) Write(ctx context.Context, account string, b *fleet.Batch, last bool) error {
	defer k.now.Store(0)
	for w := range int((b.End - b.Start) / frame.WindowMillis) {
		start := b.Start + int64(w)*frame.WindowMillis
		k.now.Store(start + frame.WindowMillis - 1) // in time: late frames are read in two places
		var frames [][]byte
		for i := range b.Nodes {
			frames = append(frames, b.Nodes[i].Frames[w]...)
		}
		err := bench.AtOnce(ctx, len(frames), framesAtOnce, func(ctx context.Context, i int) error {
			return Patient(ctx, func() error {
				return k.Writer.WriteFrame(ctx, account, frames[i])
			})
		})
		if err != nil {
			return err
		}
		k.now.Store(start + frame.WindowMillis + store.DefaultConfig().Grace.Milliseconds())
		whole := last && start+frame.WindowMillis == b.End
		err = bench.AtOnce(ctx, len(b.Nodes), nodesAtOnce, func(ctx context.Context, i int) error {
			return k.close(ctx, account, b.Nodes[i].Node.ID, start, whole)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// close closes a window, and makes the hour and the day that end with it, or all the same.
func (k *Keeper) close(ctx context.Context, account string, id uuid.UUID, start int64,
	whole bool) error {
	end := start + frame.WindowMillis
	err := Patient(ctx, func() error {
		return k.Writer.CloseWindow(ctx, memory.Unbounded(), account, id, start)
	})
	if err == nil && (whole || end%rollup.Hour.Millis == 0) {
		err = Patient(ctx, func() error {
			return k.Writer.MakeHour(ctx, memory.Unbounded(), account, id, rollup.Hour.Start(start))
		})
	}
	if err == nil && (whole || end%rollup.Day.Millis == 0) {
		err = Patient(ctx, func() error {
			return k.Writer.MakeDay(ctx, memory.Unbounded(), account, id, rollup.Day.Start(start))
		})
	}
	return err
}

// patience is how long Patient goes on trying while Cassandra is too busy to answer.
const patience = 5 * time.Minute

// Patient does what may be tried again until it is done.
func Patient(ctx context.Context, do func() error) error {
	for began := time.Now(); ; {
		err := do()
		if err == nil || !store.Retryable(err) || time.Since(began) > patience {
			return err
		}
		if bench.Pass(ctx, time.Second) != nil {
			return err
		}
	}
}

// Values are those of a counter or a gauge, by the values of its labels with a space between them.
func Values(of *prometheus.Registry, name string) map[string]float64 {
	values := map[string]float64{}
	families, err := of.Gather()
	if err != nil {
		panic(err) // the registry is ours
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, l := range metric.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			values[strings.Join(labels, " ")] = metric.GetCounter().GetValue() +
				metric.GetGauge().GetValue()
		}
	}
	return values
}

// Sum is that of all of Values.
func Sum(of *prometheus.Registry, name string) (sum float64) {
	for _, v := range Values(of, name) {
		sum += v
	}
	return sum
}
