package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ringwatch/ringwatch/account"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/stream/files"
)

// dataConfig is where one process keeps what has no engine.
type dataConfig struct {
	Dir string
	// MaxBytes bounds the rows in Dir; 0: they have no bound but their tables' TTLs.
	MaxBytes int64
	// StreamMaxBytes bounds the frames in Dir, beside kafka.retention.
	StreamMaxBytes int64
}

func defaultData() dataConfig { return dataConfig{Dir: "ringwatch-data", StreamMaxBytes: 16 << 30} }

// minRowBytes is the least bound of rows: their log alone may take a quarter of it.
const minRowBytes = 256 << 20

func (c *dataConfig) validate() error {
	var errs []error
	if c.Dir == "" {
		errs = append(errs, errors.New("dir is empty: name a directory of this process"))
	}
	if c.MaxBytes != 0 && c.MaxBytes < minRowBytes {
		errs = append(errs, fmt.Errorf("max_bytes is %d: use at least %d, or 0 for no bound", c.MaxBytes,
			minRowBytes))
	}
	if c.StreamMaxBytes < files.MinBytes {
		errs = append(errs, fmt.Errorf("stream_max_bytes is %d: use at least %d", c.StreamMaxBytes,
			files.MinBytes))
	}
	return errors.Join(errs...)
}

// keepIn says that what has no engine lies in a directory.
func (c *config) keepIn(dir string) {
	c.Data.Dir = dir
	c.Cassandra.Dir, c.Cassandra.MaxBytes = "", 0
	if len(c.Cassandra.Hosts) == 0 {
		c.Cassandra.Dir, c.Cassandra.MaxBytes = filepath.Join(dir, "rows"), c.Data.MaxBytes
	}
}

// dataFlags are those of commands that work on a directory, too.
type dataFlags struct {
	roleFlags
	Data string `help:"The directory of ringwatch all for what has no engine: without kafka.brokers the stream is there, without cassandra.hosts all that is stored. Default: the configuration's data.dir." placeholder:"DIR" type:"path"`
}

// bareConfig is the configuration of who has written none.
const bareConfig = "accounts: [{name: default}]\n"

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
	if err == nil && f.Data != "" {
		c.keepIn(f.Data)
	}
	return c, registry, err
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

// directoryThere reports, as a usageError, that there is no directory of rows where one is meant.
// Only ringwatch all makes one.
func (c *config) directoryThere() error {
	_, err := os.Stat(c.Cassandra.Dir)
	if c.Cassandra.Dir == "" || !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return usageError{fmt.Errorf("there are no rows in %s: name the directory of ringwatch all with "+
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
	return usageError{err}
}

// endRows gives up a directory of rows, when no role uses it any more.
func (p *process) endRows() {
	if db := p.database.Load(); db != nil && p.Cassandra.Dir != "" {
		db.Close()
	}
}
