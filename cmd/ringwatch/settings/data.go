package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/stream/files"
)

// dataConfig is where one process keeps what has no engine, and how much of it.
type dataConfig struct {
	Dir string
	// Retention is how long samples are kept where rows lie in Dir.
	Retention time.Duration
	// MaxBytes bounds Dir; 0: it has no bound but the time that things are kept.
	MaxBytes int64
}

// DefaultData is the section data of who has set nothing of it.
func DefaultData() dataConfig {
	return dataConfig{Dir: "ringwatch-data", Retention: store.DefaultConfig().RawTTL}
}

const (
	// minDataBytes is the least bound: frames may take a quarter of it, and so may the log of
	// rows.
	minDataBytes = 4 * files.MinBytes
	// An hour of frames is made of its windows; rollups of days are kept at least as long as
	// samples.
	leastRetention, mostRetention = time.Hour, 10 * 365 * 24 * time.Hour
)

func (c *dataConfig) validate() error {
	var errs []error
	if c.Dir == "" {
		errs = append(errs, errors.New("dir is empty: name a directory of this process"))
	}
	if c.Retention < leastRetention || c.Retention > mostRetention {
		errs = append(errs, fmt.Errorf("retention is %s: use 1h to 3650d", c.Retention))
	}
	if c.MaxBytes != 0 && c.MaxBytes < minDataBytes {
		errs = append(errs, fmt.Errorf("max_bytes is %d: use at least %d, or 0 for no bound",
			c.MaxBytes, minDataBytes))
	}
	return errors.Join(errs...)
}

// engineTimes reports settings of an engine that has no address: how long things are kept without
// it is data.retention alone.
func (c *Config) engineTimes() error {
	var errs []error
	say := func(key string, is, standard time.Duration, address string) {
		if is != standard {
			errs = append(errs, fmt.Errorf("%s has no use without %s: set data.retention", key,
				address))
		}
	}
	if len(c.Kafka.Brokers) == 0 {
		say("kafka.retention", c.Kafka.Retention, DefaultKafka().Retention, "kafka.brokers")
	}
	if standard := store.DefaultConfig(); len(c.Cassandra.Hosts) == 0 {
		say("cassandra.raw_ttl", c.Cassandra.RawTTL, standard.RawTTL, "cassandra.hosts")
		say("cassandra.five_minutes_ttl", c.Cassandra.FiveMinutesTTL, standard.FiveMinutesTTL,
			"cassandra.hosts")
		say("cassandra.hour_ttl", c.Cassandra.HourTTL, standard.HourTTL, "cassandra.hosts")
		say("cassandra.day_ttl", c.Cassandra.DayTTL, standard.DayTTL, "cassandra.hosts")
	}
	return errors.Join(errs...)
}

// KeepIn says that what has no engine lies in a directory, for data.retention.
func (c *Config) KeepIn(dir string) {
	c.Data.Dir = dir
	// validate says what is beyond
	kept := min(max(c.Data.Retention, leastRetention), mostRetention)
	c.Cassandra.Dir, c.Cassandra.MaxBytes = "", 0
	if len(c.Cassandra.Hosts) == 0 {
		c.Cassandra.Dir, c.Cassandra.MaxBytes = filepath.Join(dir, "rows"), c.Data.MaxBytes
		c.Cassandra.RawTTL = kept
		c.Cassandra.FiveMinutesTTL = max(c.Cassandra.FiveMinutesTTL, kept+24*time.Hour)
		c.Cassandra.HourTTL = max(c.Cassandra.HourTTL, c.Cassandra.FiveMinutesTTL)
		c.Cassandra.DayTTL = max(c.Cassandra.DayTTL, c.Cassandra.HourTTL)
	}
	if len(c.Kafka.Brokers) == 0 {
		c.Kafka.Retention = min(c.Kafka.Retention, kept)
	}
}

// Keeps reports whether anything lies in the directory.
func (c *Config) Keeps() bool { return len(c.Kafka.Brokers) == 0 || len(c.Cassandra.Hosts) == 0 }

// StreamBytes bounds the stream in the directory: it has a quarter where it shares that with rows,
// which have what it leaves. 0: there is no bound.
func (c *Config) StreamBytes() int64 {
	if c.Cassandra.Dir == "" {
		return c.Data.MaxBytes
	}
	return c.Data.MaxBytes / 4
}

// DataFlags are those of commands that work on a directory, too.
type DataFlags struct {
	RoleFlags
	Data string `help:"The directory of ringwatch all for what has no engine: without kafka.brokers the stream is there, without cassandra.hosts all that is stored. Default: the configuration's data.dir." placeholder:"DIR" type:"dir"`
}

// bareConfig is the configuration of who has written none.
const bareConfig = "accounts: [{name: default}]\nself: {enabled: true}\n"

// Bare reports whether there is no configuration, and none was asked for.
func (f *DataFlags) Bare() bool {
	if f.Config != "" {
		return false
	}
	_, err := os.Stat(f.File())
	return errors.Is(err, fs.ErrNotExist)
}

// Load is RoleFlags.Load, with the directory of the flag.
func (f *DataFlags) Load() (c *Config, registry *account.Registry, err error) {
	if f.Bare() {
		c, registry, err = Parse("the configuration", []byte(bareConfig))
	} else {
		c, registry, err = f.RoleFlags.Load()
	}
	if err != nil {
		return nil, nil, err
	}
	if f.Data != "" {
		c.KeepIn(f.Data)
	}
	return c, registry, c.directoryPossible()
}

// directoryPossible reports, as a UsageError, that what has no engine cannot lie in the directory.
func (c *Config) directoryPossible() error {
	if !c.Keeps() {
		return nil
	}
	if err := DirectoryKey("data.dir", c.Data.Dir); err != nil {
		return exit.Usage(err)
	}
	return nil
}
