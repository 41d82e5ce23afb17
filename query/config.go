package query

import (
	"errors"
	"fmt"
	"time"

	"github.com/ringwatch/ringwatch/query/expression"
	"github.com/ringwatch/ringwatch/query/selection"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// Config bounds what PromQL queries may take.
type Config struct {
	// Timeout bounds one query, its waiting among it.
	Timeout time.Duration `yaml:"timeout"`
	// Lookback is how long a sample counts, if nothing said earlier that its series ended.
	Lookback time.Duration `yaml:"lookback_delta"`
	// MaxSamples bounds the samples that one query holds at once.
	MaxSamples int `yaml:"max_samples"`
	// MaxSeries bounds the series that all selectors of a query select.
	MaxSeries int64 `yaml:"max_series"`
	// MaxSteps bounds the points in time of a range query.
	MaxSteps int64 `yaml:"max_steps"`
	// MaxSubqueryPoints bounds the points of subqueries that a query looks at for each series.
	MaxSubqueryPoints int64 `yaml:"max_subquery_points"`
	// MaxLabelBytes bounds a value that a query makes of labels; those of a series may take four
	// times as much.
	MaxLabelBytes int `yaml:"max_label_bytes"`
	// ColumnsBytes bounds what is kept of columns that were read from the store, whoever asked; 0
	// keeps nothing.
	ColumnsBytes int64 `yaml:"columns_bytes"`
	// ResultsBytes bounds what is kept of answers for the next question of the same kind; 0 keeps
	// nothing. An account has half of it at most.
	ResultsBytes int64 `yaml:"results_bytes"`
	// MaxConcurrent is how many queries run at once, MaxPerAccount how many of them of one
	// account, and MaxWaiting how many more of an account may wait. A scrape of a cluster is one,
	// too.
	MaxConcurrent int `yaml:"max_concurrent"`
	MaxPerAccount int `yaml:"max_per_account"`
	MaxWaiting    int `yaml:"max_waiting"`
	// LogFile is where each query is logged as a line of JSON. Empty: nowhere.
	LogFile string `yaml:"log_file"`
	// ActiveDir is a directory in which a file names the queries under way, so that after a crash
	// the log says which they were. Empty: there is none.
	ActiveDir string `yaml:"active_dir"`

	// RawRetention is how long samples are kept, as the store is told. What is older is asked of
	// rollups.
	RawRetention time.Duration `yaml:"-"`
	// RollupRetention is the same of the levels of rollups; one that is not in it is kept for ever.
	RollupRetention map[rollup.Level]time.Duration `yaml:"-"`
	// NodesTTL is how long the list of nodes is remembered.
	NodesTTL time.Duration    `yaml:"-"`
	Clock    func() time.Time `yaml:"-"` // time.Now unless a test says otherwise
}

// DefaultConfig returns Prometheus's own limits, but for a fleet's width.
func DefaultConfig() Config {
	return Config{
		Timeout: 30 * time.Second, Lookback: 5 * time.Minute, MaxSamples: 20_000_000,
		MaxSeries: 200_000, MaxSteps: 11_000, MaxSubqueryPoints: 100_000_000,
		MaxLabelBytes: expression.DefaultMaxLabelBytes, ResultsBytes: 64 << 20,
		ColumnsBytes:  512 << 20,
		MaxConcurrent: 8, MaxPerAccount: 4, MaxWaiting: 64,
		RawRetention: 14 * 24 * time.Hour, NodesTTL: 5 * time.Second, Clock: time.Now,
	}
}

// limits returns what bounds the reading of selectors.
func (c *Config) limits() selection.Limits {
	return selection.Limits{MaxSeries: c.MaxSeries, Lookback: c.Lookback,
		RawRetention:    c.RawRetention,
		RollupRetention: c.RollupRetention, NodesTTL: c.NodesTTL, Clock: c.Clock}
}

// Validate returns everything that is wrong with the configuration, at once.
func (c *Config) Validate() error {
	var wrong []error
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"timeout", int64(c.Timeout)}, {"lookback_delta", int64(c.Lookback)},
		{"max_samples", int64(c.MaxSamples)}, {"max_series", c.MaxSeries},
		{"max_steps", c.MaxSteps},
		{"max_subquery_points", c.MaxSubqueryPoints}, {"max_label_bytes", int64(c.MaxLabelBytes)},
		{"max_concurrent", int64(c.MaxConcurrent)},
		{"max_per_account", int64(c.MaxPerAccount)}, {"max_waiting", int64(c.MaxWaiting)},
	} {
		if n.value < 1 {
			wrong = append(wrong, fmt.Errorf("%s must be greater than 0", n.name))
		}
	}
	if c.ColumnsBytes < 0 {
		wrong = append(wrong, errors.New("columns_bytes must not be negative: 0 keeps nothing"))
	}
	if c.ResultsBytes < 0 {
		wrong = append(wrong, errors.New("results_bytes must not be negative: 0 keeps nothing"))
	}
	if c.MaxPerAccount > c.MaxConcurrent {
		wrong = append(wrong,
			fmt.Errorf("max_per_account is %d, which is more than max_concurrent, %d",
				c.MaxPerAccount, c.MaxConcurrent))
	}
	return errors.Join(wrong...)
}
