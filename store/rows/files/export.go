package files

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/files/cells"
	"github.com/ringwatch/ringwatch/store/rows/files/log"
	"github.com/ringwatch/ringwatch/store/rows/files/memtable"
	"github.com/ringwatch/ringwatch/store/rows/files/sorted"
	"github.com/ringwatch/ringwatch/store/rows/files/table"
)

// Export reads the rows of a directory for somebody who writes them into another engine. It
// changes nothing, and a process may have the directory: its files of rows never change, so they
// are read while it runs. What is in no file yet is read when Take has the directory.
//
// Rows come as they were written, not as they are read: each value with its own write time, values
// that later ones replace, too. The other engine finds the latest, as this one does. What has
// expired does not come, unless it hides something that has not.
type Export struct {
	dir    string
	tables *table.Catalog
	files  []*sorted.File // their meta, as Parts found them; they are not open
	memory *memtable.Memtable
	lock   *disk.Lock
	lost   int64
	now    func() time.Time
}

// Part is a file of rows, or of one table what is in no file.
type Part struct {
	Name  string
	Table *rows.Table
	Bytes int64 // on the disk
	// From is from when on its rows expire, seconds since the Unix epoch; 0: some never do.
	From int64
	// Replaces are the names of the parts whose rows are all in this one, and that are gone.
	Replaces []string
}

// InFile reports whether the part is a file, which never changes.
func (p *Part) InFile() bool { return !strings.HasPrefix(p.Name, inMemory) }

// inMemory begins the name of a part that is in no file.
const inMemory = "memory-"

// NewExport looks at a directory. The error wraps ErrVersion if a newer program wrote it.
func NewExport(dir string) (*Export, error) {
	x := &Export{dir: dir, tables: table.NewCatalog(dir, nil), memory: memtable.New(),
		now: time.Now}
	return x, x.look()
}

// look reads the directory's format and tables.
func (x *Export) look() error {
	b, err := disk.Read(filepath.Join(x.dir, formatName))
	if err == nil && b == nil {
		err = fs.ErrNotExist
	}
	if err != nil {
		return fmt.Errorf("rows: %s is no directory of rows: %w", x.dir, err)
	}
	if err := checkFormat(x.dir, b); err != nil {
		return err
	}
	if b, err = disk.Read(filepath.Join(x.dir, table.FileName)); err != nil {
		return fmt.Errorf(
			"rows: the tables of %s cannot be read: %w: start ringwatch all on it once",
			x.dir,
			err,
		)
	}
	return x.tables.Load(b)
}

// Take takes the directory, until Close, and reads what is in no file yet, 64 MiB at most. The
// error wraps disk.ErrInUse if a process has it.
func (x *Export) Take() (err error) {
	if x.lock, err = disk.Hold(x.dir); err != nil {
		return fmt.Errorf("rows: %w", err)
	}
	if err := x.look(); err != nil {
		return err
	}
	if _, err := log.Each(x.dir, func(_ string, b []byte) error {
		for _, h := range log.Read(b, x.apply) {
			x.lost += int64(h.Size)
		}
		return nil
	}); err != nil {
		return fmt.Errorf("rows: %w", err)
	}
	return nil
}

func (x *Export) apply(_ int64, mutations [][]byte) {
	for _, b := range mutations {
		m, err := table.Decode(b)
		if err != nil {
			x.lost += int64(len(b))
			continue
		}
		x.memory.Apply(m)
	}
}

// Close gives the directory up.
func (x *Export) Close() {
	x.lock.Close()
}

// Lost returns how many bytes could not be read so far.
func (x *Export) Lost() int64 { return x.lost }

// Tables returns the tables of the directory, by name.
func (x *Export) Tables() (list []*rows.Table) {
	for _, k := range x.tables.List() {
		list = append(list, &k.Table)
	}
	return list
}

// Parts returns what there is now: of each table what expires first comes first.
func (x *Export) Parts() ([]Part, error) {
	if err := x.find(); err != nil {
		return nil, err
	}
	var list []Part
	for _, f := range x.files {
		k, err := x.known(f.Table)
		if err != nil {
			return nil, err
		}
		p := Part{Name: filepath.Base(f.Path), Table: &k.Table, Bytes: f.Size, From: f.From}
		for _, id := range f.Replaces {
			p.Replaces = append(p.Replaces, filepath.Base(sorted.Path(x.dir, f.Table, id)))
		}
		list = append(list, p)
	}
	for _, name := range x.memory.Tables() {
		k, err := x.known(name)
		if err != nil {
			return nil, err
		}
		list = append(list,
			Part{Name: inMemory + name, Table: &k.Table, Bytes: x.memory.Table(name).Bytes()})
	}
	slices.SortStableFunc(list, func(a, b Part) int {
		return cmp.Or(cmp.Compare(a.Table.Name, b.Table.Name), cmp.Compare(a.From, b.From))
	})
	return list, nil
}

