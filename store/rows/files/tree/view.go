package tree

import (
	"slices"

	"github.com/ringwatch/ringwatch/store/rows/files/cells"
	"github.com/ringwatch/ringwatch/store/rows/files/memtable"
	"github.com/ringwatch/ringwatch/store/rows/files/sorted"
	"github.com/ringwatch/ringwatch/store/rows/files/values"
)

// View is a partition as it was at one moment.
type View struct {
	tree      *Tree
	now       int64
	partition []byte
	ranges    []values.Range
	memory    [][][]cells.Row // by memtable and range
	files     []*sorted.File
	at        int // behind the present range
	rows      *cells.Merged
}

// View returns the rows of a partition within ranges of keys.
func (t *Tree) View(table string, partition []byte, ranges []values.Range) *View {
	v := &View{tree: t, now: t.now(), partition: partition, ranges: ranges}
	t.mu.RLock()
	for _, m := range []*memtable.Memtable{t.active, t.frozen} {
		if m == nil {
			continue
		}
		var found [][]cells.Row
		for _, r := range ranges {
			found = append(found, m.Slice(table, string(partition), r))
		}
		v.memory = append(v.memory, found)
	}
	list := t.files[table]
	for _, f := range list {
		f.Hold()
	}
	t.mu.RUnlock()
	h := sorted.Hash(partition)
	for _, f := range list {
		// What has expired is read, too: it hides what it replaced.
		if len(ranges) > 0 && t.reader.MayHave(f, partition, h) {
			v.files = append(v.files, f)
		} else {
			f.Release()
		}
	}
	return v
}

// Close lets go of the files.
func (v *View) Close() {
	for _, f := range v.files {
		f.Release()
	}
}

// Next returns a row that has not expired: its whole key, and its cells.
func (v *View) Next() (key []byte, list []cells.Cell, more bool) {
	for {
		if v.rows == nil {
			if v.at == len(v.ranges) {
				return nil, nil, false
			}
			v.rows = v.open(v.at)
			v.at++
		}
		if !v.rows.Next() {
			v.rows = nil
			continue
		}
		key, _, list := v.rows.Row()
		if list = cells.Alive(list, v.now); len(list) > 0 {
			return key, list, true
		}
	}
}

func (v *View) open(i int) *cells.Merged {
	var list []cells.Source
	for _, found := range v.memory {
		if len(found[i]) > 0 {
			list = append(list, memtable.NewRows(v.partition, found[i]))
		}
	}
	r := v.ranges[i]
	within := values.Range{From: slices.Concat(v.partition, r.From), To: values.After(v.partition)}
	if r.To != nil {
		within.To = slices.Concat(v.partition, r.To)
	}
	for _, f := range v.files {
		list = append(list, v.tree.reader.Scan(f, within))
	}
	return cells.Merging(list...)
}
