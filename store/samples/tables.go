// Package samples keeps closed windows as a row per sample: generations v1 and v2. v1 has a
// partition per series and window, v2 one per node and window.
package samples

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/store/dictionaries"
	"github.com/ringwatch/ringwatch/store/rows"
)

// Tables are those of v1 or v2, with what writing and reading them takes.
type Tables struct {
	Samples, Windows *rows.Table

	layout  rowLayout
	series  *dictionaries.Table
	rawTTL  time.Duration      // of closed windows
	written prometheus.Counter // samples
}

// V1 returns v1's tables.
func V1(series *dictionaries.Table, rawTTL time.Duration, written prometheus.Counter) *Tables {
	return newTables("v1", v1{}, series, rawTTL, written)
}

// V2 returns v2's tables.
func V2(series *dictionaries.Table, rawTTL time.Duration, written prometheus.Counter) *Tables {
	return newTables("v2", v2{}, series, rawTTL, written)
}

func newTables(name string, layout rowLayout, series *dictionaries.Table, rawTTL time.Duration,
	written prometheus.Counter) *Tables {
	samples := &rows.Table{
		Name: name + "_samples",
		Comment: "Ringwatch " + name +
			": a row per sample in base units; exact where a double is not",
		Partition: []rows.Column{rows.TextColumn("account"), rows.IDColumn("host"),
			rows.TimeColumn("bucket_time"), rows.TextColumn("service")},
		Clustering: []rows.Column{rows.TimeColumn("time")},
		Values: []rows.Column{{Name: "value", Kind: rows.Double},
			{Name: "exact", Kind: rows.Int64}, {Name: "counts", Kind: rows.Blob},
			rows.TextColumn("state")},
		TTL: rawTTL, AgeUnit: time.Hour, Grace: 3 * time.Hour, Compression: rows.Fast,
	}
	if layout.joins() {
		samples.Partition, samples.Clustering = samples.Partition[:3], []rows.Column{
			rows.TextColumn("service"), rows.TimeColumn("time"),
		}
	}
	windows := &rows.Table{
		Name: name + "_windows",
		Comment: "Ringwatch " + name +
			": the windows that are there, and their dictionaries; written last",
		Partition:  []rows.Column{rows.TextColumn("account"), rows.IDColumn("host")},
		Clustering: []rows.Column{rows.TimeColumn("bucket_time")},
		Values:     []rows.Column{{Name: "meta", Kind: rows.Blob}},
		TTL:        rawTTL, AgeUnit: time.Hour, Grace: 3 * time.Hour,
		Compression: rows.Zip(3, 16),
	}
	return &Tables{Samples: samples, Windows: windows, layout: layout, series: series,
		rawTTL: rawTTL, written: written}
}
