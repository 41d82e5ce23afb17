package main

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ringwatch/ringwatch/watch"
	"github.com/ringwatch/ringwatch/watch/send"
)

// watchConfig is what the role watch reads, and where it sends it.
type watchConfig struct {
	consumerConfig
	send.Config
	Spool send.Spool

	Cluster   string        // of scraped targets that have no label cluster
	Interval  time.Duration // between two readings of a target
	Timeout   time.Duration // of one reading
	MaxSeries int           // of one reading
}

func defaultWatch() watchConfig {
	return watchConfig{consumerConfig: consumerConfig{Listen: "127.0.0.1:9476"},
		Config: send.DefaultConfig(), Spool: send.DefaultSpool(), Cluster: "other",
		Interval: 20 * time.Second, Timeout: 10 * time.Second, MaxSeries: 100_000}
}

// targets reports whether anything is to be read.
func (c *watchConfig) targets() bool { return false }

// The bounds of how often a target is read.
const (
	leastWatchInterval = 5 * time.Second
	mostWatchInterval  = time.Minute
)

// validate reports everything that is wrong at once.
func (c *watchConfig) validate() error {
	wrong := []error{c.TLS.Validate(), c.Config.Validate(), c.Spool.Validate()}
	if c.Interval < leastWatchInterval || c.Interval > mostWatchInterval {
		wrong = append(wrong, fmt.Errorf("interval is %s: use %s to %s", c.Interval,
			leastWatchInterval, mostWatchInterval))
	}
	if c.Timeout < time.Second || c.Timeout > c.Interval {
		wrong = append(wrong, fmt.Errorf("timeout is %s: use 1s to the interval, which is %s",
			c.Timeout, c.Interval))
	}
	if c.MaxSeries < 100 || c.MaxSeries > 1_000_000 {
		wrong = append(wrong, fmt.Errorf("max_series is %d: use 100 to 1000000", c.MaxSeries))
	}
	if c.Cluster == "" || len(c.Cluster) > 255 || c.Cluster == "*" {
		wrong = append(wrong, fmt.Errorf("cluster is %q: use a name of 1 to 255 bytes", c.Cluster))
	}
	if c.targets() && !c.On() {
		wrong = append(wrong, errors.New("there are targets and no API key: set key or key_file to "+
			"one with the scope write"))
	}
	return errors.Join(wrong...)
}

// sources returns the targets that Ringwatch reads itself.
func (c *watchConfig) sources(_ *slog.Logger) []watch.Source { return nil }
