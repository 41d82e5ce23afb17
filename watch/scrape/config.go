package scrape

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery"
	// Prometheus's types are made for v2: see rules/notify.
	yaml2 "go.yaml.in/yaml/v2"

	// What targets may be found by; static_configs come with package discovery.
	_ "github.com/prometheus/prometheus/discovery/dns"
	_ "github.com/prometheus/prometheus/discovery/file"
	_ "github.com/prometheus/prometheus/discovery/http"

	"github.com/ringwatch/ringwatch/frame"
)

// Config says which targets are scraped, and what one may cost.
type Config struct {
	// ScrapeConfigs is Prometheus's section of that name.
	ScrapeConfigs Jobs `yaml:"scrape_configs"`

	// What jobs have that say nothing else.
	Interval time.Duration `yaml:"interval"`
	Timeout  time.Duration `yaml:"timeout"`
	// Cluster is where targets are that have no label cluster.
	Cluster string `yaml:"cluster"`
	// MaxSeries is the default of sample_limit.
	MaxSeries int `yaml:"max_series"`

	// MaxAllSeries bounds the series of all targets together. The scrape that would exceed it
	// fails.
	MaxAllSeries int `yaml:"max_all_series"`
	// MaxScrapes bounds how many targets are asked at once, of those that answered fast the last
	// time. Slow and failed ones have four times as many places of their own.
	MaxScrapes int `yaml:"max_scrapes"`
}

// minInterval is the shortest interval; a variable for tests.
var minInterval = 5 * time.Second

// What a job may ask for.
const (
	maxInterval = time.Minute

	bodySizeLimit    = 64 << 20 // the default
	maxBodySizeLimit = 1 << 30
	targetLimit      = 10_000 // the default
)

