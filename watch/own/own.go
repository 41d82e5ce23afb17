// Package own sends what a process of Ringwatch has on /metrics as frames through ingest,
// as an agent does with its node's. So the series of all processes are stored, asked for with
// PromQL, and watched by the shipped rules, without a Prometheus that scrapes them. Begin with
// Sender. Of our packages it imports frame, watch/reading and watch/send.
//
// What it promises: it sends a frame of bounded size every interval. Frames that ingest does not
// take wait in a bounded queue; if it is full the oldest is dropped, and counted. A Sender never
// stops the role beside it, and delays only its end, by farewellTime at most.
//
// What bites: a counter is a whole number in a frame. So seconds are sent as nanoseconds, and
// everything else as thousandths.
package own

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/watch/send"
)

// Config says where a process sends its own metrics.
type Config struct {
	send.Config // without a key nothing is sent
	// Enabled lets a process that has an ingest send to that with a key of its own making, where
	// there is no other key.
	Enabled bool `yaml:"enabled"`
	// Interval is the time between two frames.
	Interval time.Duration `yaml:"interval"`
	// Cluster is the label cluster of the series. A monitored cluster of the same name would share
	// its page, its alerts and its keys' bindings with the processes.
	Cluster string `yaml:"cluster"`
	// Instance is the label instance of the series; empty: this machine's name and the role's port.
	Instance string `yaml:"instance"`
	// MaxSeries bounds the series of a frame: a histogram is one.
	MaxSeries int `yaml:"max_series"`
}

// DefaultConfig returns the configuration without a key, so that nothing is sent. The cluster is
// not called ringwatch, as a Cassandra cluster easily is: alerts about the processes would stand on
// that one's page.
func DefaultConfig() Config {
	return Config{Config: send.DefaultConfig(), Interval: 20 * time.Second,
		Cluster: "ringwatch-self", MaxSeries: 10_000}
}

// Validate returns everything that is wrong with the configuration, at once.
func (c *Config) Validate() error {
	wrong := []error{c.Config.Validate()}
	if c.Interval < time.Second || c.Interval > time.Hour {
		wrong = append(wrong, fmt.Errorf("interval is %s: use 1s to 1h", c.Interval))
	}
	if c.Cluster == "" || len(c.Cluster) > frame.MaxNameBytes || c.Cluster == frame.EveryCluster {
		wrong = append(wrong, fmt.Errorf("cluster is %q: use a name of 1 to 255 bytes", c.Cluster))
	}
	if len(c.Instance) > frame.MaxNameBytes {
		wrong = append(wrong, errors.New("instance is longer than 255 bytes: use a shorter name"))
	}
	if c.MaxSeries < 1 || c.MaxSeries > 100_000 {
		wrong = append(wrong, fmt.Errorf("max_series is %d: use 1 to 100000", c.MaxSeries))
	}
	return errors.Join(wrong...)
}

// Deps is what a Sender is given to work with.
type Deps struct {
	Gatherer prometheus.Gatherer   // what is sent
	Metrics  prometheus.Registerer // the sender's own
	Role     string                // the label role of the series
	Instance string                // the label instance if the configuration has none
	Log      *slog.Logger
	Clock    func() time.Time // nil: time.Now
	// Dial connects to an ingest of this process; nil: Config.URL is called.
	Dial func(context.Context) (net.Conn, error)
}

// Sender sends a process's metrics. Its methods are called by one goroutine at a time.
type Sender struct {
	config   Config
	deps     Deps
	client   *send.Client
	instance string
	node     uuid.UUID
	metrics  *metrics

	started  uint64 // ms
	sequence uint64
	last     int64 // ms: the time of the newest frame
	queue    queue
	health   send.Health
}

// job is the label job of all processes: rules/ringwatch.yaml selects it.
const job = "ringwatch"

// New validates the configuration and reads the key.
func New(c Config, d Deps) (*Sender, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if d.Clock == nil {
		d.Clock = time.Now
	}
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	s := &Sender{config: c, deps: d, instance: c.Instance,
		started: uint64(d.Clock().UnixMilli()),
		health:  send.Health{What: "the process's own metrics", Section: "self", Log: d.Log}}
	if s.instance == "" {
		s.instance = d.Instance
	}
	s.node = frame.ProcessID(c.Cluster, s.instance, d.Role)
	var err error
	if s.client, err = send.NewClient(c.Config, d.Clock); err != nil {
		return nil, err
	}
	if d.Dial != nil {
		s.client.Through(d.Dial)
	}
	s.metrics, err = newMetrics(d.Metrics)
	return s, err
}

// farewellTime bounds how long the end of a process waits for its last frames to be taken.
const farewellTime = time.Second

// Run sends a frame at once and then every interval, until ctx ends. It never fails.
func (s *Sender) Run(ctx context.Context) error {
	defer s.client.Close()
	tick := time.NewTicker(s.config.Interval)
	defer tick.Stop()
	for {
		s.pass(ctx, true)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// Farewell says that the process ends on purpose, so that nobody misses it. It is called once Run
// has returned, while ingest is still there if it is in the same process.
func (s *Sender) Farewell() {
	ctx, cancel := context.WithTimeout(context.Background(), farewellTime)
	defer cancel()
	s.pass(ctx, false)
}

// pass makes a frame and sends what waits, the oldest first, until ingest does not take one.
func (s *Sender) pass(ctx context.Context, running bool) {
	if b := s.frame(running); b != nil {
		s.metrics.frames.Inc()
		s.metrics.dropped.WithLabelValues("queue_full").Add(float64(s.queue.put(b)))
	}
	for ctx.Err() == nil {
		b := s.queue.oldest()
		if b == nil {
			break
		}
		err := s.client.Post(ctx, b)
		if ctx.Err() != nil && err != nil {
			break
		}
		s.health.Note(err)
		if send.Again(err) {
			break
		}
		s.queue.drop()
		if err == nil {
			s.metrics.sent.Inc()
		} else {
			s.metrics.dropped.WithLabelValues("refused").Inc()
		}
	}
	s.metrics.queued.Set(float64(len(s.queue.frames)))
}
