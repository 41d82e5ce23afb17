package compaction

import (
	"time"

	"github.com/ringwatch/ringwatch/store/rows/files/ledger"
	"github.com/ringwatch/ringwatch/store/rows/files/table"
	"github.com/ringwatch/ringwatch/store/rows/files/tree"
)

// Config is what Flusher and Keeper need.
type Config struct {
	Dir    string
	Tree   *tree.Tree
	Tables *table.Catalog
	Ledger *ledger.Ledger
	// Now is the clock.
	Now func() time.Time
	// LogBytes is how much room the log may need; the keeper leaves that.
	LogBytes int64
	// Bytes returns how large the directory is, and may be: NoBound, if as it likes.
	Bytes func() (is, most int64)
}

// now returns the clock in seconds since the Unix epoch.
func (c *Config) now() int64 { return c.Now().Unix() }

func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
