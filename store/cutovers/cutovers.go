// Package cutovers keeps which generation of tables serves the windows from a time on, and says
// what this process knows of it for certain. Start with Table.
package cutovers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/rows"
)

// Cutover says that a generation serves the windows from At on, until the next one.
type Cutover struct {
	At         int64 // a window's start, milliseconds since the Unix epoch; 0: from the beginning
	Generation string
	By         string
	Written    int64
}

// How processes learn of a cutover in time without talking to each other. A cutover is written at
// least Lead before it takes effect. So who read the table at T knows everything that takes
// effect before T + Lead, less what clocks may differ, and answers and writes those windows
// even if it cannot read the table again; of later windows it knows nothing and refuses them.
const (
	Lead    = 10 * time.Minute
	Refresh = 30 * time.Second
)

// NoGeneration stands in the table for a generation that was dropped: nothing is stored there.
const NoGeneration = "none"

// ErrUnknown is returned for windows of which this process cannot know what generation serves them,
// because it could not read the table for too long. It is retryable.
var ErrUnknown error = &rows.Error{
	Err: errors.New("store: the cutover table could not be read for too long"), Retryable: true,
}

// knownFor is how long after it was read the table is the truth about windows that begin until
// then.
const knownFor = Lead - calendar.ClocksDiffer

// TableName is the table of cutovers.
const TableName = "schema_cutovers"

// Scope is the one partition of the cutover table.
const Scope = "windows"

// Layout is the table of cutovers.
func Layout() *rows.Table {
	return &rows.Table{
		Name: TableName,
		Comment: "Ringwatch: which generation of tables serves the windows from a time on; " +
			"ringwatch schema cutover writes it",
		// One partition, so that who reads it sees all or nothing.
		Partition:  []rows.Column{rows.TextColumn("scope")},
		Clustering: []rows.Column{rows.TimeColumn("at")},
		Values: []rows.Column{rows.TextColumn("generation"), rows.TextColumn("written_by"),
			rows.TimeColumn("written_at")},
		Grace: 10 * 24 * time.Hour, Compression: rows.Fast,
		Everywhere: true, // because others read in their datacenter
	}
}

// Table keeps the cutover table, and what this process knows of it.
type Table struct {
	engine rows.Engine
	table  *rows.Table
	limits *calendar.Limits
	clock  *calendar.Clock
	first  string // the generation that a new keyspace begins with

	mu   sync.Mutex
	list []Cutover // by ascending At
	read time.Time // when the reading began; zero: never
	fail time.Time // when a reading failed last, by the machine's clock

	// why windows were refused last; nil: since then the table has been read
	blocked atomic.Pointer[error]
}

// New keeps cutovers in an engine. first is the generation that a new keyspace begins with.
func New(engine rows.Engine, limits *calendar.Limits, clock *calendar.Clock, first string) *Table {
	return &Table{engine: engine, table: Layout(), limits: limits, clock: clock, first: first}
}

// Blocked returns why windows were refused last; nil: since then the table has been read.
func (c *Table) Blocked() error {
	if p := c.blocked.Load(); p != nil {
		return *p
	}
	return nil
}

// pause is how long a failed reading is not tried again by those who can do without: many
// wait for one lock here.
const pause = time.Second

// Known returns the table, by ascending time, at most Refresh old. It is right about windows that
// begin before until; the error wraps ErrUnknown if that cannot be known, and says why.
func (c *Table) Known(ctx context.Context, until int64) ([]Cutover, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	age := now.Sub(c.read)
	if age >= 0 && age < Refresh && until < c.read.Add(knownFor).UnixMilli() {
		return c.list, nil
	}
	if until < c.read.Add(knownFor).UnixMilli() && time.Since(c.fail) < pause {
		return c.list, nil
	}
	list, err := c.All(ctx)
	if err != nil {
		c.fail = time.Now()
	}
	if err == nil && len(list) == 0 {
		return nil, fmt.Errorf("%w: it is empty; run ringwatch schema apply", ErrUnknown)
	}
	if err == nil {
		c.list, c.read = list, now
		c.blocked.Store(nil)
	}
	horizon := c.read.Add(knownFor).UnixMilli()
	switch {
	case c.read.IsZero():
		return nil, err
	case until < horizon: // what we know is right even if it is old
		return c.list, nil
	case err != nil:
		err = fmt.Errorf("%w: windows from %s on are refused until it can be: %w", ErrUnknown,
			calendar.Text(horizon), err)
		c.blocked.Store(&err)
	default:
		err = fmt.Errorf("%w: it is not known yet what serves windows from %s on", ErrUnknown,
			calendar.Text(horizon))
	}
	return nil, err
}

// All reads the table.
func (c *Table) All(ctx context.Context) ([]Cutover, error) {
	var list []Cutover
	query := rows.Query{Table: c.table, Key: []any{Scope},
		Columns: []string{"at", "generation", "written_by", "written_at"}}
	err := c.engine.Read(ctx, rows.Work{}, query, func(scan func(...any) bool) bool {
		var c Cutover
		if !scan(&c.At, &c.Generation, &c.By, &c.Written) {
			return false
		}
		list = append(list, c)
		return true
	})
	return list, err
}

func (c *Cutover) row() rows.Row {
	return rows.Row{Key: []any{Scope, c.At}, Values: []any{c.Generation, c.By, c.Written}}
}

// Put writes a cutover, in every datacenter.
func (c *Table) Put(ctx context.Context, cut Cutover) error {
	if err := c.engine.Put(ctx, rows.Work{}, c.table, cut.row()); err != nil {
		return fmt.Errorf("store: write cutover: %w", err)
	}
	return nil
}

// Drop notes that the generation of an entry is gone.
func (c *Table) Drop(ctx context.Context, cut Cutover) error {
	return c.engine.Put(ctx, rows.Work{}, c.table, rows.Row{Key: []any{Scope, cut.At},
		Values: []any{NoGeneration, nil, nil}})
}

// Seed enters the generation that a new keyspace begins with. Of several processes that do so at
// once one wins.
func (c *Table) Seed(ctx context.Context) error {
	list, err := c.All(ctx)
	if err != nil || len(list) > 0 {
		return err
	}
	first := Cutover{Generation: c.first, By: "the first start",
		Written: c.clock.Millis()}
	_, err = c.engine.PutNew(ctx, rows.Work{}, c.table, first.row(), nil)
	return err
}

// Live returns which generations of a list serve any time whose data has not expired, in order of
// time.
func (c *Table) Live(list []Cutover) []string {
	var names []string
	for i, cut := range list {
		if until, ends := c.ServesUntil(list, i); ends && until <= c.clock.Millis() ||
			cut.Generation == NoGeneration || slices.Contains(names, cut.Generation) {
			continue
		}
		names = append(names, cut.Generation)
	}
	return names
}

// ServesUntil returns when the last data of entry i has expired; ends is false for the newest
// entry.
func (c *Table) ServesUntil(list []Cutover, i int) (until int64, ends bool) {
	if i+1 == len(list) {
		return 0, false
	}
	return list[i+1].At + c.limits.RawTTL.Milliseconds(), true
}
