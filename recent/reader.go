package recent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/rueidis"

	"github.com/ringwatch/ringwatch/frame"
)

// Reader takes out what a Writer keeps. Its methods may be called from several goroutines.
type Reader struct {
	config   Config
	backend  backend
	metrics  *readerMetrics
	activity activity
}

// NewReader validates the configuration and registers the reader's metrics. It connects when
// first asked.
func NewReader(c Config, reg prometheus.Registerer) (*Reader, error) {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("recent: %w", err)
	}
	r := &Reader{config: c}
	var err error
	if r.backend, err = r.config.openBackend(); err != nil {
		return nil, err
	}
	r.metrics = newReaderMetrics(reg)
	r.activity = activity{config: &r.config, backend: r.backend, sent: map[string]int64{}}
	return r, nil
}

// Latest returns the node's newest frame, and its key frame before it when that is another, and
// when the node was heard of by it, in milliseconds since the Unix epoch: the frame's time, but
// when it arrived if it is dated ahead of that. The error is ErrMiss when not both are kept, and
// wraps ErrAway when Redis did not answer.
func (r *Reader) Latest(ctx context.Context, account string,
	node uuid.UUID) (frames [][]byte, seen int64, err error) {
	defer r.observe("latest", time.Now(), &err, nil)
	call, cancel := within(ctx, r.config.ReadTimeout)
	defer cancel()
	last, key, seen, err := r.backend.newest(call, windowIDs(account, node, r.config.windows()))
	if err != nil {
		return nil, 0, r.failed(ctx, err)
	}
	if last == nil || key == nil {
		return nil, 0, ErrMiss
	}
	h, _, err := frame.Parse(last)
	if err != nil {
		return nil, 0, fmt.Errorf("recent: a kept frame: %w", err)
	}
	if h.IsKey() {
		return [][]byte{last}, seen, nil
	}
	if k, _, err := frame.Parse(key); err != nil || k.Check != h.KeyCheck {
		// another agent run wrote a key frame at the same instant: the store keeps both
		return nil, 0, ErrMiss
	}
	return [][]byte{key, last}, seen, nil
}

// LastSeen returns when those of the nodes that are kept were heard of, in milliseconds since the
// Unix epoch, as Latest finds it. The window of now and those that a clock ahead of ours may have
// begun are asked for at once, for all nodes; who was not heard of since they began is looked for
// in the older ones.
func (r *Reader) LastSeen(ctx context.Context, account string,
	nodes []uuid.UUID) (seen map[uuid.UUID]int64, err error) {
	defer r.observe("last_seen", time.Now(), &err, nil)
	call, cancel := within(ctx, r.config.ReadTimeout)
	defer cancel()
	seen = make(map[uuid.UUID]int64, len(nodes))
	windows := r.config.windows()
	first := 1 + int((windows[0]-frame.WindowOf(r.config.millis()))/frame.WindowMillis)
	for missing := nodes; len(missing) > 0 && len(windows) > 0; windows, first = windows[first:],
		1 {
		asked := make([]windowID, 0, first*len(missing))
		for _, n := range missing {
			asked = append(asked, windowIDs(account, n, windows[:first])...)
		}
		heard, err := r.backend.seenIn(call, asked)
		if err != nil {
			return nil, r.failed(ctx, err)
		}
		var still []uuid.UUID
		for i, n := range missing {
			if at := slices.Max(heard[i*first : (i+1)*first]); at > seen[n] {
				seen[n] = at
			}
			if seen[n] < windows[first-1] {
				still = append(still, n)
			}
		}
		missing = still
	}
	return seen, nil
}

// windowIDs are windows of a node.
func windowIDs(account string, node uuid.UUID, windows []int64) []windowID {
	list := make([]windowID, len(windows))
	for i, w := range windows {
		list[i] = windowID{account, node, w}
	}
	return list
}

// fetch returns all frames of some windows of a node.
func (r *Reader) fetch(ctx context.Context, account string, node uuid.UUID,
	windows []int64) (map[int64][]byte, error) {
	call, cancel := within(ctx, r.config.ReadTimeout)
	defer cancel()
	frames, err := r.backend.frames(call, windowIDs(account, node, windows))
	return frames, r.failed(ctx, err)
}

// failed says of an error whose it is.
func (r *Reader) failed(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, ErrAway) || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("recent: a read was refused: %w", err)
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

// Ping returns nil when what keeps the frames answers.
func (r *Reader) Ping(ctx context.Context) error {
	call, cancel := within(ctx, r.config.ReadTimeout)
	defer cancel()
	return r.backend.ping(call)
}

// Close ends the connections to Redis.
func (r *Reader) Close() {
	r.activity.close()
	r.backend.close()
}

// Redis returns what calls a function with the reader's connection to Redis, for what is counted
// there beside frames; nil if there is no Redis, so that each process counts for itself. The
// error is the function's, or wraps ErrAway when Redis is known to be away; an error of Redis's
// connection makes it count as away for everybody, but not one that comes from ctx having ended.
func (r *Reader) Redis() func(ctx context.Context, f func(rueidis.Client) error) error {
	if l, is := r.backend.(*redisBackend); is {
		return l.do
	}
	return nil
}
