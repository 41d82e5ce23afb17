package files

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ringwatch/ringwatch/store/rows"
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
	tables map[string]*storedTable
	files  []*file // their meta, as Parts found them; they are not open
	memory *memtable
	lock   *os.File
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
	x := &Export{dir: dir, memory: newMemtable(), now: time.Now}
	return x, x.look()
}

// look reads the directory's format and tables.
func (x *Export) look() error {
	b, err := read(filepath.Join(x.dir, formatName))
	if err == nil && b == nil {
		err = fs.ErrNotExist
	}
	if err != nil {
		return fmt.Errorf("rows: %s is no directory of rows: %w", x.dir, err)
	}
	var n int
	if _, err := fmt.Sscanf(string(b), formatText, &n); err != nil || n > format {
		return fmt.Errorf("%w: %s has format %d, and this program knows %d; use the newer program",
			ErrVersion, x.dir, n, format)
	}
	if b, err = read(filepath.Join(x.dir, tablesName)); err != nil {
		return fmt.Errorf(
			"rows: the tables of %s cannot be read: %w: start ringwatch all on it once",
			x.dir,
			err,
		)
	}
	var list []*storedTable
	if b != nil {
		if err := json.Unmarshal(b, &list); err != nil {
			return fmt.Errorf("rows: %s: %w", tablesName, err)
		}
	}
	x.tables = map[string]*storedTable{}
	for _, k := range list {
		x.tables[k.Name] = k
	}
	return nil
}

// Take takes the directory, until Close, and reads what is in no file yet, 64 MiB at most. The
// error wraps ErrInUse if a process has it.
func (x *Export) Take() error {
	lock, err := os.OpenFile(filepath.Join(x.dir, lockName), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("rows: cannot lock %s: %w", x.dir, err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		return fmt.Errorf("%w: %s", ErrInUse, x.dir)
	}
	x.lock = lock
	if err := x.look(); err != nil {
		return err
	}
	numbers, err := logsIn(filepath.Join(x.dir, logDir))
	if err != nil {
		return fmt.Errorf("rows: %w", err)
	}
	for _, n := range numbers {
		b, err := os.ReadFile(logPath(x.dir, n))
		if err != nil {
			return fmt.Errorf("rows: %w", err)
		}
		for _, h := range readLog(b, func(_ int64, list [][]byte) {
			for _, m := range list {
				u, err := decodeMutation(m)
				if err != nil {
					x.lost += int64(len(m))
					continue
				}
				x.memory.apply(u)
			}
		}) {
			x.lost += int64(h.size)
		}
	}
	return nil
}

// Close gives the directory up.
func (x *Export) Close() {
	if x.lock != nil {
		x.lock.Close()
	}
}

// Lost returns how many bytes could not be read so far.
func (x *Export) Lost() int64 { return x.lost }

// Tables returns the tables of the directory, by name.
func (x *Export) Tables() (list []*rows.Table) {
	for _, name := range slices.Sorted(maps.Keys(x.tables)) {
		list = append(list, &x.tables[name].Table)
	}
	return list
}

// Parts returns what there is now: of each table what expires first comes first.
func (x *Export) Parts() ([]Part, error) {
	dir := filepath.Join(x.dir, rowsDir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("rows: %w", err)
	}
	x.files = nil
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if _, _, ok := nameOf(path); !ok {
			continue
		}
		f, err := openFile(path)
		if f == nil {
			if errors.Is(err, fs.ErrNotExist) {
				continue // it expired, or its rows are in another
			}
			return nil, fmt.Errorf("rows: %w", err)
		}
		f.release()
		x.files = append(x.files, f)
	}
	var list []Part
	for _, f := range x.files {
		k, err := x.tableNamed(f.Table)
		if err != nil {
			return nil, err
		}
		p := Part{Name: filepath.Base(f.path), Table: &k.Table, Bytes: f.size, From: f.From}
		for _, id := range f.Replaces {
			p.Replaces = append(p.Replaces, filepath.Base(rowsPath(x.dir, f.Table, id)))
		}
		list = append(list, p)
	}
	for _, name := range slices.Sorted(maps.Keys(x.memory.tables)) {
		k, err := x.tableNamed(name)
		if err != nil {
			return nil, err
		}
		list = append(
			list,
			Part{Name: inMemory + name, Table: &k.Table, Bytes: x.memory.tables[name].bytes()},
		)
	}
	slices.SortStableFunc(list, func(a, b Part) int {
		return cmp.Or(cmp.Compare(a.Table.Name, b.Table.Name), cmp.Compare(a.From, b.From))
	})
	return list, nil
}

func (x *Export) tableNamed(table string) (*storedTable, error) {
	if k := x.tables[table]; k != nil {
		return k, nil
	}
	return nil, fmt.Errorf(
		"rows: %s has rows of %s, and does not know that table: start ringwatch all on it once",
		x.dir,
		table,
	)
}

