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

// newest returns the newest frame, its key frame and when the node was heard of by it, from the given windows, newest first, so that a node's state is one round trip. It goes on to
// older windows while what it has was not heard of since the window's beginning: then an older one may have what came later. ARGV: the windows' beginnings.
var newest = rueidis.NewLuaScriptReadOnly(`
local best, of, last, key = -1
for i = 1, #KEYS do
  local m = redis.call('HMGET', KEYS[i], 'last', 'key', 'seen')
  if m[1] and m[2] then
    local seen = tonumber(m[3] or m[1])
    if seen > best then
      best, of, last, key = seen, KEYS[i], m[1], m[2]
    end
  end
  if best >= tonumber(ARGV[i]) then
    break
  end
end
if best < 0 then
  return {}
end
local frames = redis.call('HMGET', of, last, key)
return {frames[1], frames[2], string.format('%.0f', best)}`)

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

// Latest returns the node's newest frame, and its key frame before it when that is another, and when the node was heard of by it, in milliseconds since the Unix epoch: the
// frame's time, but when it arrived if it is dated ahead of that. The error is ErrMiss when Redis does not hold both, and wraps ErrAway when Redis did not answer.
func (r *Reader) Latest(ctx context.Context, account string, node uuid.UUID) (frames [][]byte, seen int64, err error) {
	defer r.observe("latest", time.Now(), &err, nil)
	call, cancel := context.WithTimeout(ctx, r.config.ReadTimeout)
	defer cancel()
	client, err := r.link.get(call)
	if err != nil {
		return nil, 0, err
	}
	var keys, begins []string
	for _, w := range r.config.windows() {
		keys, begins = append(keys, windowKey(account, node, w)), append(begins, strconv.FormatInt(w, 10))
	}
	answer, err := newest.Exec(call, client, keys, begins).ToArray()
	if err != nil {
		return nil, 0, r.judge(ctx, err)
	}
	if len(answer) != 3 || answer[0].IsNil() || answer[1].IsNil() {
		return nil, 0, ErrMiss
	}
	var last, key []byte
	if last, err = answer[0].AsBytes(); err == nil {
		key, err = answer[1].AsBytes()
	}
	if err == nil {
		seen, err = answer[2].AsInt64()
	}
	if err != nil {
		return nil, 0, fmt.Errorf("recent: an answer of an unknown shape: %w", err)
	}
	h, _, err := frame.Parse(last)
	if err != nil {
		return nil, 0, fmt.Errorf("recent: a frame in Redis: %w", err)
	}
	if h.IsKey() {
		return [][]byte{last}, seen, nil
	}
	if k, _, err := frame.Parse(key); err != nil || k.Check != h.KeyCheck {
		return nil, 0, ErrMiss // another agent run wrote a key frame at the same instant: the store keeps both
	}
	return [][]byte{key, last}, seen, nil
}

// LastSeen returns when those of the nodes that Redis knows were heard of, in milliseconds since the Unix epoch, as Latest finds it. The window of now
// and those that a clock ahead of ours may have begun are asked for in one pipeline, for all nodes; who was not heard of since they began is looked for in the older ones.
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
				commands = append(commands, client.B().Hmget().Key(windowKey(account, n, w)).Field("seen", "last").Build())
			}
		}
		var still []uuid.UUID
		for i, result := range client.DoMulti(call, commands...) {
			n := missing[i/first]
			at, err := eitherOf(result)
			if err != nil {
				return nil, r.judge(ctx, err)
			}
			if at > seen[n] {
				seen[n] = at
			}
			if i%first == first-1 && seen[n] < windows[first-1] {
				still = append(still, n)
			}
		}
		missing = still
	}
	return seen, nil
}

// eitherOf reads the answer for seen and last; a hash of an earlier version has no seen. 0: there is no frame.
func eitherOf(result rueidis.RedisResult) (int64, error) {
	fields, err := result.ToArray()
	if err != nil {
		return 0, err
	}
	for _, f := range fields {
		if !f.IsNil() {
			return f.AsInt64()
		}
	}
	return 0, nil
}

// fetch asks for all frames of some windows of a node in one pipeline.
func (r *Reader) fetch(ctx context.Context, account string, node uuid.UUID, windows []int64) (map[int64][]byte, error) {
	call, cancel := context.WithTimeout(ctx, r.config.ReadTimeout)
	defer cancel()
	client, err := r.link.get(call)
	if err != nil {
		return nil, err
	}
	var commands rueidis.Commands
	for _, w := range windows {
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
				continue // last, key, seen
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
