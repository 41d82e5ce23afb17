package promql

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
)

// csvTime is RFC 3339 with milliseconds.
const csvTime = "2006-01-02T15:04:05.000Z07:00"

// writeCSV writes a header and a record for each value, as RFC 4180 quotes them; lines end as
// others do on this system. A histogram has columns of its own.
func (a *queryAnswer) writeCSV(out io.Writer) error {
	w := csv.NewWriter(out)
	if a.text != nil {
		return w.WriteAll([][]string{{"value"}, {screen.Plain(*a.text)}})
	}
	common, differing := labelNames(a.series)
	names := sortedLabels(append(common, differing...))
	floats, histograms := kinds(a.series)
	floats = floats || !histograms // an empty answer has a header, too
	var own []string
	if floats {
		own = append(own, "value")
	}
	if histograms {
		own = append(own, histogramColumns...)
	}
	heads := append(csvHeads(names, append(own, "time")), own...)
	if a.overTime {
		heads = slices.Insert(heads, 0, "time")
	}
	if err := w.Write(heads); err != nil {
		return err
	}
	for i := range a.series {
		s := &a.series[i]
		labels := s.cells(names)
		for j := range s.points {
			p := &s.points[j]
			var record []string
			if a.overTime {
				record = append(record, p.at.UTC().Format(csvTime))
			}
			record = append(append(record, labels...), p.cells(floats, histograms, screen.Plain,
				allDigits)...)
			if err := w.Write(record); err != nil {
				return err
			}
		}
	}
	w.Flush()
	return w.Error()
}

func allDigits(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// csvHeads names the columns of labels apart from ours, as Prometheus names labels apart.
func csvHeads(names, own []string) []string {
	var heads []string
	for _, name := range names {
		for slices.Contains(own, name) || slices.Contains(heads, name) {
			name = "exported_" + name
		}
		heads = append(heads, screen.Plain(name))
	}
	return heads
}
