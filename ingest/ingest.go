// Package ingest takes frames over HTTP, checks them, and forwards the same bytes. Begin with
// Server. Of our packages it imports access, frame and memory.
//
// What it promises:
//   - A 2xx is sent only after all in-sync replicas have the frame.
//   - What is answered 4xx was not forwarded, and sending it again makes no sense; 429 and 503
//     say when to send it again. Every refusal is one sentence with the remedy and is counted by
//     its reason.
//   - Memory is bounded by Config.MaxInFlightBytes plus what a few frames take while they are
//     checked. An account, and an address, can have only a share of it, so a slow or hostile sender
//     is in nobody else's way.
//
// What bites:
//   - After a 503 the frame may be in Kafka all the same. Its sender sends it again, and consumers
//     cope with both.
//   - A delta frame is checked only to the end of its compression: reading it needs its key
//     frame, which ingest does not keep.
package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
)

// FramesPath is where frames are posted to.
const FramesPath = "/v1/frames"

// SentHeader is the request header in which a sender gives its clock at the time of sending, in
// ms since the Unix epoch. With it a wrong clock is told from a frame that waited in a spool.
const SentHeader = "Ringwatch-Sent"

// ClockHeader is the header of every answer to frames, refusals included, in which ingest gives its
// own clock at the time of answering, in ms since the Unix epoch. By it agents tell how far their
// node's clock is off.
const ClockHeader = "Ringwatch-Clock"

// Config says where to listen and what to refuse.
type Config struct {
	Listen string       `yaml:"listen"` // loopback unless told otherwise
	TLS    listener.TLS `yaml:"tls"`
	// TrustedProxies are the networks of the proxies in front; their X-Forwarded-For says where a
	// request comes from.
	TrustedProxies listener.Proxies `yaml:"trusted_proxies"`
	// a log line for each request; 10,000 nodes at 5 s make 2,000 a second
	AccessLog bool `yaml:"access_log"`

	MaxFrameBytes int64 `yaml:"max_frame_bytes"` // a key frame of 10,000 tables is about 2 MiB
	MaxRawBytes   int   `yaml:"max_raw_bytes"`   // of a payload, unpacked
	// entities × metrics of a key frame; 10,000 tables have 2 million
	MaxSeries int `yaml:"max_series"`
	// entities × histograms × buckets of a key frame; 10,000 tables have 40 million
	MaxBuckets int `yaml:"max_buckets"`
	// of a payload of more than a MiB to its frame; recorded ones have 3.4 at most
	MaxRatio int `yaml:"max_ratio"`

	// what reading a key frame may take, in bytes; 10,000 busy tables take 60 MB
	MaxFrameMemory int64 `yaml:"max_frame_memory"`
	// of an account at one ingest process, unpacked; a core unpacks 320 MB a second
	RawBytesPerSecond int64 `yaml:"raw_bytes_per_second"`

	MaxSkew time.Duration `yaml:"max_skew"` // how far a sender's clock may be off; two windows
	// of a frame that waited; the time raw data is kept, since older rows would expire at once
	MaxAge time.Duration `yaml:"max_age"`

	// of an account at all ingest processes together; 10,000 nodes at 5 s are 2,000
	FramesPerSecond float64 `yaml:"frames_per_second"`
	FramesBurst     int     `yaml:"frames_burst"` // agents emptying their spools at once

	// of an account; a node that is gone is forgotten with its raw data
	MaxNodes int `yaml:"max_nodes"`
	// of an account at all ingest processes together, as many at once; a fleet of 10,000 nodes is
	// rolled out
	NewNodesPerHour int `yaml:"new_nodes_per_hour"`
	// the same for series that a key frame names for the first time; 10,000 nodes of 16,000
	// series, and a table on each
	NewSeriesPerHour int64 `yaml:"new_series_per_hour"`

	// of bodies, as they arrive, and payloads at once; beyond it 503
	MaxInFlightBytes int64 `yaml:"max_in_flight_bytes"`
	// of max_in_flight_bytes, for one account; beyond it 429. A frame always fits
	AccountShare float64 `yaml:"account_share"`
	// the same for one address; all nodes behind one proxy share it unless that is in
	// trusted_proxies
	AddressShare float64 `yaml:"address_share"`

	// for a body to arrive; a slow sender holds its bytes that long
	BodyTimeout time.Duration `yaml:"body_timeout"`
	// for a body to begin; afterwards it comes at body_bytes_per_second at least
	BodyGrace time.Duration `yaml:"body_grace"`
	// BodyBytesPerSecond is far below what a body needs that fills max_frame_bytes within
	// body_timeout; it is for who sends a byte now and then.
	BodyBytesPerSecond int64         `yaml:"body_bytes_per_second"`
	DrainTimeout       time.Duration `yaml:"drain_timeout"` // for requests under way when stopping
}

