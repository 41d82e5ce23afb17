package promql

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/fleet"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
)

const metricLabel = "__name__"

// labelNames returns the names of all labels, the metric's name first: those that are the same in
// all series, and those that are not.
func labelNames(series []querySeries) (common, differing []string) {
	same := map[string]bool{}
	for i, s := range series {
		for name := range s.labels {
			if _, known := same[name]; !known {
				same[name] = i == 0 // not in all
			}
		}
		for name := range same {
			value, has := s.labels[name]
			same[name] = same[name] && has && value == series[0].labels[name]
		}
	}
	names := sortedLabels(slices.Collect(maps.Keys(same)))
	for _, name := range names {
		if same[name] {
			common = append(common, name)
		} else {
			differing = append(differing, name)
		}
	}
	return common, differing
}

// sortedLabels sorts names of labels, the metric's name first.
func sortedLabels(names []string) []string {
	slices.SortFunc(names, func(a, b string) int {
		switch {
		case a == b:
			return 0
		case a == metricLabel:
			return -1
		case b == metricLabel:
			return 1
		}
		return strings.Compare(a, b)
	})
	return names
}

// selectorOf writes labels as PromQL does.
func selectorOf(labels map[string]string, names []string) string {
	p := fleet.Payload{Metric: labels[metricLabel], Labels: map[string]string{}}
	for _, name := range names {
		if name != metricLabel {
			p.Labels[name] = labels[name]
		}
	}
	if !slices.Contains(names, metricLabel) {
		p.Metric = ""
	}
	return cmp.Or(p.Name(), "{}")
}

// printCommon says once what is the same in all series, and returns the labels that are not.
func printCommon(out io.Writer, series []querySeries) (differing []string, err error) {
	common, differing := labelNames(series)
	if len(common) > 0 {
		_, err = fmt.Fprintf(out, "%s\n\n", selectorOf(series[0].labels, common))
	}
	return differing, err
}

// labelHeads are the headings of columns of labels: in lower case, which tells them from ours.
func labelHeads(names []string) []string {
	var heads []string
	for _, name := range names {
		if name == metricLabel {
			name = "METRIC"
		}
		heads = append(heads, screen.Plain(name))
	}
	return heads
}

func (s *querySeries) cells(names []string) []string {
	var cells []string
	for _, name := range names {
		cells = append(cells, screen.Plain(s.labels[name]))
	}
	return cells
}

// printVector prints a row for each series, in the server's order. unit is that of the values, if
// it is known.
func printVector(out io.Writer, series []querySeries, unit string, buckets bool) error {
	names, err := printCommon(out, series)
	if err != nil {
		return err
	}
	floats, histograms := kinds(series)
	heads := labelHeads(names)
	if floats {
		heads = append(heads, inUnit("VALUE", unit))
	}
	if histograms {
		for _, name := range histogramColumns {
			heads = append(heads, strings.ToUpper(name))
		}
	}
	var rows [][]string
	for i := range series {
		p := &series[i].points[0]
		rows = append(rows, append(series[i].cells(names),
			p.cells(floats, histograms, screen.SixDigits,
				func(v float64) string {
					return screen.Human(v, "")
				})...))
	}
	if err := screen.WriteTable(out, heads, len(names), rows); err != nil || !buckets {
		return err
	}
	for i := range series {
		if err := printBuckets(out, &series[i]); err != nil {
			return err
		}
	}
	return nil
}

// inUnit is a heading with the unit of what stands below it.
func inUnit(heading, unit string) string {
	if unit == "" {
		return heading
	}
	return heading + " (" + unit + ")"
}

// Kinds says what series have.
func kinds(series []querySeries) (floats, histograms bool) {
	for i := range series {
		for j := range series[i].points {
			if series[i].points[j].histogram != nil {
				histograms = true
			} else {
				floats = true
			}
		}
	}
	return floats, histograms
}

// cells are a point's columns, empty where it is of the other kind. text writes what the server
// sent, and write what is reckoned from it.
func (p *queryPoint) cells(floats, histograms bool, text func(string) string,
	write func(float64) string) []string {
	var cells []string
	if floats {
		cells = append(cells, text(p.value))
	}
	switch {
	case p.histogram != nil:
		cells = append(cells, p.histogram.summary(text, write)...)
	case histograms:
		cells = append(cells, make([]string, len(histogramColumns))...)
	}
	return cells
}

func printBuckets(out io.Writer, s *querySeries) error {
	h := s.points[0].histogram
	if h == nil {
		return nil
	}
	names := slices.Sorted(maps.Keys(s.labels))
	if _, err := fmt.Fprintf(out, "\n%s\n", selectorOf(s.labels, names)); err != nil {
		return err
	}
	var rows [][]string
	for i := range h.Buckets {
		rows = append(rows, []string{h.Buckets[i].bounds(), screen.SixDigits(h.Buckets[i].count)})
	}
	return screen.WriteTable(out, []string{"BUCKET", "COUNT"}, 1, rows)
}
