// Package settings reads the one configuration file of all roles: its sections, their defaults and
// checks (settings.go and a file for each section that needs more), how YAML is read with the place
// of each mistake (decode.go), the flags that name it (flags.go), and what it says of files of
// accounts. Every mistake of a file is reported at once, as an exit.UsageError. It waits for
// nothing and starts nothing: package wire builds roles of what stands here.
package settings

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"slices"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/certs"
	"github.com/ringwatch/ringwatch/access/limit"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/lookup"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/ingest"
	"github.com/ringwatch/ringwatch/memory"
	people "github.com/ringwatch/ringwatch/notify"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/index"
	"github.com/ringwatch/ringwatch/recent"
	"github.com/ringwatch/ringwatch/ring"
	"github.com/ringwatch/ringwatch/ring/throttle"
	"github.com/ringwatch/ringwatch/rules"
	"github.com/ringwatch/ringwatch/rules/notify"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/store/loki"
	"github.com/ringwatch/ringwatch/watch/own"
)

// Config is the one YAML file of all roles. A role reads the sections it needs; all sections are
// checked always, so that a mistake shows where it was made and not on the day its role is
// started.
type Config struct {
	File      string `yaml:"-"` // its name
	Accounts  []account.Account
	Memory    memory.Config
	Keys      account.KeyringConfig
	Limits    limit.Config
	Kafka     kafkaConfig
	Data      dataConfig
	Cassandra store.Config
	Redis     recent.Config
	Ingest    ingest.Config
	API       api.Config `yaml:"api"`
	Query     query.Config
	Series    index.Config
	Ring      ring.Config
	Throttle  throttle.Config
	Lookup    lookup.Config
	Store     ConsumerConfig
	Events    eventsConfig
	Recent    ConsumerConfig
	Rules     rulesConfig
	Notify    notifyConfig
	Report    ReportConfig
	Metrics   metricsConfig
	Self      own.Config
	Watch     WatchConfig
	Log       LogConfig
}

// ConsumerConfig is what a consuming role has of its own.
type ConsumerConfig struct {
	Listen string       // host:port of /metrics and /-/ready when the role runs alone; empty: none
	TLS    listener.TLS `yaml:"tls"`
}

// eventsConfig is where events go beside the store.
type eventsConfig struct {
	Loki loki.Config
}

