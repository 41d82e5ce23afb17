package notify

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/relabel"

	// Prometheus's types are made for v2. goccy's strict decoder panics over their http_headers
	// (goccy/go-yaml#810), and reads a password 0123 as 83.
	yaml2 "go.yaml.in/yaml/v2"

	// What alertmanagers may be found by; static_configs come with package discovery.
	_ "github.com/prometheus/prometheus/discovery/dns"
	_ "github.com/prometheus/prometheus/discovery/file"

	"github.com/ringwatch/ringwatch/stream"
)

// Config says where alerts go.
type Config struct {
	// Alertmanagers is Prometheus's alerting.alertmanagers, each with an optional account.
	Alertmanagers []Alertmanager `yaml:"alertmanagers"`
	// AlertRelabelConfigs is Prometheus's alerting.alert_relabel_configs, for all Alertmanagers.
	AlertRelabelConfigs Relabel `yaml:"alert_relabel_configs"`
	// Topic has each change of each alert; an empty name switches it off.
	Topic stream.LogConfig `yaml:"topic"`
	// ExternalLabels are added to what Alertmanagers are sent, where an alert has no such label.
	ExternalLabels map[string]string `yaml:"external_labels"`

	// MaxBytes bounds, for each receiver, the alerts that wait for it and what it was told.
	MaxBytes int `yaml:"max_bytes"`
	// FiringLasts is how long Alertmanager takes an alert for firing that is not repeated, at
	// least; four times the rules' resend delay or evaluation interval, whichever is longer.
	FiringLasts time.Duration `yaml:"firing_lasts"`
	// LateSpacing is what late changes of one alert keep of their distance, at most; Alertmanager's
	// group_wait + group_interval, or it may tell nobody of an alert that ended while it was away.
	LateSpacing time.Duration `yaml:"late_spacing"`
	RetryMin    time.Duration `yaml:"retry_min"` // the first pause after a failure, then doubled
	RetryMax    time.Duration `yaml:"retry_max"`
	StopTimeout time.Duration `yaml:"stop_timeout"` // for what still waits when we are to end
}

// DefaultConfig has the topic and no other outlet.
func DefaultConfig() Config {
	return Config{
		Topic:       stream.DefaultLogConfig("ringwatch.alerts"),
		MaxBytes:    64 << 20,
		FiringLasts: 5 * time.Minute,
		LateSpacing: 5*time.Minute + 30*time.Second,
		RetryMin:    time.Second,
		RetryMax:    30 * time.Second,
		StopTimeout: 10 * time.Second,
	}
}

// Validate reports everything that is wrong at once.
func (c Config) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	for i := range c.Alertmanagers {
		a := &c.Alertmanagers[i]
		check(len(a.Prometheus.ServiceDiscoveryConfigs) > 0,
			"alertmanagers[%d] names no Alertmanager: "+
				"give it static_configs, file_sd_configs or dns_sd_configs", i)
		check(!strings.Contains(a.Account, "/"),
			"alertmanagers[%d]: account %q must not have a slash", i,
			a.Account)
	}
	if c.Topic.Topic != "" {
		if err := c.Topic.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("topic: %w", err))
		}
	}
	for name := range c.ExternalLabels {
		check(model.LabelName(name).IsValid(), "external_labels: %q is not a label name", name)
	}
	check(c.MaxBytes >= 1<<20, "max_bytes is %d: use at least 1MiB", c.MaxBytes)
	check(c.FiringLasts >= time.Second, "firing_lasts is %s: use at least 1s, best four times the "+
		"rules' resend delay", c.FiringLasts)
	check(c.LateSpacing >= 0, "late_spacing is %s: use 0 or more", c.LateSpacing)
	check(c.RetryMin >= 10*time.Millisecond && c.RetryMin <= c.RetryMax,
		"retry_min is %s: use 10ms to retry_max, %s", c.RetryMin, c.RetryMax)
	check(c.StopTimeout >= 0, "stop_timeout is %s: use 0 or more", c.StopTimeout)
	return errors.Join(errs...)
}

// Alertmanager is a set of Alertmanagers that are found and reached in the same way.
type Alertmanager struct {
	Account    string // whose alerts they are sent; empty: everybody's
	Prometheus config.AlertmanagerConfig
}

// UnmarshalYAML reads one entry of Prometheus's alerting.alertmanagers, strictly, and account.
func (a *Alertmanager) UnmarshalYAML(text []byte) error {
	rest, err := without(text, "account", &a.Account)
	if err != nil {
		return err
	}
	return yamlError(yaml2.UnmarshalStrict(rest, &a.Prometheus))
}

// String is the configuration without its secrets.
func (a Alertmanager) String() string { return shown(a.Account, &a.Prometheus) }

// GoString is String: %#v shows no secret either.
func (a Alertmanager) GoString() string { return a.String() }

// Relabel is a list of Prometheus's relabelling rules.
type Relabel []*relabel.Config

// UnmarshalYAML reads the list strictly.
func (r *Relabel) UnmarshalYAML(text []byte) error {
	var list []*relabel.Config
	if err := yamlError(yaml2.UnmarshalStrict(text, &list)); err != nil {
		return err
	}
	for _, c := range list {
		if c == nil {
			return errors.New("a relabelling rule is empty")
		}
	}
	*r = list
	return nil
}

func shown(account string, of any) string {
	text, err := yaml2.Marshal(of) // secrets marshal as <secret>
	if err != nil {
		return "(cannot be shown)"
	}
	return fmt.Sprintf("{account: %q, %s}", account,
		strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", ", "))
}

// without takes a key of text out of a mapping and returns the rest, its scalars as they were.
func without(text []byte, key string, value *string) ([]byte, error) {
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		message, _, _ := strings.Cut(yaml.FormatError(err, false, false), "\n")
		return nil, errors.New(message)
	}
	m, ok := file.Docs[0].Body.(*ast.MappingNode)
	if !ok {
		return nil, errors.New("expected keys and values")
	}
	for i, e := range m.Values {
		if e.Key.GetToken().Value == key {
			if _, ok := e.Value.(ast.ScalarNode); !ok {
				return nil, fmt.Errorf("%s: expected one value", key)
			}
			*value = e.Value.GetToken().Value
			m.Values = slices.Delete(m.Values, i, i+1)
			break
		}
	}
	return []byte(m.String()), nil
}

// yamlError makes one line of a YAML library's errors. Its line numbers are of a text that the user
// never saw, so they go.
func yamlError(err error) error {
	if err == nil {
		return nil
	}
	text := strings.TrimPrefix(err.Error(), "yaml: unmarshal errors:\n")
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "yaml:"))
		if rest, ok := strings.CutPrefix(line, "line "); ok {
			_, line, _ = strings.Cut(rest, ": ")
		}
		lines = append(lines, line)
	}
	return errors.New(strings.Join(lines, "; "))
}
