// Package moving moves a directory of rows into Cassandra. Start with Mover.
//
// A directory is moved into Cassandra row by row, as each was written: with its write time and
// what is left of its time to live. So it does not matter in which order rows come, or how often,
// and a move that was interrupted goes on.
//
// Files of rows never change, so most is copied while a process has the directory and writes more.
// What is left for the moment when nobody has it is what was not in files yet, and the tables
// whose rows are replaced at any time: a value there may have hidden an older one, and be
// forgotten since. Those tables are small. In the others rows expire in the order in which they
// were written.
package moving

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
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/files"
)

// ErrOccupied is wrapped by the error about a keyspace that has other data than the directory's.
var ErrOccupied = errors.New("store: the keyspace has other data")

// ErrAccount is wrapped by the error about rows of an account that is not known where they are
// moved to.
var ErrAccount = errors.New("store: rows of an unknown account")

// ErrMoving is wrapped by the error about rows that could not be moved for now. What was moved
// stays.
var ErrMoving = errors.New("store: rows cannot be moved now")

const (
	// movedAtOnce is how many lists of rows are written at once, and movedBytes how large one is.
	movedAtOnce = 8
	movedBytes  = 1 << 20
)

// Config says how a directory is moved.
type Config struct {
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
	Report func(Progress)
}

// Progress is how far one call of Round or Last is.
type Progress struct {
	Bytes, Of int64 // on the directory's disk
	Rows      int64 // of all calls
}

// Table is what was moved of a table.
type Table struct {
	Name string
	// Rows were written, and read back. A row that was written in several pieces counts as often.
	Rows int64
}

// Mover copies the rows of a directory into a Target. One goroutine uses it.
type Mover struct {
	config Config
	from   *files.Export
	to     Target
	tables map[string]*rows.Table // of the directory, as they are to be in Cassandra

	mu       sync.Mutex
	copied   map[string]bool
	moved    map[string]int64 // rows by table
	progress Progress
	cutovers map[int64]movedCutover // that were copied, by their time
}

// Target is where rows are moved to.
type Target struct {
	Database   Database
	Tables     map[string]*rows.Table // all of a store's, by name
	Cutovers   *cutovers.Table
	Clock      *calendar.Clock
	Keyspace   string
	Generation string // that a keyspace begins with
	Retried    func() // is called before a call is tried again
}

// Database is an engine that can be asked for its tables.
type Database interface {
	rows.Engine
	Apply(context.Context, rows.Changes, rows.Schema) ([]string, error)
	Has(context.Context, *rows.Table) (bool, error)
	Empty(context.Context, *rows.Table) (bool, error) // of a table that is there
}

// New looks at a directory. The error says what of it this program cannot move.
func New(s Target, c Config) (*Mover, error) {
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
		own := s.Tables[t.Name]
		if own == nil || !slices.Equal(own.Partition, t.Partition) ||
			!slices.Equal(own.Clustering, t.Clustering) ||
			len(own.Values) < len(t.Values) ||
			!slices.Equal(own.Values[:len(t.Values)], t.Values) {
			return nil, fmt.Errorf(
				"%w: %s of %s is not a table of this program: use the one that wrote it, or "+
					"a newer one",
				rows.ErrLayout,
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
func (m *Mover) Tables() (list []Table) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, n := range m.moved {
		list = append(list, Table{name, n})
	}
	slices.SortFunc(list, func(a, b Table) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Lost returns how many bytes of the directory were damaged and could not be read.
func (m *Mover) Lost() int64 { return m.from.Lost() }

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

// Last takes the directory, until Close, and copies all that is left. The error wraps
// files.ErrInUse if a process has the directory, else it is as Round's.
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
