// Package memtable has what was written and is not in sorted files yet. It imports cells, table and
// values beside it.
package memtable

import (
	"maps"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/store/rows/files/cells"
	"github.com/ringwatch/ringwatch/store/rows/files/table"
	"github.com/ringwatch/ringwatch/store/rows/files/values"
)

// Memtable is what was written since the last flush. Cells never change, and who has a Memtable
// guards all else.
type Memtable struct {
	Weight int      // bytes that it takes
	Logs   []string // the files of the log that have the same
	tables map[string]*Table
}

// Table is the rows of one table: partitions by key, and the rows of each in their order.
type Table struct {
	cells.Span
	partitions map[string]*partition
}

type partition struct{ rows []cells.Row }

// New returns an empty Memtable, which will have what is in files of the log.
func New(logs ...string) *Memtable {
	return &Memtable{tables: map[string]*Table{}, Logs: logs}
}

// Apply adds what a mutation writes.
func (m *Memtable) Apply(u table.Mutation) {
	t := m.tables[u.Table]
	if t == nil {
		t = &Table{partitions: map[string]*partition{}}
		m.tables[u.Table] = t
	}
	p := t.partitions[u.Partition]
	if p == nil {
		p = &partition{}
		t.partitions[u.Partition] = p
	}
	m.Weight += u.Weight
	for _, row := range u.Rows {
		t.Add(row.Cells)
		if n := len(p.rows); n == 0 || p.rows[n-1].Key < row.Key {
			p.rows = append(p.rows, row)
			continue
		}
		at, found := p.find(row.Key)
		if found {
			p.rows[at].Cells = cells.Merge(p.rows[at].Cells, row.Cells)
		} else {
			p.rows = slices.Insert(p.rows, at, row)
		}
	}
}

func (p *partition) find(key string) (int, bool) {
	return slices.BinarySearchFunc(p.rows, key,
		func(r cells.Row, key string) int { return strings.Compare(r.Key, key) })
}

// Tables returns the names of the tables that have rows, in order.
func (m *Memtable) Tables() []string { return slices.Sorted(maps.Keys(m.tables)) }

// Table returns the rows of a table; nil: it has none. A nil Memtable has no tables.
func (m *Memtable) Table(name string) *Table {
	if m == nil {
		return nil
	}
	return m.tables[name]
}

// Slice returns copies of the rows of a partition within a range of keys.
func (m *Memtable) Slice(table, partition string, within values.Range) []cells.Row {
	t := m.Table(table)
	if t == nil {
		return nil
	}
	p := t.partitions[partition]
	if p == nil {
		return nil
	}
	from, _ := p.find(string(within.From))
	to := len(p.rows)
	if within.To != nil {
		to, _ = p.find(string(within.To))
	}
	if from >= to {
		return nil
	}
	return slices.Clone(p.rows[from:to])
}

// Each calls f with the rows of each partition, in the order of their keys, until it returns an
// error.
func (t *Table) Each(f func(partition string, list []cells.Row) error) error {
	for _, key := range slices.Sorted(maps.Keys(t.partitions)) {
		if err := f(key, t.partitions[key].rows); err != nil {
			return err
		}
	}
	return nil
}

// Bytes is about what the rows take on a disk.
func (t *Table) Bytes() (n int64) {
	for key, p := range t.partitions {
		for i := range p.rows {
			n += int64(len(key) + len(p.rows[i].Key))
			for _, c := range p.rows[i].Cells {
				n += int64(len(c.Value))
			}
		}
	}
	return n
}
