// Package rules evaluates Prometheus rule files on the stream of frames: alerts and recorded
// series, without asking any store.
//
// It is a consumer group of its own. One process has all frames of a cluster. It keeps in memory
// only the series that the cluster's rules select, only for as long as they look back.
// Prometheus's own rule groups, engine and templates evaluate them. Start with Rules, the handler
// of that consumer:
//
//	frames ─ Rules.Handle ─▶ cluster ─▶ members ─▶ node ─▶ head: memSeries ◀─ seriesView of each
//	                                                       selector
//	         Rules.Tick ───▶ cluster.evaluateDue ─▶ group ─▶ evaluation: engine over Querier
//	           alerts          ─▶ Deps.Notify
//	           recorded series ─▶ Deps.Publish; for rules over all clusters: Deps.Forward
//	           State           ─▶ Deps.Save ─▶ the next process, and Status for the API
//
// What it promises:
//   - A group is evaluated at the instants at which Prometheus would, over the data of that
//     instant: evaluation waits until the stream has come so far, and makes up for what it missed.
//     So an outage of the pipeline is no outage of nodes.
//   - What a process knows of alerts is written down before its offsets are committed. After a
//     crash or a rebalance the next process goes on with the same alerts; an evaluation that is
//     repeated sees the same data and says the same.
//   - A rule sees its account's series only, in its cluster only; a rule over several clusters is
//     evaluated by one process over what the others recorded (see Form).
//   - A rule that fails or costs too much says so and stops no other.
//
// What bites: a sample that arrives later than Config.Delay after its time is too late for the
// evaluation of that time.
//
// It may import frame, window, memory, stream, query and access.
package rules

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	promrules "github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/expression"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/roster"
)

// Config says how rules are evaluated.
type Config struct {
	// Files are the rule files of all accounts, as patterns of paths (Prometheus's rule_files).
	Files []string `yaml:"files"`
	// Accounts are more files, by account.
	Accounts map[string][]string `yaml:"accounts"`
	// Shipped says whether the rules that come with Ringwatch are evaluated, too.
	Shipped bool `yaml:"shipped"`
	// Reload is how often files are looked at for changes.
	Reload time.Duration `yaml:"reload"`

	// EvaluationInterval is that of groups that name none.
	EvaluationInterval time.Duration `yaml:"evaluation_interval"`
	// Delay is how long an evaluation waits for the frames of its instant.
	Delay time.Duration `yaml:"delay"`
	// Settle is how long after an outage of the pipeline evaluation waits for what agents kept.
	Settle time.Duration `yaml:"settle"`
	// CatchUp bounds how far back missed evaluations are made up for.
	CatchUp time.Duration `yaml:"catch_up"`
	// Lookback is how long a sample counts, as Prometheus's lookback_delta.
	Lookback time.Duration `yaml:"lookback_delta"`
	// MaxLookback is how far back rules may look in memory. What looks back further is read through
	// the query engine.
	MaxLookback time.Duration `yaml:"max_lookback"`
	// Timeout bounds the evaluation of one rule, MaxSamples what it may load.
	Timeout    time.Duration `yaml:"timeout"`
	MaxSamples int           `yaml:"max_samples"`
	// MaxLabelBytes bounds a value that a rule makes of labels; those of a series may take four
	// times as much.
	MaxLabelBytes int `yaml:"max_label_bytes"`
	// ResendDelay is how often a firing alert is said again.
	ResendDelay time.Duration `yaml:"resend_delay"`
	// Absent is how long a node is missed after its last frame: until then its up is 0. The shipped
	// alert of a silent node ends by itself after three days.
	Absent time.Duration `yaml:"absent"`

	// ExternalLabels are Prometheus's.
	ExternalLabels map[string]string `yaml:"external_labels"`
	// ExternalURL is where the console is, for links in alerts and for $externalURL; empty: alerts
	// have no links.
	ExternalURL string `yaml:"external_url"`

	Clock func() time.Time `yaml:"-"` // time.Now unless a test says otherwise
}

// DefaultConfig returns Prometheus's own settings where it has them.
func DefaultConfig() Config {
	return Config{
		Shipped: true, Reload: 5 * time.Second,
		EvaluationInterval: 15 * time.Second, Delay: time.Second,
		Settle: 30 * time.Second, CatchUp: 15 * time.Minute,
		Lookback: 5 * time.Minute, MaxLookback: time.Hour,
		Timeout: 10 * time.Second, MaxSamples: 50_000_000,
		MaxLabelBytes: expression.DefaultMaxLabelBytes, ResendDelay: time.Minute,
		Absent: 73 * time.Hour, Clock: time.Now,
	}
}

