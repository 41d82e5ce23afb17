package store

import (
	"context"
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
// least CutoverLead before it takes effect. So who read the table at T knows everything that takes
// effect before T + CutoverLead, less what clocks may differ, and answers and writes those windows
// even if it cannot read the table again; of later windows it knows nothing and refuses them.
const (
	CutoverLead    = 10 * time.Minute
	CutoverRefresh = 30 * time.Second
)

// knownFor is how long after it was read the table is the truth about windows that begin until
// then.
const knownFor = CutoverLead - calendar.ClocksDiffer

// cutoverTable is the table of cutovers.
const cutoverTable = "schema_cutovers"

// cutoverScope is the one partition of the cutover table.
const cutoverScope = "windows"

func cutoverLayout() *rows.Table {
	return &rows.Table{
		Name: cutoverTable,
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

// cutoverRows keeps the cutover table, and what this process knows of it.
type cutoverRows struct {
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

// cutoverPause is how long a failed reading is not tried again by those who can do without: many
// wait for one lock here.
const cutoverPause = time.Second

// Cutovers returns the cutover table, by ascending time, at most CutoverRefresh old. It is right
// about windows that begin before until; the error wraps ErrCutovers if that cannot be known, and
// says why.
func (s *Store) Cutovers(ctx context.Context, until int64) ([]Cutover, error) {
	return s.cutovers.known(ctx, until)
}

// known is Cutovers.
func (c *cutoverRows) known(ctx context.Context, until int64) ([]Cutover, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	age := now.Sub(c.read)
	if age >= 0 && age < CutoverRefresh && until < c.read.Add(knownFor).UnixMilli() {
		return c.list, nil
	}
	if until < c.read.Add(knownFor).UnixMilli() && time.Since(c.fail) < cutoverPause {
		return c.list, nil
	}
	list, err := c.all(ctx)
	if err != nil {
		c.fail = time.Now()
	}
	if err == nil && len(list) == 0 {
		return nil, fmt.Errorf("%w: it is empty; run ringwatch schema apply", ErrCutovers)
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
		err = fmt.Errorf("%w: windows from %s on are refused until it can be: %w", ErrCutovers,
			calendar.Text(horizon), err)
		c.blocked.Store(&err)
	default:
		err = fmt.Errorf("%w: it is not known yet what serves windows from %s on", ErrCutovers,
			calendar.Text(horizon))
	}
	return nil, err
}

// all reads the table.
func (c *cutoverRows) all(ctx context.Context) ([]Cutover, error) {
	var list []Cutover
	query := rows.Query{Table: c.table, Key: []any{cutoverScope},
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
	return rows.Row{Key: []any{cutoverScope, c.At}, Values: []any{c.Generation, c.By, c.Written}}
}

// put writes a cutover, in every datacenter.
func (c *cutoverRows) put(ctx context.Context, cut Cutover) error {
	if err := c.engine.Put(ctx, rows.Work{}, c.table, cut.row()); err != nil {
		return fmt.Errorf("store: write cutover: %w", err)
	}
	return nil
}

// drop notes that the generation of an entry is gone.
func (c *cutoverRows) drop(ctx context.Context, cut Cutover) error {
	return c.engine.Put(ctx, rows.Work{}, c.table, rows.Row{Key: []any{cutoverScope, cut.At},
		Values: []any{noGeneration, nil, nil}})
}

// seed enters the generation that a new keyspace begins with. Of several processes that do so at
// once one wins.
func (c *cutoverRows) seed(ctx context.Context) error {
	list, err := c.all(ctx)
	if err != nil || len(list) > 0 {
		return err
	}
	first := Cutover{Generation: c.first, By: "the first start",
		Written: c.clock.Millis()}
	_, err = c.engine.PutNew(ctx, rows.Work{}, c.table, first.row(), nil)
	return err
}

// live returns which generations of a list serve any time whose data has not expired, in order of
// time.
func (c *cutoverRows) live(list []Cutover) []string {
	var names []string
	for i, cut := range list {
		if until, ends := c.servesUntil(list, i); ends && until <= c.clock.Millis() ||
			cut.Generation == noGeneration || slices.Contains(names, cut.Generation) {
			continue
		}
		names = append(names, cut.Generation)
	}
	return names
}

// servesUntil returns when the last data of entry i has expired; ends is false for the newest
// entry.
func (c *cutoverRows) servesUntil(list []Cutover, i int) (until int64, ends bool) {
	if i+1 == len(list) {
		return 0, false
	}
	return list[i+1].At + c.limits.RawTTL.Milliseconds(), true
}

// span is a range of windows and what serves it.
type span struct {
	from, to int64 // first and last window
	Generation
}

// spans routes the windows from … to, both included.
func (s task) spans(ctx context.Context, from, to int64) ([]span, error) {
	list, err := s.Cutovers(ctx, to)
	if err != nil {
		return nil, err
	}
	var spans []span
	for i, c := range list {
		first, last := max(from, c.At), to
		if i+1 < len(list) {
			last = min(to, list[i+1].At-calendar.WindowMillis)
		}
		if first > last {
			continue
		}
		g, err := s.generation(c.Generation)
		if err != nil {
			return nil, err
		}
		spans = append(spans, span{first, last, g})
	}
	return spans, nil
}

// generationAt returns what serves a window.
func (s task) generationAt(ctx context.Context, start int64) (Generation, error) {
	spans, err := s.spans(ctx, start, start)
	if err != nil {
		return nil, err
	}
	if len(spans) != 1 {
		return nil, fmt.Errorf("%w: none serves the window at %s; run ringwatch schema apply",
			ErrGeneration, calendar.Text(start))
	}
	return spans[0].Generation, nil
}
