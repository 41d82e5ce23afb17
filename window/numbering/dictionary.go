package numbering

import "github.com/ringwatch/ringwatch/window"

// Dictionary is a dictionary while its entities are collected: rows have provisional numbers
// in order of appearance.
type Dictionary struct {
	Result   *window.Dictionary
	index    map[string]int32 // row → provisional number
	Order    []int32          // provisional number → final number
	reported int              // rows that newBytes has counted
}

// row returns the provisional number of an entity.
func (d *Dictionary) row(values []string) int32 {
	k := window.RowKey(values)
	n, found := d.index[k]
	if !found {
		n = int32(len(d.Result.Rows))
		d.index[k] = n
		d.Result.Rows = append(d.Result.Rows, values)
	}
	return n
}

// metric returns the number of a metric in the dictionary; it is added if there is none of the same
// definition.
func (d *Dictionary) metric(m window.Metric) int32 {
	for i := range d.Result.Metrics {
		if d.Result.Metrics[i].Equal(&m) {
			return int32(i)
		}
	}
	d.Result.Metrics = append(d.Result.Metrics, m)
	return int32(len(d.Result.Metrics) - 1)
}

// rowBytes is what a row takes while it is collected, apart from its labels.
const rowBytes = 160

// newBytes returns what the rows take that came since it was called last.
func (d *Dictionary) newBytes() (bytes int64) {
	for _, row := range d.Result.Rows[d.reported:] {
		bytes += rowBytes
		for _, value := range row {
			bytes += 16 + int64(len(value))
		}
	}
	d.reported = len(d.Result.Rows)
	return bytes
}
