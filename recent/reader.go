package recent

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/rueidis"

	"github.com/ringwatch/ringwatch/frame"
)

// newest returns the newest frame and its key frame from the first of the given windows that has any, so that a node's state is one round trip.
var newest = rueidis.NewLuaScriptReadOnly(`
for i = 1, #KEYS do
  local m = redis.call('HMGET', KEYS[i], 'last', 'key')
  if m[1] and m[2] then
    return redis.call('HMGET', KEYS[i], m[1], m[2])
  end
end
return {}`)

// Reader takes frames out of Redis. Its methods may be called from several goroutines.
type Reader struct {
	config  Config
	link    *link
	metrics *readerMetrics
	touches touches
}

// NewReader validates the configuration and registers the reader's metrics. It connects when first asked.
func NewReader(c Config, reg prometheus.Registerer) (*Reader, error) {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("recent: %w", err)
	}
	r := &Reader{config: c, metrics: newReaderMetrics(reg)}
	r.link = newLink(&r.config)
	r.touches = touches{config: &r.config, link: r.link, told: map[string]int64{}}
	return r, nil
}

// Latest returns the node's newest frame, and its key frame before it when that is another. The error is ErrMiss when Redis does not hold
// both, and wraps ErrAway when Redis did not answer.
func (r *Reader) Latest(ctx context.Context, account string, node uuid.UUID) (frames [][]byte, err error) {
	defer r.observe("latest", time.Now(), &err, nil)
	call, cancel := context.WithTimeout(ctx, r.config.ReadTimeout)
	defer cancel()
	client, err := r.link.get(call)
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, w := range r.config.windows() {
		keys = append(keys, windowKey(account, node, w))
	}
	answer, err := newest.Exec(call, client, keys, nil).ToArray()
	if err != nil {
		return nil, r.judge(ctx, err)
	}
	if len(answer) != 2 || answer[0].IsNil() || answer[1].IsNil() {
		return nil, ErrMiss
	}
	var last, key []byte
	if last, err = answer[0].AsBytes(); err == nil {
		key, err = answer[1].AsBytes()
	}
	if err != nil {
		return nil, fmt.Errorf("recent: an answer of an unknown shape: %w", err)
	}
	h, _, err := frame.Parse(last)
	if err != nil {
		return nil, fmt.Errorf("recent: a frame in Redis: %w", err)
	}
	if h.IsKey() {
		return [][]byte{last}, nil
	}
	if k, _, err := frame.Parse(key); err != nil || k.Check != h.KeyCheck {
		return nil, ErrMiss // another agent run wrote a key frame at the same instant: the store keeps both
	}
	return [][]byte{key, last}, nil
}

// LastSeen returns the time of the newest frame, in milliseconds since the Unix epoch, of those of the nodes that Redis knows, as Latest finds it. The window of now
// and those that a clock ahead of ours may have begun are asked for in one pipeline, for all nodes; who is in none of them is looked for in the older ones.
func (r *Reader) LastSeen(ctx context.Context, account string, nodes []uuid.UUID) (seen map[uuid.UUID]int64, err error) {
	defer r.observe("last_seen", time.Now(), &err, nil)
	call, cancel := context.WithTimeout(ctx, r.config.ReadTimeout)
	defer cancel()
	client, err := r.link.get(call)
	if err != nil {
		return nil, err
	}
	seen = make(map[uuid.UUID]int64, len(nodes))
	windows := r.config.windows()
	first := 1 + int((windows[0]-frame.WindowOf(r.config.millis()))/frame.WindowMillis)
	for missing := nodes; len(missing) > 0 && len(windows) > 0; windows, first = windows[first:], 1 {
		commands := make(rueidis.Commands, 0, first*len(missing))
		for _, n := range missing {
			for _, w := range windows[:first] {
				commands = append(commands, client.B().Hget().Key(windowKey(account, n, w)).Field("last").Build())
			}
		}
		var still []uuid.UUID
		for i, result := range client.DoMulti(call, commands...) {
			n := missing[i/first]
			at, err := result.AsInt64()
			switch {
			case err == nil && seen[n] == 0: // the newest window's
				seen[n] = at
			case err != nil && !rueidis.IsRedisNil(err):
				return nil, r.judge(ctx, err)
			}
			if i%first == first-1 && seen[n] == 0 {
				still = append(still, n)
			}
		}
		missing = still
	}
	return seen, nil
}

// fetch asks for all frames of the windows from first to last of a node in one pipeline.
func (r *Reader) fetch(ctx context.Context, account string, node uuid.UUID, first, last int64) (map[int64][]byte, error) {
	call, cancel := context.WithTimeout(ctx, r.config.ReadTimeout)
	defer cancel()
	client, err := r.link.get(call)
	if err != nil {
		return nil, err
	}
	var commands rueidis.Commands
	for w := first; w <= last; w += frame.WindowMillis {
		commands = append(commands, client.B().Hgetall().Key(windowKey(account, node, w)).Build())
	}
	frames := map[int64][]byte{}
	for _, result := range client.DoMulti(call, commands...) {
		fields, err := result.AsMap()
		if err != nil {
			return nil, r.judge(ctx, err)
		}
		for name, m := range fields {
			at, err := strconv.ParseInt(name, 10, 64)
			if err != nil {
				continue // last, key
			}
			if frames[at], err = m.AsBytes(); err != nil {
				return nil, fmt.Errorf("recent: an answer of an unknown shape: %w", err)
			}
		}
	}
	return frames, nil
}

func (r *Reader) judge(ctx context.Context, err error) error {
	if err = r.link.judge(ctx, err); errors.Is(err, ErrAway) || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("recent: Redis refused a read: %w", err)
}

func (r *Reader) observe(call string, began time.Time, err *error, complete *bool) {
	result := readHit
	switch {
	case errors.Is(*err, ErrMiss):
		result = readMiss
	case *err != nil:
		result = readError
	case complete != nil && !*complete:
		result = readPartial
	}
	r.metrics.reads.WithLabelValues(call, result).Inc()
	r.metrics.seconds.WithLabelValues(call).Observe(time.Since(began).Seconds())
}

// Ping returns nil when Redis answers.
func (r *Reader) Ping(ctx context.Context) error { return r.link.ping(ctx) }

// Close ends the connections to Redis.
func (r *Reader) Close() {
	r.touches.close()
	r.link.close()
}

// Do calls f with the reader's connection to Redis, for what is kept there beside frames. The error is f's, or wraps ErrAway when Redis is known to be away; an error of Redis's
// connection makes it count as away for everybody, but not one that comes from ctx having ended.
func (r *Reader) Do(ctx context.Context, f func(rueidis.Client) error) error {
	client, err := r.link.get(ctx)
	if err != nil {
		return err
	}
	return r.link.judge(ctx, f(client))
}
