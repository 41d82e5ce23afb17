package files

import (
	"slices"
	"strings"
)

// memtable is what was written since the last flush: partitions by table and key, and the rows of
// each in their order. It is read and changed under the engine's lock; cells never change.
type memtable struct {
	tables map[string]*memoryTable
	weight int
	logs   []string // the files that have the same
}

type memoryTable struct {
	span
	partitions map[string]*partition
}

type partition struct{ rows []keyedRow }

func newMemtable(logs ...string) *memtable {
	return &memtable{tables: map[string]*memoryTable{}, logs: logs}
}

// apply adds what a mutation writes.
func (m *memtable) apply(u mutation) {
	t := m.tables[u.table]
	if t == nil {
		t = &memoryTable{partitions: map[string]*partition{}}
		m.tables[u.table] = t
	}
	p := t.partitions[u.partition]
	if p == nil {
		p = &partition{}
		t.partitions[u.partition] = p
	}
	m.weight += u.weight
	for _, row := range u.rows {
		t.span.add(row.cells)
		if n := len(p.rows); n == 0 || p.rows[n-1].key < row.key {
			p.rows = append(p.rows, row)
			continue
		}
		at, found := p.find(row.key)
		if found {
			p.rows[at].cells = mergeCells(p.rows[at].cells, row.cells)
		} else {
			p.rows = slices.Insert(p.rows, at, row)
		}
	}
}

func (p *partition) find(key string) (int, bool) {
	return slices.BinarySearchFunc(p.rows, key,
		func(r keyedRow, key string) int { return strings.Compare(r.key, key) })
}

// slice returns copies of the rows of a partition within a range of keys.
func (m *memtable) slice(table, partition string, within keyRange) []keyedRow {
	t := m.tables[table]
	if t == nil {
		return nil
	}
	p := t.partitions[partition]
	if p == nil {
		return nil
	}
	from, _ := p.find(string(within.from))
	to := len(p.rows)
	if within.to != nil {
		to, _ = p.find(string(within.to))
	}
	if from >= to {
		return nil
	}
	return slices.Clone(p.rows[from:to])
}

// keyRange is keys from from on and before to; no to: to the end.
type keyRange struct{ from, to []byte }
