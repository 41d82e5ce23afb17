// Package recent keeps the last fifteen minutes of every node in Redis, or in the memory of the
// process where there is none, because the newest values are what nearly all readers ask for.
//
// One hash per account, node and window holds the frames as they were received, so a value takes
// what the wire format made of it and no name is repeated. Start with Writer and Reader:
//
//	log ─▶ Writer.Handle ─▶ backend (redisBackend or Memory) ─▶ Reader.Latest, Frames, Instants
//	       Writer.Run: which clusters are read ◀─ Reader.Touch
//	                   reads the last minutes of those that became so again from the log
//
// What it promises: every write carries its time to live, so what nobody renews is not kept. A
// Reader says whether a range is complete, and never guesses: it judges by the agents' own
// sequence numbers and, where an agent started, by what the Writer saw in the log. Neither side
// waits longer than its deadline for a Redis that is slow or away, and both go on by themselves
// when it is back.
//
// What bites:
//   - A frame that is dated ahead of its arrival, by a wrong clock or a hostile sender, counts
//     from its arrival. So it hides nothing that comes after it.
//   - What is kept is a copy. Losing it, wiping it or starving it loses nothing: frames that
//     cannot be written are dropped and counted, and readers go to the store for them.
//   - After an outage the rest of a window may lack its key frame. Its delta frames cannot be
//     read, so it is a miss until the next window.
//
// It may import frame, access and stream.
//
// Keys and fields in Redis, all under one hash tag so that a node lives on one shard of a Redis
// Cluster. WINDOW is the window's beginning and AT the time of a frame, both in milliseconds
// since the Unix epoch:
//
//	rw:{ACCOUNT/NODE}:WINDOW   AT    the frame taken at AT, as received
//	                           last  AT of the newest frame
//	                           key   AT of the key frame that the newest frame needs
//	                           seen  when the node was heard of by the newest frame: its AT, but when it arrived if it is dated ahead
//	                           drawn, writes  a number drawn for the window, and how often it was written to
//	rw:active                        the clusters that are read: ACCOUNT/CLUSTER with the time of the last read
//	rw:warm:{ACCOUNT/CLUSTER}        is there while a writer keeps all of the cluster's last minutes here
//	rw:starts:{ACCOUNT/CLUSTER} NODE where runs of the node's agent begin: AFTER-AT, …, between which the log has no frame of it
package recent

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/ringwatch/ringwatch/access/certs"
	"github.com/ringwatch/ringwatch/frame"
)

// Errors of a Reader.
var (
	// ErrMiss says that what was asked for is not kept.
	ErrMiss = errors.New("recent: not kept")
	// ErrAway says that Redis did not answer just now and is not asked again for a moment.
	ErrAway = errors.New("recent: Redis is away")
)

// Config says where Redis is and how long to wait for it.
type Config struct {
	// host:port of one server, or of some of a cluster's; none: Memory
	Addresses []string     `yaml:"addresses"`
	Username  string       `yaml:"username"`
	Password  string       `yaml:"password"`
	TLS       certs.Client `yaml:"tls"`

	// DialTimeout is short because a caller waits: the store can answer in a few milliseconds.
	DialTimeout time.Duration `yaml:"dial_timeout"`
	// ReadTimeout bounds one call of a Reader, whatever Redis does.
	ReadTimeout time.Duration `yaml:"read_timeout"`
	// WriteTimeout bounds one Handle of a Writer, and so how long a partition can stand still.
	WriteTimeout time.Duration `yaml:"write_timeout"`
	// Backoff is how long Redis is left alone after it failed to answer: meanwhile readers and
	// writers fail at once.
	Backoff time.Duration `yaml:"backoff"`
	// Keep is the time to live of a window after its last write, and the age at which a frame is
	// no longer written.
	Keep time.Duration `yaml:"keep"`

	// ActiveFor is how long after its last read through the API a cluster is kept. 0: all
	// clusters always are.
	ActiveFor time.Duration `yaml:"active_for"`
	// Refresh is how often writers learn which clusters are read, and the most often that a
	// reader says so of one.
	Refresh time.Duration `yaml:"refresh"`

	// KnownBytes bounds the windows that a Reader remembers as they were fetched from Redis; 0:
	// none.
	KnownBytes int64 `yaml:"-"`

	// keeps everything if there are no addresses; one for all roles of a process
	Memory *Memory          `yaml:"-"`
	Clock  func() time.Time `yaml:"-"` // time.Now unless a test says otherwise
	// takes that the files of TLS have changed; nil: slog.Default()
	Log *slog.Logger `yaml:"-"`
}

// DefaultConfig returns no Redis, and deadlines for a network where it usually answers within a
// millisecond.
func DefaultConfig() Config {
	return Config{
		TLS:          certs.Section("redis.tls"),
		DialTimeout:  200 * time.Millisecond,
		ReadTimeout:  2 * time.Second,
		WriteTimeout: 2 * time.Second,
		Backoff:      500 * time.Millisecond,
		Keep:         15 * time.Minute,
		ActiveFor:    time.Hour,
		Refresh:      5 * time.Second,
		KnownBytes:   64 << 20,
		Clock:        time.Now,
	}
}

// Validate returns everything that is wrong with the configuration, at once.
func (c *Config) Validate() error {
	var wrong []error
	for _, a := range c.Addresses {
		if _, _, err := net.SplitHostPort(a); err != nil {
			wrong = append(wrong, fmt.Errorf("addresses: %q is not host:port", a))
		}
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"dial_timeout", c.DialTimeout}, {"read_timeout", c.ReadTimeout},
		{"write_timeout", c.WriteTimeout}, {"backoff", c.Backoff}, {"refresh", c.Refresh}} {
		if d.value <= 0 {
			wrong = append(wrong, fmt.Errorf("%s is %v: use more than 0", d.name, d.value))
		}
	}
	if c.Keep < time.Second {
		wrong = append(wrong, fmt.Errorf("keep is %v: use at least 1s", c.Keep))
	}
	if c.ActiveFor != 0 && c.ActiveFor < time.Minute {
		wrong = append(wrong,
			fmt.Errorf("active_for is %v: use at least 1m, or 0 to keep all clusters", c.ActiveFor))
	}
	return errors.Join(wrong...)
}

func (c *Config) millis() int64 { return c.Clock().UnixMilli() }

// maxAhead is how far a node's clock may be ahead before its newest window is not looked for, in
// ms: as far as ingest allows.
const maxAhead = 600_000

// windows returns the beginnings of the windows that may hold something not older than keep,
// newest first.
func (c *Config) windows() []int64 {
	now := c.millis()
	newest, oldest := frame.WindowOf(now+maxAhead), frame.WindowOf(now-c.Keep.Milliseconds())
	var list []int64
	for w := newest; w >= oldest; w -= frame.WindowMillis {
		list = append(list, w)
	}
	return list
}
