package recent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/stream"
)

// batchFrames is how many frames are put at once: a few hundred KB, so that one slow batch is a
// small part of the deadline.
const batchFrames = 256

// Writer keeps the frames of clusters that are read. One Writer serves all partitions of a
// consumer, one Handle at a time; Run is beside it.
//
// Overload rule: a Handle never takes longer than WriteTimeout. What Redis did not take by then
// is dropped and counted, and read again from the log when Redis is back.
type Writer struct {
	config   Config
	backend  backend
	metrics  *writerMetrics
	again    Again
	clusters *clusters
	behind   chan struct{} // there are gaps
}

// NewWriter validates the configuration and registers the writer's metrics. It connects when the
// first frame comes. again may be nil if ActiveFor is 0.
func NewWriter(c Config, again Again, reg prometheus.Registerer) (*Writer, error) {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("recent: %w", err)
	}
	w := &Writer{config: c, again: again, clusters: newClusters(), behind: make(chan struct{}, 1)}
	var err error
	if w.backend, err = w.config.openBackend(); err != nil {
		return nil, err
	}
	w.metrics = newWriterMetrics(reg)
	return w, nil
}

// Handle writes the records' frames, those of clusters that are read. It returns an error only
// when ctx ended, and then the records are to be handled again, which is harmless. What cannot be
// kept is dropped and counted.
func (w *Writer) Handle(ctx context.Context, records []stream.Record) error {
	w.metrics.accepted.Add(float64(len(records)))
	w.metrics.pending.Add(float64(len(records)))
	deadline, cancel := within(ctx, w.config.WriteTimeout)
	defer cancel()
	if w.config.ActiveFor > 0 && !w.clusters.known() {
		w.refresh(deadline)
	}
	batch, of := w.entries(records, w.config.millis()-w.config.Keep.Milliseconds(), w.admit)
	for len(batch) > 0 {
		n := min(batchFrames, len(batch))
		w.write(deadline, batch[:n], of[:n])
		batch, of = batch[n:], of[n:]
	}
	return ctx.Err()
}

// admit says whether a record is written, and counts it if not.
func (w *Writer) admit(r *stream.Record, h *frame.Header) bool {
	if w.config.ActiveFor == 0 {
		return true
	}
	wanted, known := w.clusters.admit(clusterKey(r.Account, r.Cluster), r, h, w.config.millis())
	switch {
	case !wanted:
		w.drop(dropInactive, 1)
	case !known: // Redis has not answered since we started
		w.clusters.lost(r)
		w.drop(dropAway, 1)
	}
	return wanted && known
}

// entries returns what to put of records not older than oldest, in ms, and of which record each
// is. What cannot be written is left out, and counted if admit is there.
func (w *Writer) entries(records []stream.Record, oldest int64,
	admit func(*stream.Record, *frame.Header) bool) (batch []entry, of []*stream.Record) {
	for i := range records {
		r := &records[i]
		h, _, err := frame.Parse(r.Value)
		if err == nil && admit != nil {
			w.clusters.observe(r, &h)
		}
		reason := ""
		switch {
		case err != nil:
			reason = dropMalformed
		case h.At < oldest:
			reason = dropOld
		case admit != nil && !admit(r, &h):
			continue
		}
		if reason != "" {
			if admit != nil {
				w.drop(reason, 1)
			}
			continue
		}
		received := r.Received
		if received.IsZero() {
			received = w.config.Clock()
		}
		batch = append(batch, entry{
			windowID: windowID{r.Account, h.Node, h.Window()},
			at:       h.At, keyAt: h.KeyAt(), seen: seenAt(h.At, received),
			frame: r.Value,
		})
		of = append(of, r)
	}
	return batch, of
}

func (w *Writer) write(ctx context.Context, batch []entry, of []*stream.Record) {
	began := time.Now()
	written := false
	for i, err := range w.backend.put(ctx, batch, w.config.Keep) {
		if err == nil {
			written = true
			w.metrics.written.Inc()
			w.metrics.pending.Dec()
			w.metrics.bytes.Add(float64(len(batch[i].frame)))
			continue
		}
		w.clusters.lost(of[i])
		if errors.Is(err, ErrAway) || ctx.Err() != nil {
			w.drop(dropAway, 1)
		} else {
			w.drop(dropRefused, 1)
		}
	}
	if written {
		w.metrics.seconds.Observe(time.Since(began).Seconds())
	}
}

func (w *Writer) drop(reason string, n int) {
	w.metrics.dropped.WithLabelValues(reason).Add(float64(n))
	w.metrics.pending.Sub(float64(n))
}

// Tick implements stream.Handler. It does nothing: what is due by time is Run's.
func (w *Writer) Tick(context.Context, time.Time) error { return nil }

// LowWater says that nothing before the next record of a partition is needed again: what was
// handled is in Redis or was dropped for good. A consumer that starts again in the middle of a
// window finds the window's key frame in Redis, where its predecessor put it; if Redis lost it
// meanwhile, the cluster's mark is gone too, and its last minutes are read again.
func (w *Writer) LowWater(partition int32) (offset int64, held bool) { return 0, false }

// Revoke forgets the partition's clusters: another consumer writes the same hashes, and writing a
// frame twice is writing it once.
func (w *Writer) Revoke(partition int32) { w.clusters.revoke(partition) }

// Ping returns nil when what keeps the frames answers.
func (w *Writer) Ping(ctx context.Context) error {
	call, cancel := within(ctx, w.config.ReadTimeout)
	defer cancel()
	return w.backend.ping(call)
}

// Close ends the connections to Redis.
func (w *Writer) Close() { w.backend.close() }