// Validate returns everything that is wrong with the configuration, at once.
func (c *Config) Validate() error {
	var wrong []error
	for _, d := range []struct {
		name string
		of   time.Duration
		min  time.Duration
	}{
		{"reload", c.Reload, time.Millisecond},
		{"evaluation_interval", c.EvaluationInterval, time.Second},
		{"delay", c.Delay, 0}, {"settle", c.Settle, 0}, {"catch_up", c.CatchUp, 0},
		{"lookback_delta", c.Lookback, time.Second}, {"max_lookback", c.MaxLookback, c.Lookback},
		{"timeout", c.Timeout, time.Millisecond}, {"resend_delay", c.ResendDelay, time.Second},
		{"absent", c.Absent, time.Minute},
	} {
		if d.of < d.min {
			wrong = append(wrong, fmt.Errorf("rules.%s is %s: use at least %s", d.name,
				d.of, d.min))
		}
	}
	if c.MaxLabelBytes < 1 {
		wrong = append(wrong, fmt.Errorf("rules.max_label_bytes is %d: use more than 0",
			c.MaxLabelBytes))
	}
	if c.MaxSamples < 1 {
		wrong = append(wrong, fmt.Errorf("rules.max_samples is %d: use more than 0", c.MaxSamples))
	}
	if u, err := url.Parse(c.ExternalURL); c.ExternalURL != "" && (err != nil || u.Host == "") {
		wrong = append(wrong, fmt.Errorf("rules.external_url: %q must have the form "+
			"https://ringwatch.example:9470", c.ExternalURL))
	}
	for name := range c.ExternalLabels {
		if !labelNames.IsValidLabelName(name) {
			wrong = append(wrong, fmt.Errorf("rules.external_labels: %q is not a label name", name))
		}
	}
	return errors.Join(wrong...)
}

// Deps is what the role is given to work with.
type Deps struct {
	// Every says whether this evaluates over all clusters of an account, on what the processes that
	// evaluate single clusters recorded; else it evaluates single clusters.
	Every bool
	// Publish puts a frame of recorded series into the stream, as ingest does with a node's.
	Publish func(ctx context.Context, account, cluster string, frame []byte) error
	// Forward hands such a frame to the process that evaluates over all clusters; nil: nobody does.
	Forward func(ctx context.Context, account string, frame []byte) error
	// Notify takes alerts on. It neither blocks nor fails.
	Notify func(ctx context.Context, alerts []Alert)
	// Load returns what Save was last given for the clusters of a partition, by account and
	// cluster.
	Load func(ctx context.Context, partition int32) ([]State, error)
	// Save keeps a cluster's state until the next one.
	Save func(ctx context.Context, partition int32, s State) error
	// Through returns up to when everything in the partition has been handled; false if that is not
	// known.
	Through func(partition int32) (time.Time, bool)
	// Pulse returns since when the pipeline before Kafka has been whole without a break, and until
	// when that is known; nil: it always is.
	Pulse func() (since, until time.Time)
	// Away returns when nobody is known to have heard of nodes, the oldest first, also the time
	// since the last sign of the pulse: no node is down for that. nil: there is no such time.
	Away func() []read.Span
	// Past answers selectors that look back further than memory does; nil: nobody does.
	Past func(ctx context.Context, account string) storage.Queryable
	// Relabel gives a node's series the labels that rules see, or leaves it out; nil: they see its
	// own.
	Relabel func(labels.Labels) (labels.Labels, bool)
	// More are rule files for all accounts, by name, beside those of the configuration.
	More map[string][]byte
	// Roster is which nodes have left, as this process knows it: it is to have all that Enroll was
	// given before. nil: an empty one.
	Roster *roster.Roster
	// Enroll puts records into every process's roster. nil: they stay here.
	Enroll func(ctx context.Context, records []roster.Record) error
	// KeepLeft is for how long it is known how a node left: as long as its data can be asked for.
	// 0: for ever.
	KeepLeft time.Duration
	// Applied returns an account's rule files that were given through the API, by name; nil: none.
	Applied func() map[string]map[string][]byte

	Budget  *memory.Budget // of what is kept of series; nil: no bound
	Metrics prometheus.Registerer
	Log     *slog.Logger
}

// Rules is the role: the handler of a consumer of frames. Its methods but States are the consumer's
// to call, one at a time.
type Rules struct {
	config         Config
	deps           Deps
	engine         *promql.Engine
	parser         parser.Parser
	metrics        *metrics
	groups         *promrules.Metrics
	externalLabels labels.Labels
	url            *url.URL

	roster   *roster.Roster
	swept    time.Time // when old records of the roster were looked for
	files    *files
	assigned map[int32]bool // partitions that are ours, whether records of them have come or not
	// lost is what fired in partitions of which it is not known whose they are.
	lost map[int32][]lostAlert

	mu         sync.Mutex // of what States reads
	partitions map[int32]*partition
}

// New validates the configuration and loads the rule files: an error if one of them is wrong.
func New(c Config, d Deps) (*Rules, error) {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	u, err := url.Parse(c.ExternalURL)
	if err != nil {
		return nil, fmt.Errorf("rules.external_url: %w", err)
	}
	r := &Rules{
		config: c, deps: d, url: u, externalLabels: labels.FromMap(c.ExternalLabels),
		parser:     parser.NewParser(parser.Options{EnableExperimentalFunctions: true}),
		groups:     promrules.NewGroupMetrics(nil),
		partitions: map[int32]*partition{}, assigned: map[int32]bool{},
		lost: map[int32][]lostAlert{}, roster: d.Roster,
	}
	if r.roster == nil {
		r.roster = &roster.Roster{}
	}
	r.engine = promql.NewEngine(promql.EngineOpts{
		Logger: d.Log, MaxSamples: c.MaxSamples, Timeout: c.Timeout, LookbackDelta: c.Lookback,
		NoStepSubqueryIntervalFn: func(int64) int64 { return c.EvaluationInterval.Milliseconds() },
		EnableAtModifier:         true, EnableNegativeOffset: true, Parser: r.parser,
	})
	r.metrics = newMetrics(d.Metrics, d.Every)
	r.files = newFiles(&r.config, r.parser, d.More, d.Applied, d.Log)
	if err := r.files.load(); err != nil {
		return nil, err
	}
	return r, nil
}
