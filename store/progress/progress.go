// Package progress keeps up to when the frames of the stream are in the database.
package progress

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/stream"
)

// Who reads must know whether everything that was acknowledged is here. Store processes say so: for
// each partition of the stream there is a row with a time up to which all that the stream had is in
// Cassandra. While nobody writes frames the rows stand still, and readers see how old they are.
// Kafka's committed offsets do not tell: they say where a restart begins, not what is written.

// TableName is the table of how far the stream's frames are.
const TableName = "progress"

// progressScope is the one partition of the table progress: a read tells all of a moment.
const progressScope = "frames"

// progressAge is how old what Progress answers may be, so that a crowd of readers asks once;
// progressTimeout is how long one asking may take, because they all wait for it; after it failed
// nobody asks for progressPause.
const (
	progressAge     = time.Second
	progressTimeout = time.Second
	progressPause   = 5 * time.Second
)

// progressTTL is after how long a partition of which nobody says anything is forgotten.
const progressTTL = 30 * 24 * time.Hour

// Layout is the table of progress.
func Layout() *rows.Table {
	return &rows.Table{
		Name: TableName,
		Comment: "Ringwatch: up to when the frames of each partition of the stream are here; " +
			"store processes write it every second",
		Partition:  []rows.Column{rows.TextColumn("scope")},
		Clustering: []rows.Column{{Name: "stream_partition", Kind: rows.Int32}},
		Values: []rows.Column{rows.TimeColumn("through"),
			{Name: "partitions", Kind: rows.Int32}},
		TTL: progressTTL, Grace: 3 * time.Hour, Compression: rows.Fast,
	}
}

// Ledger keeps how far the stream's frames are, and what this process knows of it.
type Ledger struct {
	engine rows.Engine
	table  *rows.Table

	mu    sync.Mutex
	known stream.Progress
	next  time.Time // when it may be read again, by the machine's clock
	err   error     // of the last reading
}

// New keeps in an engine how far the stream's frames are.
func New(engine rows.Engine) *Ledger {
	return &Ledger{engine: engine, table: Layout()}
}

// WriteProgress says how far the stream's frames are in Cassandra. What was said before stands
// where it says more: rows carry the time that they tell as their write time.
func (c *Ledger) WriteProgress(ctx context.Context, p stream.Progress) error {
	var list []rows.Row
	for partition, at := range p.Through {
		through := at.UnixMilli()
		list = append(list, rows.Row{Key: []any{progressScope, partition},
			Values: []any{through, p.Partitions}, Stamp: through * 1000})
	}
	if err := c.engine.Put(ctx, rows.Work{}, c.table, list...); err != nil {
		return fmt.Errorf("store: say how far the stream's frames are: %w", err)
	}
	return nil
}

// Progress returns how far the stream's frames are in Cassandra, a second old at most. Without
// Partitions nobody has said so yet. With an error it is what was known last. It is not to be
// changed.
func (c *Ledger) Progress(ctx context.Context) (stream.Progress, error) {
	c.mu.Lock() // who comes meanwhile shares the answer
	defer c.mu.Unlock()
	if time.Now().Before(c.next) {
		return c.known, c.err
	}
	c.next = time.Now().Add(progressAge)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), progressTimeout)
	defer cancel()
	p := stream.Progress{Through: map[int32]time.Time{}}
	newest := int64(0)
	query := rows.Query{Table: c.table, Key: []any{progressScope},
		Columns: []string{"stream_partition", "through", "partitions"}}
	err := c.engine.Read(ctx, rows.Work{}, query, func(scan func(...any) bool) bool {
		var partition int32
		var through int64
		var partitions int
		if !scan(&partition, &through, &partitions) {
			return false
		}
		p.Through[partition] = time.UnixMilli(through)
		if through > newest {
			newest, p.Partitions = through, partitions
		}
		return true
	})
	if c.err = err; err != nil {
		c.next = time.Now().Add(progressPause)
		c.err = fmt.Errorf("store: read how far the stream's frames are: %w", err)
	} else {
		c.known = p
	}
	return c.known, c.err
}
