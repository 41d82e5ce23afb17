package kafka

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/ringwatch/ringwatch/access/broker"
	"github.com/ringwatch/ringwatch/access/certs"
	"github.com/ringwatch/ringwatch/watch/reading"
)

// Config says which cluster is read: an entry of watch.kafka.
type Config struct {
	Cluster    string `yaml:"cluster"` // the name under which it appears
	Datacenter string `yaml:"datacenter"`
	Rack       string `yaml:"rack"`
	Job        string `yaml:"job"`
	Instance   string `yaml:"instance"` // empty: the cluster's name

	Brokers []string     `yaml:"brokers"` // host:port; the others are learnt from any that answers
	TLS     certs.Client `yaml:"tls"`
	SASL    broker.SASL  `yaml:"sasl"` // zero: none

	Interval time.Duration `yaml:"interval"` // from one reading to the next
	Timeout  time.Duration `yaml:"timeout"`  // for all of one reading
	// MaxSeries bounds a reading: beyond it the rows of the largest groups' partitions are left
	// out. 0: the role's bound.
	MaxSeries int `yaml:"max_series"`

	Topics Names `yaml:"topics"`
	Groups Names `yaml:"groups"`
}

// Names says which names are read: those that Include matches, all if it is empty, but for those
// that Exclude matches. Both match whole names.
type Names struct {
	Include string `yaml:"include"`
	Exclude string `yaml:"exclude"`
}

// DefaultConfig names no cluster and no brokers.
func DefaultConfig() Config {
	return Config{Job: "kafka", TLS: certs.Section("tls"), Interval: 20 * time.Second,
		Timeout: 10 * time.Second}
}

// Present is what a reader of YAML calls for each entry of the list: what it does not say is as in
// DefaultConfig, but for what the role says for all.
func (c *Config) Present() {
	*c = DefaultConfig()
	c.Interval, c.Timeout = 0, 0
}

// Validate reports everything that is wrong at once.
func (c *Config) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(c.Cluster != "", "cluster is empty: give the name under which the cluster shall appear")
	check(len(c.Cluster) <= 255 && c.Cluster != "*" &&
		!strings.ContainsFunc(c.Cluster, unicode.IsControl),
		"cluster is %q: use a name of 1 to 255 bytes without control characters, and not *",
		c.Cluster)
	check(c.Job != "", "job is empty: leave it out for kafka")
	check(len(c.Brokers) > 0, "brokers is empty: name at least one host:port")
	for _, err := range []error{broker.ValidateAddresses(c.Brokers), c.TLS.Validate(),
		c.SASL.Validate()} {
		check(err == nil, "%w", err)
	}
	check(c.Interval >= 5*time.Second && c.Interval <= time.Minute,
		"interval is %s: use 5s to 60s", c.Interval)
	check(c.Timeout > 0 && c.Timeout <= c.Interval,
		"timeout is %s: use more than 0 and at most interval, %s", c.Timeout, c.Interval)
	check(c.MaxSeries >= 0, "max_series is %d: use 0 for the role's bound, or more", c.MaxSeries)
	for key, of := range map[string]Names{"topics": c.Topics, "groups": c.Groups} {
		_, err := of.filter()
		check(err == nil, "%s: %w", key, err)
	}
	return errors.Join(errs...)
}

// Target returns who is read.
func (c *Config) Target() reading.Target {
	t := reading.Target{Kind: reading.Kafka, Cluster: c.Cluster, Datacenter: c.Datacenter,
		Rack: c.Rack, Job: c.Job, Instance: c.Instance, Interval: c.Interval}
	if t.Instance == "" {
		t.Instance = c.Cluster
	}
	return t
}

// filter is Names ready for use. It asks the expressions once per name.
type filter struct {
	include, exclude *regexp.Regexp // nil: none
	known            map[string]bool
}

// mostKnown bounds what a filter remembers; names come and go.
const mostKnown = 200_000

func (n Names) filter() (*filter, error) {
	f := &filter{known: map[string]bool{}}
	var errs []error
	for _, e := range []struct {
		key, text string
		to        **regexp.Regexp
	}{{"include", n.Include, &f.include}, {"exclude", n.Exclude, &f.exclude}} {
		if e.text == "" {
			continue
		}
		re, err := regexp.Compile("^(?:" + e.text + ")$")
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", e.key, err))
		}
		*e.to = re
	}
	return f, errors.Join(errs...)
}

func (f *filter) takes(name string) bool {
	if f.include == nil && f.exclude == nil {
		return true
	}
	takes, known := f.known[name]
	if !known {
		takes = (f.include == nil || f.include.MatchString(name)) &&
			(f.exclude == nil || !f.exclude.MatchString(name))
		if len(f.known) >= mostKnown {
			clear(f.known)
		}
		f.known[name] = takes
	}
	return takes
}
