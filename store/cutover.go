package store

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/frame"
)

// Cutover says that a generation serves the windows from At on, until the next one.
type Cutover struct {
	At         int64 // a window's start, milliseconds since the Unix epoch; 0: from the beginning
	Generation string
	By         string
	Written    int64
}

// How processes learn of a cutover in time without talking to each other. A cutover is written at least CutoverLead before it takes effect. So who read the table
// at T knows everything that takes effect before T + CutoverLead, less what clocks may differ, and answers and writes those windows even if it cannot read
// the table again; of later windows it knows nothing and refuses them.
const (
	CutoverLead    = 10 * time.Minute
	CutoverRefresh = 30 * time.Second
	clocksDiffer   = time.Minute
)

// knownFor is how long after it was read the table is the truth about windows that begin until then.
const knownFor = CutoverLead - clocksDiffer

// cutoverScope is the one partition of the cutover table.
const cutoverScope = "windows"

// cutoverCache is what a process knows of the cutover table.
type cutoverCache struct {
	mu   sync.Mutex
	list []Cutover // by ascending At
	read time.Time // when the reading began; zero: never
	fail time.Time // when a reading failed last, by the machine's clock

	blocked atomic.Pointer[error] // why windows were refused last; nil: since then the table has been read
}

// cutoverPause is how long a failed reading is not tried again by those who can do without: many wait for one lock here.
const cutoverPause = time.Second

// Cutovers returns the cutover table, by ascending time, at most CutoverRefresh old. It is right about windows that begin before until; the error wraps ErrCutovers if
// that cannot be known, and says why.
func (s *Store) Cutovers(ctx context.Context, until int64) ([]Cutover, error) {
	c := &s.cutovers
	c.mu.Lock()
	defer c.mu.Unlock()
	now := s.config.Now()
	age := now.Sub(c.read)
	if age >= 0 && age < CutoverRefresh && until < c.read.Add(knownFor).UnixMilli() {
		return c.list, nil
	}
	if until < c.read.Add(knownFor).UnixMilli() && time.Since(c.fail) < cutoverPause {
		return c.list, nil
	}
	list, err := s.readCutovers(ctx)
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
		err = fmt.Errorf("%w: windows from %s on are refused until it can be: %w", ErrCutovers, clockTime(horizon), err)
		c.blocked.Store(&err)
	default:
		err = fmt.Errorf("%w: it is not known yet what serves windows from %s on", ErrCutovers, clockTime(horizon))
	}
	return nil, err
}

func clockTime(millis int64) string { return time.UnixMilli(millis).UTC().Format(time.RFC3339) }

func (s *Store) readCutovers(ctx context.Context) ([]Cutover, error) {
	var list []Cutover
	err := s.each(unmarked(ctx), func(scan func(...any) bool) bool {
		var c Cutover
		if !scan(&c.At, &c.Generation, &c.By, &c.Written) {
			return false
		}
		list = append(list, c)
		return true
	}, "SELECT at, generation, written_by, written_at FROM "+s.table(cutoverTable)+" WHERE scope = ?", cutoverScope)
	return list, err
}

// span is a range of windows and what serves it.
type span struct {
	from, to int64 // first and last window
	Generation
}

