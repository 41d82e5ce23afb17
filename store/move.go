package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/cutovers"
	"github.com/ringwatch/ringwatch/store/generations"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/files"
)

// A directory is moved into Cassandra row by row, as each was written: with its write time and
// what is left of its time to live. So it does not matter in which order rows come, or how often,
// and a move that was interrupted goes on.
//
// Files of rows never change, so most is copied while a process has the directory and writes more.
// What is left for the moment when nobody has it is what was not in files yet, and the tables
// whose rows are replaced at any time: a value there may have hidden an older one, and be
// forgotten since. Those tables are small. In the others rows expire in the order in which they
// were written.

// ErrOccupied is wrapped by the error about a keyspace that has other data than the directory's.
var ErrOccupied = errors.New("store: the keyspace has other data")

// ErrAccount is wrapped by the error about rows of an account that is not known where they are
// moved to.
var ErrAccount = errors.New("store: rows of an unknown account")

// ErrMoving is wrapped by the error about rows that could not be moved for now. What was moved
// stays.
var ErrMoving = errors.New("store: rows cannot be moved now")

// movedTable says which directory's rows a keyspace has.
const movedTable = "moved"

func movedLayout() *rows.Table {
	return &rows.Table{
		Name:      movedTable,
		Comment:   "Ringwatch: which directory's rows ringwatch data move has moved here",
		Partition: []rows.Column{rows.TextColumn("scope")},
		Values: []rows.Column{
			rows.TextColumn("directory"),
			rows.TimeColumn("begun_at"),
			rows.TimeColumn("done_at"),
		},
		Grace: 10 * 24 * time.Hour, Compression: rows.Fast,
		Everywhere: true, // so that no two directories are moved here at once
	}
}

const (
	// movedAtOnce is how many lists of rows are written at once, and movedBytes how large one is.
	movedAtOnce = 8
	movedBytes  = 1 << 20
)

// MoverConfig says how a directory is moved.
type MoverConfig struct {
	Dir string // of rows
	ID  string // of the directory: no other may be moved into the same keyspace
	// Copied are the parts that are copied already.
	Copied []string
	// Patience is how long one write may be tried again while Cassandra is away.
	Patience time.Duration
	// Knows reports whether rows of an account may be moved. nil: of each.
	Knows func(account string) bool
	// Save is called with the parts that are copied, after each; nil: nobody wants to know.
	Save func(copied []string) error
	// Report is called while rows are copied; nil: nobody wants to know.
	Report func(MoveProgress)
}

// MoveProgress is how far one call of Round or Last is.
type MoveProgress struct {
	Bytes, Of int64 // on the directory's disk
	Rows      int64 // of all calls
}

// MovedTable is what was moved of a table.
type MovedTable struct {
	Name string
	// Rows were written, and read back. A row that was written in several pieces counts as often.
	Rows int64
}

// Mover copies the rows of a directory into a Store's Cassandra. One goroutine uses it.
type Mover struct {
	config MoverConfig
	from   *files.Export
	to     *Store
	tables map[string]*rows.Table // of the directory, as they are to be in Cassandra

	mu       sync.Mutex
	copied   map[string]bool
	moved    map[string]int64 // rows by table
	progress MoveProgress
	cutovers map[int64]movedCutover // that were copied, by their time
}

// NewMover looks at a directory. The error says what of it this program cannot move.
func (s *Store) NewMover(c MoverConfig) (*Mover, error) {
	from, err := files.NewExport(c.Dir)
	if err != nil {
		return nil, err
	}
	m := &Mover{config: c, from: from, to: s, tables: map[string]*rows.Table{},
		copied: map[string]bool{}, moved: map[string]int64{}, cutovers: map[int64]movedCutover{}}
	for _, name := range c.Copied {
		m.copied[name] = true
	}
	for _, t := range from.Tables() {
		own := s.byName[t.Name]
		if own == nil || !slices.Equal(own.Partition, t.Partition) ||
			!slices.Equal(own.Clustering, t.Clustering) ||
			len(own.Values) < len(t.Values) ||
			!slices.Equal(own.Values[:len(t.Values)], t.Values) {
			return nil, fmt.Errorf(
				"%w: %s of %s is not a table of this program: use the one that wrote it, or "+
					"a newer one",
				ErrLayout,
				t.Name,
				c.Dir,
			)
		}
		m.tables[t.Name] = own
	}
	return m, nil
}

