package store

import (
	"time"

	"github.com/ringwatch/ringwatch/store/rows"
)

// The tables that all generations share. Those of one generation begin with its name.
const (
	freshTable    = "fresh"
	lateTable     = "late"
	progressTable = "progress"
	seriesTable   = "series"
	writtenTable  = "series_written"
	nodesTable    = "nodes"
	cutoverTable  = "schema_cutovers"
)

// tableLayout is a rows.Table in the words of the layouts that are not on rows yet.
type tableLayout struct {
	name      string
	partition []columnLayout
	cluster   []columnLayout
	rest      []columnLayout
	comment   string

	ttl, gcGrace, unit time.Duration
	compression        rows.Compression
}

type columnLayout struct {
	name, kind string
	descending bool
}

func zstd(level, chunkKB int) rows.Compression { return rows.Zip(level, chunkKB) }

var lz4 = rows.Fast

// table returns the layout as rows have it.
func (t *tableLayout) table() *rows.Table {
	kinds := map[string]rows.Kind{"text": rows.Text, "uuid": rows.UUID, "timestamp": rows.Time, "int": rows.Int32, "bigint": rows.Int64, "double": rows.Double, "blob": rows.Blob}
	columns := func(list []columnLayout) []rows.Column {
		var out []rows.Column
		for _, c := range list {
			out = append(out, rows.Column{Name: c.name, Kind: kinds[c.kind], Descending: c.descending})
		}
		return out
	}
	return &rows.Table{Name: t.name, Comment: t.comment, Partition: columns(t.partition), Clustering: columns(t.cluster), Values: columns(t.rest), TTL: t.ttl, AgeUnit: t.unit, Grace: t.gcGrace, Compression: t.compression}
}

// tables returns the tables that serve whatever the generation.
func (c *Config) tables() []*rows.Table {
	list := []*rows.Table{cutoverLayout(), c.freshLayout(), c.lateLayout(), c.seriesLayout(), writtenLayout(), c.nodesLayout(), progressLayout(), keysLayout(), keyNodesLayout()}
	for _, t := range append([]tableLayout{dueLayout()}, c.rollupLayouts()...) {
		list = append(list, t.table())
	}
	return list
}

func textColumn(name string) rows.Column { return rows.Column{Name: name, Kind: rows.Text} }
func idColumn(name string) rows.Column   { return rows.Column{Name: name, Kind: rows.UUID} }
func timeColumn(name string) rows.Column { return rows.Column{Name: name, Kind: rows.Time} }

// compactionWindows is into how many parts rows of a table are divided by age.
const compactionWindows = rows.AgeParts

func seconds(d time.Duration) int64 { return int64(d / time.Second) }