// find finds out which files there are.
func (x *Export) find() error {
	paths, err := sorted.Paths(x.dir)
	if err != nil {
		return fmt.Errorf("rows: %w", err)
	}
	x.files = nil
	for _, path := range paths {
		f, err := sorted.Open(path)
		switch {
		case f != nil:
			f.Release()
			x.files = append(x.files, f)
		case !errors.Is(err, fs.ErrNotExist): // else it expired, or its rows are in another
			return fmt.Errorf("rows: %w", err)
		}
	}
	return nil
}

func (x *Export) known(name string) (*table.Table, error) {
	k, err := x.tables.Get(name)
	if err != nil {
		return nil, fmt.Errorf("rows: %s has rows of %s, and does not know that table: start "+
			"ringwatch all on it once", x.dir, name)
	}
	return k, nil
}

// Rows calls take with the rows of a part, those of one partition at a time and at most so many
// bytes. The error wraps fs.ErrNotExist if the part is gone: then another has its rows, or they
// have expired.
func (x *Export) Rows(p Part, most int, take func([]rows.Row) error) error {
	k, err := x.known(p.Table.Name)
	if err != nil {
		return err
	}
	out := &rowsOut{k: k, most: most, take: take, now: x.now}
	if !p.InFile() {
		out.hides = x.hides(k.Name, "")
		if err := x.memory.Table(k.Name).Each(func(key string, list []cells.Row) error {
			for _, row := range list {
				err := out.add(append([]byte(key), row.Key...), len(key), row.Cells)
				if err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		return out.flush()
	}
	f, err := sorted.Open(filepath.Join(x.dir, sorted.Dir, p.Name))
	if f == nil {
		return err
	}
	defer f.Release()
	out.hides = x.hides(k.Name, p.Name)
	all := new(sorted.Reader).Whole(f)
	defer func() { x.lost += all.Lost() }()
	for all.Next() {
		if err := out.add(all.Row()); err != nil {
			return err
		}
	}
	return out.flush()
}

// hides returns what tells whether a value that has expired hides another of its table, in another
// part.
func (x *Export) hides(name, part string) func(stamp, now int64) bool {
	var others []cells.Span
	for _, f := range x.files {
		if f.Table == name && filepath.Base(f.Path) != part {
			others = append(others, f.SpanOf())
		}
	}
	if t := x.memory.Table(name); t != nil && part != "" {
		others = append(others, t.Span)
	}
	return func(stamp, now int64) bool {
		return slices.ContainsFunc(others, func(s cells.Span) bool { return s.Hidden(stamp, now) })
	}
}

// rowsOut gathers rows of one partition.
type rowsOut struct {
	k     *table.Table
	most  int
	take  func([]rows.Row) error
	hides func(stamp, now int64) bool
	now   func() time.Time

	partition string
	list      []rows.Row
	bytes     int
}

func (o *rowsOut) flush() error {
	if len(o.list) == 0 {
		return nil
	}
	list := o.list
	o.list, o.bytes = nil, 0
	return o.take(list)
}

// add takes a row of the directory: one that is written for each write time and expiry in it.
func (o *rowsOut) add(key []byte, part int, list []cells.Cell) error {
	if o.partition != string(key[:part]) || o.bytes >= o.most {
		if err := o.flush(); err != nil {
			return err
		}
		o.partition = string(key[:part])
	}
	of, err := o.k.KeyValues(key)
	if err != nil {
		return err
	}
	now := o.now().Unix()
	for len(list) > 0 {
		first := list[0]
		var rest []cells.Cell
		row := rows.Row{Key: of, Values: make([]any, len(o.k.Values)), Stamp: first.Stamp}
		for _, c := range list {
			if c.Stamp != first.Stamp || c.Expires != first.Expires {
				rest = append(rest, c)
				continue
			}
			if err := o.k.Put(row.Values, c); err != nil {
				return err
			}
			o.bytes += len(c.Value)
		}
		list = rest
		if first.Expires != 0 {
			// A second is the least that a row can live. What has expired lives as long, to hide.
			row.TTL = time.Duration(max(1, first.Expires-now)) * time.Second
		}
		if first.Dead(now) && !o.hides(first.Stamp, now) {
			continue
		}
		o.list = append(o.list, row)
		o.bytes += len(key) + table.RowWeight
	}
	return nil
}
