package index

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/window"
)

// Config says how a Loader works.
type Config struct {
	// Refresh is how often new dictionaries are asked for: one small read per account.
	Refresh time.Duration `yaml:"refresh"`
	// Recheck is how often the last two days of every node are listed again, in case something was
	// written with a clock that was wrong by more than a minute.
	Recheck time.Duration `yaml:"recheck"`
	// Readers is how many nodes are read at once. Each has a node's dictionaries of one day in
	// memory, some 100 KB.
	Readers int `yaml:"readers"`
	// MaxBytes bounds what one account's series take in memory. A fleet of 10,000 nodes takes some
	// 20 MB.
	MaxBytes int `yaml:"max_bytes"`

	// Keep is how far back series are known: as long as there are values.
	Keep time.Duration `yaml:"-"`
	// Accounts returns the accounts whose series are kept.
	Accounts func() []string  `yaml:"-"`
	Clock    func() time.Time `yaml:"-"` // nil: time.Now
	Log      *slog.Logger     `yaml:"-"` // nil: slog.Default()
}

// DefaultConfig returns settings with which a new dictionary is found within half a minute.
func DefaultConfig() Config {
	return Config{Refresh: 30 * time.Second, Recheck: 6 * time.Hour, Readers: 8, MaxBytes: 1 << 30}
}

// Validate returns everything that is wrong with the configuration, at once.
func (c *Config) Validate() error {
	var wrong []error
	if c.Refresh < time.Second || c.Refresh > time.Hour {
		wrong = append(wrong, fmt.Errorf("refresh is %v: use 1s to 1h", c.Refresh))
	}
	if c.Recheck < c.Refresh {
		wrong = append(wrong, fmt.Errorf("recheck is %v: use at least refresh, %v", c.Recheck,
			c.Refresh))
	}
	if c.Readers < 1 || c.Readers > 1000 {
		wrong = append(wrong, fmt.Errorf("readers is %d: use 1 to 1000", c.Readers))
	}
	if c.MaxBytes < 1<<20 {
		wrong = append(wrong, fmt.Errorf("max_bytes is %d: use at least %d", c.MaxBytes, 1<<20))
	}
	return errors.Join(wrong...)
}

// Source is where a Loader reads, as store.Store does. Times are milliseconds since the Unix epoch.
type Source struct {
	// Nodes returns the account's nodes.
	Nodes func(ctx context.Context, account string) ([]uuid.UUID, error)
	// Dictionaries returns which dictionaries a node has on the day of a time and on those after
	// it.
	Dictionaries func(ctx context.Context, account string, node uuid.UUID,
		from int64) ([]window.DictionaryID, error)
	// Written returns which dictionaries were written since a time that lies at most WrittenFor
	// back.
	Written func(ctx context.Context, account string, since int64) ([]window.DictionaryID, error)
	// WrittenFor is how far back Written knows.
	WrittenFor time.Duration
	// Read calls take for those of a node's dictionaries that can be read.
	Read func(ctx context.Context, account string, node uuid.UUID, ids []window.DictionaryID,
		take func(window.Hash, *window.Dictionary)) error
}
