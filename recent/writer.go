package recent

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/rueidis"

	"github.com/ringwatch/ringwatch/frame"
)

// Record is a frame as it comes from the log.
type Record struct {
	Account   string
	Partition int32
	Offset    int64
	Value     []byte // one frame
}

// batchFrames is how many frames go to Redis in one pipeline: a few hundred KB, so that one slow batch is a small part of the deadline.
const batchFrames = 256

// put writes one frame, keeps last and key at the newest, and renews the time to live, all in one command: Redis cannot stop between them.
// ARGV: at, frame, at of its key frame, seconds to live.
var put = rueidis.NewLuaScript(`
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
local last = redis.call('HGET', KEYS[1], 'last')
if not last or tonumber(last) <= tonumber(ARGV[1]) then
  redis.call('HSET', KEYS[1], 'last', ARGV[1], 'key', ARGV[3])
end
redis.call('EXPIRE', KEYS[1], ARGV[4])
return 1`)

// Writer puts frames into Redis. It holds nothing between calls; one Writer serves all partitions of a consumer, one call at a time.
//
// Overload rule: a Handle never takes longer than WriteTimeout. What Redis did not take by then is dropped and counted.
type Writer struct {
	config  Config
	link    *link
	metrics *writerMetrics
}

// NewWriter validates the configuration and registers the writer's metrics. It connects when the first frame comes.
func NewWriter(c Config, reg prometheus.Registerer) (*Writer, error) {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	w := &Writer{config: c, metrics: newWriterMetrics(reg)}
	w.link = newLink(&w.config)
	return w, nil
}

// Handle writes the records' frames: one command per frame, pipelined. It returns an error only when ctx ended, and then the records
// are to be handled again, which is harmless. What Redis cannot take is dropped and counted.
func (w *Writer) Handle(ctx context.Context, records []Record) error {
	w.metrics.accepted.Add(float64(len(records)))
	w.metrics.pending.Add(float64(len(records)))
	deadline, cancel := context.WithTimeout(ctx, w.config.WriteTimeout)
	defer cancel()
	oldest := w.config.millis() - w.config.Keep.Milliseconds()
	ttl := strconv.FormatInt(int64(w.config.Keep/time.Second), 10)
	batch := make([]rueidis.LuaExec, 0, min(batchFrames, len(records)))
	for i := range records {
		r := &records[i]
		h, _, err := frame.Parse(r.Value)
		switch {
		case err != nil:
			w.drop(dropMalformed, 1)
		case h.At < oldest:
			w.drop(dropOld, 1)
		default:
			batch = append(batch, rueidis.LuaExec{
				Keys: []string{windowKey(r.Account, h.Node, h.Window())},
				Args: []string{strconv.FormatInt(h.At, 10), rueidis.BinaryString(r.Value), strconv.FormatInt(h.KeyAt(), 10), ttl},
			})
		}
		if len(batch) == batchFrames || i == len(records)-1 && len(batch) > 0 {
			w.write(ctx, deadline, batch)
			batch = batch[:0]
		}
	}
	return ctx.Err()
}

func (w *Writer) write(ctx, deadline context.Context, batch []rueidis.LuaExec) {
	began := time.Now()
	client, err := w.link.get(deadline)
	if err != nil {
		w.drop(dropAway, len(batch))
		return
	}
	for i, result := range put.ExecMulti(deadline, client, batch...) {
		err := result.Error()
		if err == nil {
			w.metrics.written.Inc()
			w.metrics.pending.Dec()
			w.metrics.bytes.Add(float64(len(batch[i].Args[1])))
			continue
		}
		if _, refused := rueidis.IsRedisErr(err); refused {
			w.drop(dropRefused, 1)
			continue
		}
		_ = w.link.judge(ctx, err) // the count says it
		w.drop(dropAway, 1)
	}
	w.metrics.seconds.Observe(time.Since(began).Seconds())
}

func (w *Writer) drop(reason string, n int) {
	w.metrics.dropped.WithLabelValues(reason).Add(float64(n))
	w.metrics.pending.Sub(float64(n))
}

// Tick does nothing: nothing is held between calls.
func (w *Writer) Tick(ctx context.Context, now time.Time) error { return nil }

// LowWater says that nothing before the next record of a partition is needed again: what was handled is in Redis or was dropped for good.
// A consumer that starts again in the middle of a window finds the window's key frame in Redis, where its predecessor put it; if Redis
// lost it meanwhile, readers miss and go to the store until the next window begins.
func (w *Writer) LowWater(partition int32) (offset int64, held bool) { return 0, false }

// Revoke does nothing: another consumer of the partition writes the same hashes, and writing a frame twice is writing it once.
func (w *Writer) Revoke(partition int32) {}

// Ping returns nil when Redis answers.
func (w *Writer) Ping(ctx context.Context) error { return w.link.ping(ctx) }

// Close ends the connections to Redis.
func (w *Writer) Close() { w.link.close() }
