package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
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
	p := payload{Metric: labels[metricLabel], Labels: map[string]string{}}
	for _, name := range names {
		if name != metricLabel {
			p.Labels[name] = labels[name]
		}
	}
	if !slices.Contains(names, metricLabel) {
		p.Metric = ""
	}
	return cmp.Or(p.name(), "{}")
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
		heads = append(heads, plain(name))
	}
	return heads
}

func (s *querySeries) cells(names []string) []string {
	var cells []string
	for _, name := range names {
		cells = append(cells, plain(s.labels[name]))
	}
	return cells
}

// printVector prints a row for each series, in the server's order.
func printVector(out io.Writer, series []querySeries, buckets bool) error {
	names, err := printCommon(out, series)
	if err != nil {
		return err
	}
	floats, histograms := kinds(series)
	heads := labelHeads(names)
	if floats {
		heads = append(heads, "VALUE")
	}
	if histograms {
		for _, name := range histogramColumns {
			heads = append(heads, strings.ToUpper(name))
		}
	}
	var rows [][]string
	for i := range series {
		p := &series[i].points[0]
		rows = append(rows, append(series[i].cells(names), p.cells(floats, histograms, sixDigits,
			func(v float64) string {
				return human(v, "")
			})...))
	}
	if err := writeTable(out, heads, len(names), rows); err != nil || !buckets {
		return err
	}
	for i := range series {
		if err := printBuckets(out, &series[i]); err != nil {
			return err
		}
	}
	return nil
}

// kinds says what series have.
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
		rows = append(rows, []string{h.Buckets[i].bounds(), sixDigits(h.Buckets[i].count)})
	}
	return writeTable(out, []string{"BUCKET", "COUNT"}, 1, rows)
}

// screenColumns is how wide a table is that nobody asked to be wider.
const screenColumns = 100

// fit shortens the cells of the widest columns until lines have so many columns at most. The middle
// goes: names differ at their ends.
func fit(heads []string, rows [][]string, columns int) {
	widths := make([]int, len(heads))
	sum := 2 * (len(heads) - 1)
	for i := range heads {
		widths[i] = width(heads[i])
		for _, row := range rows {
			widths[i] = max(widths[i], width(row[i]))
		}
		sum += widths[i]
	}
	for ; sum > columns; sum-- {
		widest := 0
		for i := range widths {
			if widths[i] > widths[widest] {
				widest = i
			}
		}
		widths[widest]--
	}
	for _, row := range rows {
		for i, cell := range row {
			if runes, most := []rune(cell), widths[i]; len(runes) > most {
				row[i] = string(runes[:most/2]) + "…" + string(runes[len(runes)-(most-1)/2:])
			}
		}
	}
}

// writeTable aligns the first columns to the left and the others, which are numbers, to the right.
func writeTable(out io.Writer, heads []string, left int, rows [][]string) error {
	widths := make([]int, len(heads))
	rows = append([][]string{heads}, rows...)
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], width(cell))
		}
	}
	var sb strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			padding := strings.Repeat(" ", widths[i]-width(cell))
			if i < left {
				line.WriteString(cell + padding)
			} else {
				line.WriteString(padding + cell)
			}
		}
		sb.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(out, sb.String())
	return err
}