// DefaultConfig is for a fleet of 10,000 nodes.
func DefaultConfig() Config {
	return Config{
		Listen: "127.0.0.1:9471", MaxFrameBytes: 8 << 20, MaxRawBytes: 32 << 20,
		MaxSeries: 4_000_000, MaxBuckets: 100_000_000, MaxRatio: 100, MaxFrameMemory: 128 << 20,
		RawBytesPerSecond: 256 << 20,
		MaxSkew:           10 * time.Minute, MaxAge: 14 * 24 * time.Hour, FramesPerSecond: 5_000,
		FramesBurst: 20_000,
		MaxNodes:    20_000, NewNodesPerHour: 10_000, NewSeriesPerHour: 200_000_000,
		MaxInFlightBytes: 512 << 20, AccountShare: 0.5, AddressShare: 0.25,
		BodyTimeout: 15 * time.Second, BodyGrace: 5 * time.Second, BodyBytesPerSecond: 8 << 10,
		DrainTimeout: 10 * time.Second,
	}
}

// Validate reports everything that is wrong at once.
func (c Config) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("ingest: "+format, args...))
		}
	}
	_, _, err := net.SplitHostPort(c.Listen)
	check(err == nil, "listen is %q: use host:port", c.Listen)
	check(c.MaxFrameBytes >= 1024 && c.MaxFrameBytes <= frame.MaxFrameBytes,
		"max_frame_bytes is %d: use 1024 to %d", c.MaxFrameBytes, frame.MaxFrameBytes)
	check(c.MaxRawBytes >= 1024 && c.MaxRawBytes <= frame.MaxRawBytes,
		"max_raw_bytes is %d: use 1024 to %d", c.MaxRawBytes, frame.MaxRawBytes)
	check(c.MaxSeries >= 1 && c.MaxSeries <= frame.MaxCells, "max_series is %d: use 1 to %d",
		c.MaxSeries, frame.MaxCells)
	check(c.MaxBuckets >= 1 && c.MaxBuckets <= 1e10, "max_buckets is %d: use 1 to 10000000000",
		c.MaxBuckets)
	check(c.MaxRatio >= 2 && c.MaxRatio <= 1e6, "max_ratio is %d: use 2 to 1000000", c.MaxRatio)
	check(c.MaxFrameMemory >= 1<<20, "max_frame_memory is %d: use at least 1048576",
		c.MaxFrameMemory)
	check(c.RawBytesPerSecond >= int64(c.MaxRawBytes),
		"raw_bytes_per_second is %d: use at least max_raw_bytes, %d", c.RawBytesPerSecond,
		c.MaxRawBytes)
	check(c.MaxSkew >= time.Second, "max_skew is %s: use at least 1s", c.MaxSkew)
	check(c.MaxAge >= c.MaxSkew, "max_age is %s: use at least max_skew, %s", c.MaxAge, c.MaxSkew)
	check(c.FramesPerSecond >= 1e-6 && c.FramesPerSecond <= 1e6,
		"frames_per_second is %g: use more than 0 and at most 1000000", c.FramesPerSecond)
	check(c.FramesBurst >= 1 && c.FramesBurst <= 1e9, "frames_burst is %d: use 1 to 1000000000",
		c.FramesBurst)
	check(c.MaxInFlightBytes >= c.MaxFrameBytes+int64(c.MaxRawBytes),
		"max_in_flight_bytes is %d: use at least max_frame_bytes + max_raw_bytes, %d",
		c.MaxInFlightBytes, c.MaxFrameBytes+int64(c.MaxRawBytes))
	check(c.MaxNodes >= 1 && c.MaxNodes <= 1e6, "max_nodes is %d: use 1 to 1000000", c.MaxNodes)
	check(c.NewNodesPerHour >= 1 && c.NewNodesPerHour <= 1e6,
		"new_nodes_per_hour is %d: use 1 to 1000000", c.NewNodesPerHour)
	check(c.NewSeriesPerHour >= 1 && c.NewSeriesPerHour <= 1e9,
		"new_series_per_hour is %d: use 1 to 1000000000", c.NewSeriesPerHour)
	check(c.AccountShare > 0 && c.AccountShare <= 1,
		"account_share is %g: use more than 0 and at most 1", c.AccountShare)
	check(c.AddressShare > 0 && c.AddressShare <= 1,
		"address_share is %g: use more than 0 and at most 1", c.AddressShare)
	check(c.BodyGrace >= 100*time.Millisecond, "body_grace is %s: use at least 100ms", c.BodyGrace)
	check(c.BodyBytesPerSecond >= 1, "body_bytes_per_second is %d: use 1 or more",
		c.BodyBytesPerSecond)
	check(c.BodyTimeout >= 100*time.Millisecond, "body_timeout is %s: use at least 100ms",
		c.BodyTimeout)
	check(c.DrainTimeout >= 0, "drain_timeout is %s: use 0 or more", c.DrainTimeout)
	if err := errors.Join(c.TLS.Validate(), c.TrustedProxies.Validate()); err != nil {
		errs = append(errs, fmt.Errorf("ingest: %w", err))
	}
	return errors.Join(errs...)
}

