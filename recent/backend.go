package recent

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

// backend is where Writer and Reader keep the last minutes: a Redis for many processes or a Memory
// for one. It keeps frames by their time, and sets and hashes by name, each until its time to live
// has ended. It knows neither sequence numbers nor the log. Any of it may be lost at any time.
//
// Errors wrap ErrAway if the backend does not answer, and are ctx's if the caller ended it; all
// others are refusals. Nothing that is returned may be written to.
type backend interface {
	// put writes frames, each with a time to live of its whole window, and returns an error for
	// each.
	put(ctx context.Context, list []entry, ttl time.Duration) []error
	// newest returns the newest frame of windows of one node, newest window first, the frame that
	// it is a delta to, and when the node was heard of by it: see seenAt. last is nil if there is
	// none.
	newest(ctx context.Context, windows []windowID) (last, key []byte, seen int64, err error)
	// seenIn returns when a node was heard of by the newest frame of each window; 0: there is none.
	seenIn(ctx context.Context, windows []windowID) ([]int64, error)
	// frames returns all frames of windows of one node, by their time.
	frames(ctx context.Context, windows []windowID) (map[int64][]byte, error)
	// times returns by window when its frames were taken, in no order.
	times(ctx context.Context, windows []windowID) ([][]int64, error)
	// frameAt returns single frames; nil for one that is not there.
	frameAt(ctx context.Context, list []frameID) ([][]byte, error)

	// addToSet puts members into a set with the time now, in ms, and removes those that were put
	// longer ago than keep, the set's time to live.
	addToSet(ctx context.Context, set string, members []string, now int64, keep time.Duration) error
	// setMembers returns the members that were put at since, in ms, or later.
	setMembers(ctx context.Context, set string, since int64) ([]string, error)

	// setHashes replaces whole hashes. One without fields is removed.
	setHashes(ctx context.Context, list []hash, ttl time.Duration) error
	// hashField returns the value of a field, "" if there is none.
	hashField(ctx context.Context, name, field string) (string, error)
	// renew gives hashes their time to live again, and says of each whether it was there.
	renew(ctx context.Context, names []string, ttl time.Duration) ([]bool, error)

	// addSender notes that a sender sent at now, in ms. It returns true if another one has sent
	// since this one did so before.
	addSender(ctx context.Context, name, sender string, now int64) (bool, error)

	// memoryUsage returns how full a Redis is, in bytes; most is 0 if it has no limit.
	memoryUsage(ctx context.Context) (used, most float64, known bool)
	ping(ctx context.Context) error
	close()
}

// windowID is one window of one node.
type windowID struct {
	account string
	node    uuid.UUID
	window  int64 // its beginning, in ms
}

// frameID is the time of one frame, in ms.
type frameID struct {
	windowID
	at int64
}

// entry is a frame and what a backend must know of it.
type entry struct {
	windowID
	at, keyAt, seen int64 // ms: its time, that of its key frame, and seenAt
	frame           []byte
}

// hash is the fields under a name.
type hash struct {
	name   string
	fields []string // name, value, …
}

// openBackend returns what keeps the last minutes: a connection to Redis if that has an address,
// else the memory of the process.
func (c *Config) openBackend() (backend, error) {
	switch {
	case len(c.Addresses) > 0:
		return newRedisBackend(c), nil
	case c.Memory != nil:
		return c.Memory, nil
	}
	return nil, errors.New("recent: addresses is empty: name at least one host:port of Redis")
}

// errSlow is the cause of a context that ended because the backend took too long, not because the
// caller left.
var errSlow = errors.New("no answer in time")

// within bounds how long a backend may take.
func within(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, timeout, errSlow)
}