// Close gives up the directory.
func (m *Mover) Close() { m.from.Close() }

// Size returns how many bytes of the directory are not copied yet.
func (m *Mover) Size() (n int64, err error) {
	list, err := m.parts(func(*files.Part) bool { return true })
	for _, p := range list {
		n += p.Bytes
	}
	return n, err
}

// Tables returns what was moved, by name.
func (m *Mover) Tables() (list []MovedTable) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, n := range m.moved {
		list = append(list, MovedTable{name, n})
	}
	slices.SortFunc(list, func(a, b MovedTable) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Lost returns how many bytes of the directory were damaged and could not be read.
func (m *Mover) Lost() int64 { return m.from.Lost() }

// movedScope is the one partition of the table moved.
const movedScope = "rows"

// Check looks whether the database has other data than this directory's: then the error wraps
// ErrOccupied. It changes nothing. mine says that this directory's move has begun there.
func (m *Mover) Check(ctx context.Context) (mine bool, err error) {
	there, err := m.to.session.Has(ctx, movedLayout())
	if err != nil {
		return false, err
	}
	if there {
		whose, err := m.owner(ctx)
		if err != nil || whose == m.config.ID {
			return err == nil, err
		}
		if whose != "" {
			return false, m.others()
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.to.byName)) {
		if err := m.checkVacant(ctx, m.to.byName[name]); err != nil {
			return false, err
		}
	}
	clear(m.copied) // that was elsewhere
	return false, nil
}

func (m *Mover) others() error {
	return fmt.Errorf(
		"%w: %s has the rows of another directory: name another cassandra.keyspace",
		ErrOccupied,
		m.to.config.Keyspace,
	)
}

// owner returns which directory's rows are here; "": nobody has begun.
func (m *Mover) owner(ctx context.Context) (id string, err error) {
	q := rows.Query{Table: movedLayout(), Key: []any{movedScope}, Columns: []string{"directory"}}
	return id, m.to.session.Read(
		ctx,
		rows.Work{},
		q,
		func(scan func(...any) bool) bool { return scan(&id) },
	)
}

// checkVacant returns an error if a table has rows. Those that ringwatch schema apply begins with
// do not count: whether they are right, Last finds out.
func (m *Mover) checkVacant(ctx context.Context, t *rows.Table) error {
	there, err := m.to.session.Has(ctx, t)
	if err != nil || !there {
		return err
	}
	empty, err := m.to.session.Empty(ctx, t)
	if err == nil && !empty && t.Name == cutovers.TableName {
		list, failed := m.to.cutovers.All(ctx)
		empty, err = len(list) == 1 && list[0].At == 0 &&
			list[0].Generation == generations.Default, failed
	}
	if err == nil && !empty {
		return fmt.Errorf(
			"%w: table %s of %s has rows: name another cassandra.keyspace, or drop this one",
			ErrOccupied,
			t.Name,
			m.to.config.Keyspace,
		)
	}
	return err
}

// Begin makes the tables, and records that the database is this directory's.
func (m *Mover) Begin(ctx context.Context) error {
	mine, err := m.Check(ctx)
	if err != nil {
		return err
	}
	schema := rows.Schema{
		Tables: func(context.Context) ([]*rows.Table, error) {
			return append(slices.Collect(maps.Values(m.tables)), movedLayout()), nil
		},
		Seed: func(context.Context) error { return nil }, // the directory's cutovers come
	}
	if _, err := m.to.session.Apply(ctx, Changes{}, schema); err != nil || mine {
		return err
	}
	row := rows.Row{Key: []any{movedScope}, Values: []any{m.config.ID, m.to.clock.Millis(), nil}}
	var whose string
	first, err := m.to.session.PutNew(
		ctx,
		rows.Work{},
		movedLayout(),
		row,
		[]string{"directory"},
		&whose,
	)
	if err == nil && !first && whose != m.config.ID {
		return m.others()
	}
	return err
}

// End records that all rows are here.
func (m *Mover) End(ctx context.Context) error {
	row := rows.Row{Key: []any{movedScope}, Values: []any{m.config.ID, nil, m.to.clock.Millis()}}
	return m.to.session.Put(ctx, rows.Work{}, movedLayout(), row)
}

// parts lists the parts that are not copied and are picked.
func (m *Mover) parts(pick func(*files.Part) bool) ([]files.Part, error) {
	list, err := m.from.Parts()
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for i := range list {
		p := &list[i]
		there[p.Name] = true
		if len(p.Replaces) > 0 &&
			!slices.ContainsFunc(p.Replaces, func(name string) bool { return !m.copied[name] }) {
			m.copied[p.Name] = true // its rows came as parts of others
		}
	}
	maps.DeleteFunc(m.copied, func(name string, _ bool) bool { return !there[name] })
	return slices.DeleteFunc(
		list,
		func(p files.Part) bool { return m.copied[p.Name] || !pick(&p) },
	), nil
}

// Round copies what the directory has in files and is not copied yet, but for the tables whose
// rows are replaced at any time. It returns how many bytes on the disk those were. An error that
// wraps ErrMoving says that Cassandra is away.
func (m *Mover) Round(ctx context.Context) (int64, error) {
	list, err := m.parts(func(p *files.Part) bool { return p.Table.AgeUnit > 0 })
	if err != nil {
		return 0, err
	}
	return m.copyAll(ctx, list)
}

// Last takes the directory, until Close, and copies all that is left. The error wraps ErrInUse if
// a process has the directory, else it is as Round's.
func (m *Mover) Last(ctx context.Context) error {
	if err := m.from.Take(); err != nil {
		return err
	}
	list, err := m.parts(func(*files.Part) bool { return true })
	if err == nil {
		_, err = m.copyAll(ctx, list)
	}
	if err != nil {
		return err
	}
	return m.checkCutovers(ctx)
}

// checkCutovers holds the cutovers that are in the database against those that were copied: if
// others were there before, windows would be looked for in the wrong tables.
func (m *Mover) checkCutovers(ctx context.Context) error {
	list, err := m.to.cutovers.All(ctx)
	if err != nil {
		return err
	}
	for _, c := range list {
		if is := m.cutovers[c.At].generation; is != c.Generation {
			return fmt.Errorf(
				"%w: windows from %s on are in generation %q in the directory, and the keyspace "+
					"was begun with %q: drop the keyspace and move again",
				ErrOccupied,
				calendar.Text(c.At),
				is,
				c.Generation,
			)
		}
	}
	return nil
}

func (m *Mover) copyAll(ctx context.Context, list []files.Part) (int64, error) {
	m.mu.Lock()
	m.progress.Bytes, m.progress.Of = 0, 0
	for _, p := range list {
		m.progress.Of += p.Bytes
	}
	m.mu.Unlock()
	for _, p := range list {
		err := m.copy(ctx, p)
		if errors.Is(err, fs.ErrNotExist) { // its rows expired, or are in another part
			continue
		}
		if err != nil {
			return 0, err
		}
		if p.Table.AgeUnit > 0 && p.InFile() {
			m.copied[p.Name] = true
			if m.config.Save != nil {
				if err := m.config.Save(slices.Sorted(maps.Keys(m.copied))); err != nil {
					return 0, err
				}
			}
		}
		m.report(p.Bytes, 0)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.progress.Of, nil
}

func (m *Mover) report(bytes int64, rows int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.progress.Bytes += bytes
	m.progress.Rows += int64(rows)
	if m.config.Report != nil {
		m.config.Report(m.progress)
	}
}