// spans routes the windows from … to, both included.
func (s *Store) spans(ctx context.Context, from, to int64) ([]span, error) {
	list, err := s.Cutovers(ctx, to)
	if err != nil {
		return nil, err
	}
	var spans []span
	for i, c := range list {
		first, last := max(from, c.At), to
		if i+1 < len(list) {
			last = min(to, list[i+1].At-windowMillis)
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
func (s *Store) generationAt(ctx context.Context, start int64) (Generation, error) {
	spans, err := s.spans(ctx, start, start)
	if err != nil {
		return nil, err
	}
	if len(spans) != 1 {
		return nil, fmt.Errorf("%w: none serves the window at %s; run ringwatch schema apply", ErrGeneration, clockTime(start))
	}
	return spans[0].Generation, nil
}

// seedCutovers enters the generation that a new keyspace begins with. Of several processes that do so at once one wins.
func (s *Store) seedCutovers(ctx context.Context) error {
	list, err := s.readCutovers(ctx)
	if err != nil || len(list) > 0 {
		return err
	}
	return s.exec(ctx, "INSERT INTO "+s.table(cutoverTable)+" (scope, at, generation, written_by, written_at) VALUES (?, 0, ?, 'the first schema apply', ?) IF NOT EXISTS",
		cutoverScope, s.config.Generation, s.millis())
}

// liveGenerations returns the generations that serve any time whose data has not expired, in order of time. Before there is a cutover table it is the one that the
// configuration names.
func (s *Store) liveGenerations(ctx context.Context) ([]string, error) {
	found, _, err := s.check(ctx, s.config.tables()[0])
	if err != nil {
		return nil, err
	}
	var list []Cutover
	if found {
		if list, err = s.readCutovers(ctx); err != nil {
			return nil, err
		}
	}
	if len(list) == 0 {
		return []string{s.config.Generation}, nil
	}
	var names []string
	for i, c := range list {
		if until, ends := s.servesUntil(list, i); ends && until <= s.millis() || c.Generation == noGeneration || slices.Contains(names, c.Generation) {
			continue
		}
		names = append(names, c.Generation)
	}
	return names, nil
}

// servesUntil returns when the last data of entry i has expired; ends is false for the newest entry.
func (s *Store) servesUntil(list []Cutover, i int) (until int64, ends bool) {
	if i+1 == len(list) {
		return 0, false
	}
	return list[i+1].At + s.config.RawTTL.Milliseconds(), true
}

// Cutover lets a generation serve the windows from at on, rounded up to the begin of a window. It creates the generation's tables. at must be at least
// CutoverLead ahead, so that every process knows it in time, and so must what it changes: a cutover that lies ahead may be replaced by another at the same time. The
// error wraps ErrCutover if it cannot be. by says who wants it.
func (s *Store) Cutover(ctx context.Context, to string, at time.Time, by string) (Cutover, error) {
	c := Cutover{At: at.UnixMilli(), Generation: to, By: by, Written: s.millis()}
	if rest := mod(c.At, windowMillis); rest > 0 {
		c.At += windowMillis - rest
	}
	if !knownGeneration(to) {
		return c, fmt.Errorf("%w: there is no generation %q; use one of %v", ErrCutover, to, Generations())
	}
	g, err := s.generation(to)
	if err != nil {
		return c, err
	}
	if _, err := s.ApplyChanges(ctx, Changes{}); err != nil {
		return c, err
	}
	for _, t := range g.Tables(&s.config) {
		found, _, err := s.check(ctx, t)
		if err == nil && !found {
			err = s.retry(ctx, "create "+t.name, func() error { return s.change(ctx, t.create(s.config.Keyspace)) })
		}
		if err != nil {
			return c, err
		}
	}
	// Only now: creating tables may have taken a while.
	c.Written = s.millis()
	if earliest := c.Written + CutoverLead.Milliseconds(); c.At < earliest {
		first := frame.WindowOf(earliest-1) + windowMillis
		return c, fmt.Errorf("%w: %s is less than %s ahead, so some process may not learn of it in time; use %s or later", ErrCutover, clockTime(c.At), CutoverLead, clockTime(first))
	}
	session, err := s.cql()
	if err != nil {
		return c, err
	}
	// In every datacenter, because others read the table in theirs.
	err = session.Query("INSERT INTO "+s.table(cutoverTable)+" (scope, at, generation, written_by, written_at) VALUES (?, ?, ?, ?, ?)",
		cutoverScope, c.At, c.Generation, c.By, c.Written).Consistency(gocql.EachQuorum).ExecContext(ctx)
	s.note(err)
	if err != nil {
		return c, fmt.Errorf("store: write cutover: %w", err)
	}
	return c, nil
}
