package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
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

func defaultData() dataConfig {
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
func (c *config) engineTimes() error {
	var errs []error
	say := func(key string, is, standard time.Duration, address string) {
		if is != standard {
			errs = append(errs, fmt.Errorf("%s has no use without %s: set data.retention", key,
				address))
		}
	}
	if len(c.Kafka.Brokers) == 0 {
		say("kafka.retention", c.Kafka.Retention, defaultKafka().Retention, "kafka.brokers")
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

// keepIn says that what has no engine lies in a directory, for data.retention.
func (c *config) keepIn(dir string) {
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

// keeps reports whether anything lies in the directory.
func (c *config) keeps() bool { return len(c.Kafka.Brokers) == 0 || len(c.Cassandra.Hosts) == 0 }

// streamBytes bounds the stream in the directory: it has a quarter where it shares that with rows,
// which have what it leaves. 0: there is no bound.
func (c *config) streamBytes() int64 {
	if c.Cassandra.Dir == "" {
		return c.Data.MaxBytes
	}
	return c.Data.MaxBytes / 4
}

// dataFlags are those of commands that work on a directory, too.
type dataFlags struct {
	roleFlags
	Data string `help:"The directory of ringwatch all for what has no engine: without kafka.brokers the stream is there, without cassandra.hosts all that is stored. Default: the configuration's data.dir." placeholder:"DIR" type:"dir"`
}

// bareConfig is the configuration of who has written none.
const bareConfig = "accounts: [{name: default}]\nself: {enabled: true}\n"

// bare reports whether there is no configuration, and none was asked for.
func (f *dataFlags) bare() bool {
	if f.Config != "" {
		return false
	}
	_, err := os.Stat(f.file())
	return errors.Is(err, fs.ErrNotExist)
}

func (f *dataFlags) load() (c *config, registry *account.Registry, err error) {
	if f.bare() {
		c, registry, err = parseConfig("the configuration", []byte(bareConfig))
	} else {
		c, registry, err = f.roleFlags.load()
	}
	if err != nil {
		return nil, nil, err
	}
	if f.Data != "" {
		c.keepIn(f.Data)
	}
	return c, registry, c.directoryPossible()
}

// prepare is roleFlags.prepare.
func (f *dataFlags) prepare(role string) (*process, error) {
	c, registry, err := f.load()
	if err != nil {
		return nil, err
	}
	file := f.file()
	if f.bare() {
		file = "none"
	}
	return newProcess(role, file, c, registry)
}

// start is roleFlags.start.
func (f *dataFlags) start(
	ctx context.Context, role string, pick func(*config) []engine,
) (*process, error) {
	p, err := f.prepare(role)
	if err != nil {
		return nil, err
	}
	return p, p.need(ctx, f.Wait, pick(p.config)...)
}

// directoryPossible reports, as a usageError, that what has no engine cannot lie in the directory.
func (c *config) directoryPossible() error {
	if !c.keeps() {
		return nil
	}
	if err := directoryKey("data.dir", c.Data.Dir); err != nil {
		return usageError{err}
	}
	return nil
}

// directoryThere reports, as a usageError, that there is no directory of rows where one is meant.
// Only ringwatch all makes one.
func (c *config) directoryThere() error {
	_, err := os.Stat(c.Cassandra.Dir)
	if c.Cassandra.Dir == "" || !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return usageError{fmt.Errorf(
		"there are no rows in %s: name the directory of ringwatch all with "+
			"--data or data.dir, or Cassandra with cassandra.hosts", c.Data.Dir)}
}

// connectError says what to do about a directory that cannot be opened.
func (c *config) connectError(err error) error {
	switch {
	case c.Cassandra.Dir == "":
		return err
	case errors.Is(err, store.ErrInUse):
		return usageError{fmt.Errorf("%w: stop that process first, or name another directory", err)}
	}
	return usageError{unwritable(err)}
}

// unwritable adds what to do to an error about a directory that may only be read.
func unwritable(err error) error {
	switch {
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: make it writable, or copy it with ringwatch data backup and name "+
			"the copy", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: give it to the user of ringwatch all, or name another directory",
			err)
	}
	return err
}

// endRows gives up a directory of rows, when no role uses it any more.
func (p *process) endRows() {
	if db := p.database.Load(); db != nil && p.Cassandra.Dir != "" {
		db.Close()
	}
}