// Deps is what ingest needs of others. Admit, Publish, Retryable, Ready, Registry and Log are
// needed; the rest may be nil.
type Deps struct {
	// Admit returns who a request comes from, as account.Door.Admit does, errors included.
	Admit func(*http.Request) (account.Principal, error)
	// Operators are the accounts whose admin keys see all names in /metrics, see account.Names.
	Operators []string
	// Limit counts a frame of an account, as limit.Limiter.Take does: it returns 0, or how long
	// to wait. nil: there is no limit.
	Limit func(ctx context.Context, account string) time.Duration
	// Publish returns nil when all in-sync replicas have the frame, and within bounded time, as
	// stream.Producer.Publish does. It may keep b.
	Publish func(ctx context.Context, account, cluster string, b []byte) error
	// Nodes returns the nodes of an account that the store has, as store.Reader.NodeIDs does.
	// nil: only those are known that were let in here, and NewNodes does not count.
	Nodes func(ctx context.Context, account string) ([]uuid.UUID, error)
	// NewNodes and NewSeries count what an account brings that was not there, as
	// limit.Limiter.TakeN does: they return 0, or how long to wait. nil: there is no limit.
	NewNodes, NewSeries func(ctx context.Context, account string, n int64) time.Duration
	// Bound returns nil if a key may be used for frames of a node, as account.Bindings.Check
	// does. nil: keys that are bound to the node that first uses them are refused.
	Bound func(ctx context.Context, who account.Principal, node uuid.UUID) error
	// Claim says who sends a node's frames now and returns whether others do, too, as
	// recent.Reader.Claim does. nil: nobody asks.
	Claim func(ctx context.Context, account string, node uuid.UUID,
		sender string) (several bool, err error)
	// Retryable reports whether the sender may send the frame again after Publish failed so, as
	// stream.Retryable does.
	Retryable func(error) bool
	// Ready asks once whether frames could be published.
	Ready func(context.Context) error
	// Memory is what reading frames may take, per account and together. nil: whatever it needs.
	Memory *memory.Budget
	// Near reports whether the process is near its memory limit, so that it takes no frames. nil:
	// never.
	Near     func() bool
	Registry *prometheus.Registry // takes our metrics, answers /metrics
	Log      *slog.Logger
}
