package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/ringwatch/ringwatch/account"
	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/front"
	"github.com/ringwatch/ringwatch/ingest"
	"github.com/ringwatch/ringwatch/limit"
	"github.com/ringwatch/ringwatch/lookup"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/notify"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/recent"
	"github.com/ringwatch/ringwatch/ring"
	"github.com/ringwatch/ringwatch/ring/throttle"
	"github.com/ringwatch/ringwatch/rules"
	"github.com/ringwatch/ringwatch/self"
	"github.com/ringwatch/ringwatch/series"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/stream"
)

// config is the one YAML file of all roles. A role reads the sections it needs; all sections are checked always, so that a mistake shows
// where it was made and not on the day its role is started.
type config struct {
	Accounts  []account.Account
	Memory    memory.Config
	Keys      account.KeyringConfig
	Limits    limit.Config
	Kafka     stream.Config
	Cassandra store.Config
	Redis     recent.Config
	Ingest    ingest.Config
	API       api.Config `yaml:"api"`
	Query     query.Config
	Series    series.Config
	Ring      ring.Config
	Throttle  throttle.Config
	Lookup    lookup.Config
	Store     consumerConfig
	Recent    consumerConfig
	Rules     rulesConfig
	Notify    notify.Config
	Report    reportConfig
	Metrics   metricsConfig
	Self      self.Config
	Log       logConfig
}

// consumerConfig is what a consuming role has of its own.
type consumerConfig struct {
	Listen string    // host:port of /metrics and /-/ready when the role runs alone; empty: none
	TLS    front.TLS `yaml:"tls"`
}

// rulesConfig is what the role rules has of its own.
type rulesConfig struct {
	consumerConfig
	rules.Config

	// Mounts says whether disks have the label volume for rules: data, commitlog or root.
	Mounts bool
	// RelabelFiles are files of Prometheus's relabelling rules, applied after that.
	RelabelFiles []string
	// Deviations says whether nodes are compared with their peers, and tables with their own past.
	Deviations bool
}

// metricsConfig is a listener for operators alone, whatever roles the process has.
type metricsConfig struct {
	Listen string    // host:port of /metrics with all names, for everybody who reaches it; empty: none
	TLS    front.TLS `yaml:"tls"`
}

func (c *metricsConfig) validate() error {
	var wrong []error
	if c.Listen != "" {
		if _, _, err := net.SplitHostPort(c.Listen); err != nil {
			wrong = append(wrong, fmt.Errorf("listen: %q is not host:port", c.Listen))
		}
	}
	return errors.Join(append(wrong, c.TLS.Validate())...)
}

type logConfig struct {
	Level  string // debug, info, warn, error
	Format string // text or json
}

func defaultConfig() config {
	return config{
		Keys:      account.DefaultKeyringConfig(),
		Limits:    limit.DefaultConfig(),
		Kafka:     stream.DefaultConfig(),
		Cassandra: store.DefaultConfig(),
		Redis:     recent.DefaultConfig(),
		Ingest:    ingest.DefaultConfig(),
		API:       api.DefaultConfig(),
		Query:     query.DefaultConfig(),
		Series:    series.DefaultConfig(),
		Ring:      ring.DefaultConfig(),
		Throttle:  throttle.DefaultConfig(),
		Lookup:    lookup.DefaultConfig(),
		Store:     consumerConfig{Listen: "127.0.0.1:9473"},
		Recent:    consumerConfig{Listen: "127.0.0.1:9474"},
		Rules: rulesConfig{
			consumerConfig: consumerConfig{Listen: "127.0.0.1:9475"}, Config: rules.DefaultConfig(), Mounts: true,
		},
		Notify: notify.DefaultConfig(),
		Self:   self.DefaultConfig(),
		Log:    logConfig{Level: "info", Format: "text"},
	}
}

// roleFlags are what every role takes.
type roleFlags struct {
	Config string `help:"The configuration file." type:"path" default:"ringwatch.yaml" env:"RINGWATCH_CONFIG" short:"c"`
	// A Cassandra that starts beside us needs most of the default.
	Wait time.Duration `help:"How long to wait for engines at the start. After that the start fails." default:"90s"`
}

// load reads the configuration and the accounts. Every error of the file is reported at once, as a usageError.
func (f *roleFlags) load() (*config, *account.Registry, error) {
	text, err := os.ReadFile(f.Config)
	if err != nil {
		return nil, nil, usageError{fmt.Errorf("%w; name the configuration with --config", err)}
	}
	c := defaultConfig()
	errs := []error{decodeYAML(text, &c)}
	registry, err := account.NewRegistry(c.Accounts)
	errs = append(errs, section("accounts", err), section("accounts", c.validateBound()), section("accounts", c.validateCatalogs()), section("memory", c.Memory.Validate()), section("keys", c.Keys.Validate()), section("limits", c.Limits.Validate()), section("kafka", c.Kafka.Validate()), section("cassandra", c.Cassandra.Validate()),
		section("redis", c.Redis.Validate()), section("ingest", c.Ingest.Validate()), section("api", c.API.Validate()), section("query", c.Query.Validate()), section("series", c.Series.Validate()),
		section("ring", c.Ring.Validate()), section("throttle", c.validateThrottle()), section("lookup", c.validateLookup()),
		section("store", c.Store.TLS.Validate()), section("recent", c.Recent.TLS.Validate()), section("rules", errors.Join(c.Rules.TLS.Validate(), c.Rules.Config.Validate())), section("notify", c.Notify.Validate()), section("report", c.validateReport()), section("metrics", c.Metrics.validate()), section("log", c.Log.validate()),
		section("self", c.Self.Validate()))
	if err := errors.Join(errs...); err != nil {
		return nil, nil, usageError{fmt.Errorf("%s is wrong:\n%w", f.Config, err)}
	}
	return &c, registry, nil
}

// validateBound finds keys that are bound to a node which nobody could remember.
func (c *config) validateBound() error {
	var errs []error
	for _, a := range c.Accounts {
		for _, k := range a.Keys {
			if k.Node == account.FirstNode && !c.Keys.Stored {
				errs = append(errs, fmt.Errorf("account %s: key %s: node: first is remembered in Cassandra: name the node's id, or set keys.stored", a.Name, k.Name))
			}
		}
	}
	return errors.Join(errs...)
}

func section(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

func (c *logConfig) validate() error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.Level)); err != nil {
		return fmt.Errorf("level: %q: use debug, info, warn or error", c.Level)
	}
	if c.Format != "text" && c.Format != "json" {
		return fmt.Errorf("format: %q: use text or json", c.Format)
	}
	return nil
}