// bytes is about what the rows take.
func (t *memoryTable) bytes() (n int64) {
	for key, p := range t.partitions {
		for i := range p.rows {
			n += int64(len(key) + len(p.rows[i].key))
			for _, c := range p.rows[i].cells {
				n += int64(len(c.value))
			}
		}
	}
	return n
}

// Rows calls take with the rows of a part, those of one partition at a time and at most so many
// bytes. The error wraps fs.ErrNotExist if the part is gone: then another has its rows, or they
// have expired.
func (x *Export) Rows(p Part, most int, take func([]rows.Row) error) error {
	k := x.tables[p.Table.Name]
	out := &rowsOut{k: k, most: most, take: take, now: x.now}
	if p.Name == inMemory+k.Name {
		t := x.memory.tables[k.Name]
		out.hides = x.hides(k.Name, "")
		for _, key := range slices.Sorted(maps.Keys(t.partitions)) {
			for _, row := range t.partitions[key].rows {
				err := out.add(append([]byte(key), row.key...), len(key), row.cells)
				if err != nil {
					return err
				}
			}
		}
		return out.flush()
	}
	f, err := openFile(filepath.Join(x.dir, rowsDir, p.Name))
	if f == nil {
		return err
	}
	defer f.release()
	out.hides = x.hides(k.Name, p.Name)
	for at := int64(0); ; {
		b, end, lost := f.blockIn(at)
		if x.lost += lost; b == nil {
			return out.flush()
		}
		at = end
		for block := (rowReader{rest: b}); ; {
			more, err := block.next()
			if err != nil {
				x.lost += int64(len(block.rest))
			}
			if err != nil || !more {
				break
			}
			if err := out.add(block.key, block.part, block.cells); err != nil {
				return err
			}
		}
	}
}

// hides returns what tells whether a value that has expired hides another of its table, in another
// part.
func (x *Export) hides(table, part string) func(stamp, now int64) bool {
	var others []span
	for _, f := range x.files {
		if f.Table == table && filepath.Base(f.path) != part {
			others = append(others, f.spanOf())
		}
	}
	if t := x.memory.tables[table]; t != nil && part != "" {
		others = append(others, t.span)
	}
	return func(stamp, now int64) bool {
		return slices.ContainsFunc(others, func(s span) bool { return s.hidden(stamp, now) })
	}
}

// rowsOut gathers rows of one partition.
type rowsOut struct {
	k     *storedTable
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
func (o *rowsOut) add(key []byte, part int, cells []cell) error {
	if o.partition != string(key[:part]) || o.bytes >= o.most {
		if err := o.flush(); err != nil {
			return err
		}
		o.partition = string(key[:part])
	}
	values, err := o.k.keyValues(key)
	if err != nil {
		return err
	}
	now := o.now().Unix()
	for len(cells) > 0 {
		first := cells[0]
		var rest []cell
		row := rows.Row{Key: values, Values: make([]any, len(o.k.Values)), Stamp: first.stamp}
		for _, c := range cells {
			if c.stamp != first.stamp || c.expires != first.expires {
				rest = append(rest, c)
				continue
			}
			if err := o.k.put(row.Values, c); err != nil {
				return err
			}
			o.bytes += len(c.value)
		}
		cells = rest
		if first.expires != 0 {
			// A second is the least that a row can live. What has expired lives as long, to hide.
			row.TTL = time.Duration(max(1, first.expires-now)) * time.Second
		}
		if first.dead(now) && !o.hides(first.stamp, now) {
			continue
		}
		o.list = append(o.list, row)
		o.bytes += len(key) + rowWeight
	}
	return nil
}

// keyValues returns the values of a row's key.
func (k *storedTable) keyValues(key []byte) (list []any, err error) {
	for _, c := range k.Keys() {
		var b []byte
		if b, key, err = readKey(&c, key); err != nil {
			return nil, err
		}
		v, err := decode(c.Kind, b)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// put sets a cell's value among those of a row.
func (k *storedTable) put(values []any, c cell) error {
	if c.column == marker {
		return nil
	}
	if c.column > len(values) {
		return fmt.Errorf("%w: a value of a column that %s does not have", errDamaged, k.Name)
	}
	kind := k.Values[c.column-1].Kind
	b := c.value
	if len(b) == 0 {
		b = zeroes[kind] // it has expired, and has lost its bytes
	}
	v, err := decode(kind, b)
	values[c.column-1] = v
	return err
}

// zeroes are the bytes of zero values whose kind has always some.
var zeroes = map[rows.Kind][]byte{
	rows.UUID: make([]byte, 16), rows.Time: make([]byte, 8), rows.Int64: make([]byte, 8),
	rows.Int32: make([]byte, 4), rows.Double: make([]byte, 8),
	rows.Texts: {0}, rows.TextMap: {0}, rows.BlobMap: {0},
}