// DefaultConfig has no targets.
func DefaultConfig() Config {
	return Config{
		Interval:     20 * time.Second,
		Timeout:      10 * time.Second,
		Cluster:      "other",
		MaxSeries:    100_000,
		MaxAllSeries: 5_000_000,
		MaxScrapes:   64,
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
	check(c.Interval >= minInterval && c.Interval <= maxInterval,
		"interval is %s: use %s to %s", model.Duration(c.Interval), model.Duration(minInterval),
		model.Duration(maxInterval))
	check(c.Timeout > 0 && c.Timeout <= c.Interval,
		"timeout is %s: use more than 0s, and at most the interval, %s",
		model.Duration(c.Timeout), model.Duration(c.Interval))
	if why := badCluster(c.Cluster); why != "" {
		check(false, "cluster is %q: %s", c.Cluster, why)
	}
	check(c.MaxSeries >= 1 && c.MaxSeries <= frame.MaxEntities,
		"max_series is %d: use 1 to %d, which is what a frame holds", c.MaxSeries,
		frame.MaxEntities)
	check(c.MaxAllSeries >= c.MaxSeries,
		"max_all_series is %d: use at least max_series, %d", c.MaxAllSeries, c.MaxSeries)
	check(c.MaxScrapes >= 1, "max_scrapes is %d: use at least 1", c.MaxScrapes)
	if len(errs) == 0 { // else the jobs would repeat it
		_, err := c.jobs()
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// badCluster says why a name cannot be a cluster's; "" if it can.
func badCluster(name string) string {
	switch {
	case name == "" || len(name) > frame.MaxNameBytes:
		return fmt.Sprintf("use 1 to %d bytes", frame.MaxNameBytes)
	case name == "*":
		return "* stands for all clusters: use another name"
	case strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c >= 0x7f && c < 0xa0 }):
		return "use no control characters"
	}
	return ""
}

// jobs returns Prometheus's configuration with our defaults in it. What c holds stays as it is.
func (c Config) jobs() (*config.Config, error) {
	all, err := config.Load("", slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	g := &all.GlobalConfig
	g.ScrapeInterval, g.ScrapeTimeout = model.Duration(c.Interval), model.Duration(c.Timeout)
	g.BodySizeLimit = bodySizeLimit
	g.SampleLimit = uint(c.MaxSeries)
	g.TargetLimit = targetLimit
	// Dropped targets are shown to nobody. Names that a frame cannot have are asked for in the
	// form that it can.
	g.KeepDroppedTargets = 1
	g.MetricNameEscapingScheme = model.EscapeUnderscores
	var errs []error
	seen := map[string]bool{}
	for i, from := range c.ScrapeConfigs {
		job, err := from.globalized(*g)
		switch {
		case err == nil && seen[job.JobName]:
			err = errors.New("another job has this name: give each its own job_name")
		case err == nil:
			seen[job.JobName] = true
			all.ScrapeConfigs = append(all.ScrapeConfigs, job)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("scrape_configs[%d]%s: %w", i, from.named(), err))
		}
	}
	return all, errors.Join(errs...)
}

// Jobs are the jobs of a section scrape_configs.
type Jobs []Job

// Job is one of them, as Prometheus reads it.
type Job struct {
	Prometheus *config.ScrapeConfig
	err        error // why it cannot be used
}

// UnmarshalYAML reads the section strictly. What is wrong in a job is said by Config.Validate, so
// that all jobs are read.
func (j *Jobs) UnmarshalYAML(text []byte) error {
	var list []Job
	if err := yamlError(yaml2.UnmarshalStrict(text, (*[]Job)(&list))); err != nil {
		return err
	}
	*j = list
	return nil
}

// read reads a job.
func (j *Job) read(unmarshal func(any) error) error {
	keys := map[string]any{}
	if err := unmarshal(&keys); err != nil {
		return errors.New("expected keys and values")
	}
	var unknown []string
	for key := range keys {
		name, is := strings.CutSuffix(key, "_sd_configs")
		if is && !slices.Contains(discovery.RegisteredConfigNames(), name) {
			unknown = append(unknown, key)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		j.Prometheus = &config.ScrapeConfig{JobName: fmt.Sprint(keys["job_name"])}
		return fmt.Errorf("%s is not here: find targets by static_configs, file_sd_configs, "+
			"http_sd_configs or dns_sd_configs", strings.Join(unknown, " and "))
	}
	j.Prometheus = &config.ScrapeConfig{}
	return yamlError(unmarshal(j.Prometheus))
}

// UnmarshalYAML is for the YAML library that Prometheus uses.
func (j *Job) UnmarshalYAML(unmarshal func(any) error) error {
	j.err = j.read(unmarshal)
	return nil
}

// named is the job's name in a sentence.
func (j Job) named() string {
	if j.Prometheus == nil || j.Prometheus.JobName == "" {
		return ""
	}
	return fmt.Sprintf(" (job %s)", j.Prometheus.JobName)
}

// globalized returns the job with the defaults in it.
func (j Job) globalized(g config.GlobalConfig) (*config.ScrapeConfig, error) {
	switch {
	case j.err != nil:
		return nil, j.err
	case j.Prometheus == nil:
		return nil, errors.New("the job is empty")
	}
	job := *j.Prometheus
	if err := job.Validate(g); err != nil {
		return nil, err
	}
	// Frames have a histogram as one metric.
	yes, no := true, false
	job.ConvertClassicHistogramsToNHCB, job.AlwaysScrapeClassicHistograms = &yes, &no
	job.ScrapeFailureLogFile = "" // Targets says it

	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	interval := time.Duration(job.ScrapeInterval)
	check(interval >= minInterval && interval <= maxInterval,
		"scrape_interval is %s: use %s to %s", job.ScrapeInterval, model.Duration(minInterval),
		model.Duration(maxInterval))
	check(job.SampleLimit <= frame.MaxEntities,
		"sample_limit is %d: use at most %d, which is what a frame holds", job.SampleLimit,
		frame.MaxEntities)
	check(job.BodySizeLimit <= maxBodySizeLimit, "body_size_limit is %s: use at most 1GiB",
		job.BodySizeLimit)
	check(len(job.ServiceDiscoveryConfigs) > 0, "it names no targets: give it static_configs, "+
		"file_sd_configs, http_sd_configs or dns_sd_configs")
	return &job, errors.Join(errs...)
}

// String is the configuration without its secrets.
func (j Job) String() string {
	if j.Prometheus == nil {
		return "(empty)"
	}
	text, err := yaml2.Marshal(j.Prometheus) // secrets marshal as <secret>
	if err != nil {
		return "(cannot be shown)"
	}
	return "{" + strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", ", ") + "}"
}

// GoString is String: %#v shows no secret either.
func (j Job) GoString() string { return j.String() }

// yamlError makes one line of a YAML library's errors. Its line numbers are of a text that the user
// never saw, so they go.
func yamlError(err error) error {
	if err == nil {
		return nil
	}
	text := strings.TrimPrefix(err.Error(), "yaml: unmarshal errors:\n")
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "yaml:"))
		if rest, ok := strings.CutPrefix(line, "line "); ok {
			_, line, _ = strings.Cut(rest, ": ")
		}
		lines = append(lines, strings.ReplaceAll(line, " in type config.ScrapeConfig",
			", which scrape_configs do not have"))
	}
	return errors.New(strings.Join(lines, "; "))
}