// rulesConfig is what the role rules has of its own.
type rulesConfig struct {
	ConsumerConfig
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
	// host:port of /metrics with all names, for everybody who reaches it; empty: none
	Listen string
	TLS    listener.TLS `yaml:"tls"`
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

// LogConfig is what is logged, and how.
type LogConfig struct {
	Level  string // debug, info, warn, error
	Format string // text or json
}

// Default is the configuration of an empty file.
func Default() Config {
	return Config{
		Keys:      account.DefaultKeyringConfig(),
		Limits:    limit.DefaultConfig(),
		Kafka:     DefaultKafka(),
		Data:      DefaultData(),
		Cassandra: store.DefaultConfig(),
		Redis:     recent.DefaultConfig(),
		Ingest:    ingest.DefaultConfig(),
		API:       api.DefaultConfig(),
		Query:     query.DefaultConfig(),
		Series:    index.DefaultConfig(),
		Ring:      ring.DefaultConfig(),
		Throttle:  throttle.DefaultConfig(),
		Lookup:    lookup.DefaultConfig(),
		Store:     ConsumerConfig{Listen: "127.0.0.1:9473"},
		Events:    eventsConfig{Loki: loki.DefaultConfig()},
		Recent:    ConsumerConfig{Listen: "127.0.0.1:9474"},
		Rules: rulesConfig{
			ConsumerConfig: ConsumerConfig{Listen: "127.0.0.1:9475"}, Config: rules.DefaultConfig(),
			Mounts: true,
		},
		Notify: notifyConfig{Config: notify.DefaultConfig(), Limits: people.DefaultLimits(),
			Gossip: people.DefaultGossip()},
		Self:  own.DefaultConfig(),
		Watch: defaultWatch(),
		Log:   LogConfig{Level: "info", Format: "text"},
	}
}

// Parse is load for a file's text.
func Parse(file string, text []byte) (*Config, *account.Registry, error) {
	c := Default()
	c.File = file
	unset, err := Decode(text, &c)
	errs := []error{err}
	check := func(name string, valid func() error) {
		if !unset[name] {
			errs = append(errs, section(name, valid()))
		}
	}
	var registry *account.Registry
	check("accounts", func() (err error) {
		registry, err = account.NewRegistry(c.Accounts)
		return errors.Join(err, c.validateBound(), c.ValidateCatalogs(),
			c.ValidateConditions(), c.ValidateAdvice())
	})
	check("memory", c.Memory.Validate)
	check("keys", c.Keys.Validate)
	check("limits", c.Limits.Validate)
	check("kafka", c.Kafka.Validate)
	check("data", c.Data.validate)
	errs = append(errs, c.engineTimes())
	c.KeepIn(c.Data.Dir)
	check("cassandra", c.Cassandra.Validate)
	check("redis", c.Redis.Validate)
	for name, tls := range c.clientTLS() {
		if !unset[name] {
			errs = append(errs, tls.Validate()) // which names its section
		}
	}
	check("ingest", c.Ingest.Validate)
	check("api", c.API.Validate)
	check("query", func() error {
		return errors.Join(c.Query.Validate(), DirectoryKey("active_dir", c.Query.ActiveDir))
	})
	check("series", c.Series.Validate)
	check("ring", c.Ring.Validate)
	check("throttle", c.validateThrottle)
	if !unset["accounts"] { // tables name accounts
		check("lookup", c.validateLookup)
	}
	check("store", c.Store.TLS.Validate)
	check("recent", c.Recent.TLS.Validate)
	if !unset["accounts"] { // a Loki may be for one of them
		check("events", c.validateEvents)
	}
	check("rules", func() error {
		return errors.Join(c.Rules.TLS.Validate(), c.Rules.Config.Validate())
	})
	c.Rules.ExternalURL = cmp.Or(c.Rules.ExternalURL, c.API.PublicURL)
	check("notify", func() error { return c.validateNotify(file) })
	check("report", c.ValidateReport)
	check("metrics", c.Metrics.validate)
	check("log", c.Log.validate)
	if !unset["accounts"] { // one of them may be sent for
		check("self", c.validateSelf)
	}
	c.Watch.fill()
	check("watch", c.Watch.validate)
	if err := errors.Join(errs...); err != nil {
		return nil, nil, exit.Usage(fmt.Errorf("%s is wrong:\n%w", file, err))
	}
	return &c, registry, nil
}

// TLSFlags is how engines are spoken to, by section.
func (c *Config) clientTLS() iter.Seq2[string, *certs.Client] {
	return func(yield func(string, *certs.Client) bool) {
		_ = yield("kafka", &c.Kafka.TLS) && yield("cassandra", &c.Cassandra.TLS) &&
			yield("redis", &c.Redis.TLS) && yield("lookup", &c.Lookup.TLS)
	}
}

// validateEvents checks the section, and that the Loki's account is one of ours.
func (c *Config) validateEvents() error {
	err := c.Events.Loki.Validate()
	if name := c.Events.Loki.Account; name != "" && !c.hasAccount(name) {
		err = errors.Join(err,
			fmt.Errorf("loki.account: there is no account %q in accounts", name))
	}
	return err
}

// hasAccount reports whether the configuration has an account of the name.
func (c *Config) hasAccount(name string) bool {
	return slices.ContainsFunc(c.Accounts, func(a account.Account) bool { return a.Name == name })
}

// validateBound finds keys that are bound to a node which nobody could remember.
func (c *Config) validateBound() error {
	var errs []error
	for _, a := range c.Accounts {
		for _, k := range a.Keys {
			if k.Node == account.FirstNode && !c.Keys.Stored {
				errs = append(errs,
					fmt.Errorf("account %s: key %s: node: first is remembered where stored keys "+
						"are: name the node's id, or set keys.stored", a.Name, k.Name))
			}
		}
	}
	return errors.Join(errs...)
}

// section puts the name of a section before each of its errors.
func section(name string, err error) error {
	if err == nil {
		return nil
	}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var list []error
		for _, e := range several.Unwrap() {
			list = append(list, section(name, e))
		}
		return errors.Join(list...)
	}
	return fmt.Errorf("%s: %w", name, err)
}

func (c *LogConfig) validate() error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.Level)); err != nil {
		return fmt.Errorf("level: %q: use debug, info, warn or error", c.Level)
	}
	if c.Format != "text" && c.Format != "json" {
		return fmt.Errorf("format: %q: use text or json", c.Format)
	}
	return nil
}
