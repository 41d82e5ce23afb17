package promql

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/guptarohit/asciigraph"
	"github.com/prometheus/common/model"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
)

// MaxPlotted is how many lines a picture has at most: one of each colour.
const MaxPlotted = 6

// queryLine is a series as it is plotted.
type queryLine struct {
	*querySeries
	screen.Track
	low, high float64 // +Inf and -Inf without numbers
}

func newQueryLine(s *querySeries) queryLine {
	l := queryLine{querySeries: s, low: math.Inf(1), high: math.Inf(-1)}
	for i := range s.points {
		v := s.points[i].number()
		l.At, l.Samples = append(l.At, s.points[i].at), append(l.Samples, v)
		if !math.IsNaN(v) {
			l.low, l.high = min(l.low, v), max(l.high, v)
		}
	}
	return l
}

// printRange plots the series with the largest values, with a legend that has their numbers.
// unit is theirs, if it is known.
func printRange(out io.Writer, series []querySeries, unit string, span timeSpan) error {
	names, err := printCommon(out, series)
	if err != nil {
		return err
	}
	lines := make([]queryLine, len(series))
	for i := range series {
		lines[i] = newQueryLine(&series[i])
	}
	slices.SortStableFunc(lines, func(a, b queryLine) int { return cmp.Compare(b.high, a.high) })
	plotted := lines[:min(MaxPlotted, len(lines))]
	first, last, patience := span.axis(plotted)
	var sampled [][]float64
	for i := range plotted {
		sampled = append(sampled, plotted[i].Sample(first, last, patience))
	}
	picture := screen.Draw(sampled, first, last, screen.PlainAxis(sampled), screen.Colourful(out))
	if picture != "" {
		_, err = fmt.Fprintf(out, "%s\n", picture)
	}
	if err != nil {
		return err
	}
	in := ""
	if unit != "" {
		in = ", in " + unit
	}
	_, err = fmt.Fprintf(out, "%s to %s%s%s\n\n", first.Local().Format(time.DateTime),
		last.Local().Format(time.DateTime), span.steps(), in)
	if err != nil {
		return err
	}
	if err := printLegend(out, plotted, names); err != nil {
		return err
	}
	return printHidden(out, lines[len(plotted):], names)
}

// axis returns what the axis of time shows, and how old a value may be that is still drawn: one
// step or place, so that every longer gap stays a gap. A selector such as up[5m], asked of an
// instant, has the values as they were stored.
func (s timeSpan) axis(lines []queryLine) (first, last time.Time, patience time.Duration) {
	if s.ranged {
		first, last = s.from, s.last()
		return first, last, max(s.step, screen.Place(first, last)) - 1
	}
	for _, l := range lines {
		for i, at := range l.At {
			if first.IsZero() || at.Before(first) {
				first = at
			}
			if at.After(last) {
				last = at
			}
			if i > 0 {
				patience = max(patience, min(at.Sub(l.At[i-1]), 2*time.Minute))
			}
		}
	}
	return first, last, max(patience, 2*screen.Place(first, last))
}

// steps says how far the values of a range are apart.
func (s timeSpan) steps() string {
	if !s.ranged {
		return ""
	}
	return ", step " + model.Duration(s.step).String()
}

// printLegend prints a row for each line, with a mark of its colour if there are several.
func printLegend(out io.Writer, lines []queryLine, names []string) error {
	heads := append(labelHeads(names), "LAST", "MIN", "MAX")
	left := len(names)
	var series []querySeries
	for i := range lines {
		series = append(series, *lines[i].querySeries)
	}
	_, histograms := kinds(series)
	if histograms {
		heads = slices.Insert(heads, left, "SHOWN")
		left++
	}
	var rows [][]string
	for i := range lines {
		l := &lines[i]
		row := l.cells(names)
		newest := &l.points[len(l.points)-1]
		switch {
		case newest.histogram != nil:
			row = append(row, "p99")
		case histograms:
			row = append(row, "value")
		}
		cells := []string{screen.Short(newest.number()), screen.Short(l.low), screen.Short(l.high)}
		if l.low > l.high {
			cells = []string{"NaN", "NaN", "NaN"}
		}
		rows = append(rows, append(row, cells...))
	}
	if len(lines) == 1 || !screen.Colourful(out) {
		return screen.WriteTable(out, heads, left, rows)
	}
	var table bytes.Buffer
	if err := screen.WriteTable(&table, heads, left, rows); err != nil {
		return err
	}
	for i, line := range strings.Split(strings.TrimSuffix(table.String(), "\n"), "\n") {
		mark := " "
		if i > 0 {
			mark = screen.PlotColors[(i-1)%len(screen.PlotColors)].String() + "■" +
				asciigraph.Default.String()
		}
		if _, err := fmt.Fprintf(out, "%s %s\n", mark, line); err != nil {
			return err
		}
	}
	return nil
}

// printHidden counts the series that are not drawn, and names two.
func printHidden(out io.Writer, lines []queryLine, names []string) error {
	if len(lines) == 0 {
		return nil
	}
	var examples []string
	for i := range lines[:min(2, len(lines))] {
		examples = append(examples,
			selectorOf(lines[i].labels, slices.DeleteFunc(slices.Clone(names),
				func(name string) bool { return lines[i].labels[name] == "" })))
	}
	_, err := fmt.Fprintf(out, "\nand %d more series, none larger than these, such as %s: "+
		"topk(%d, …) in the expression leaves them out, --csv prints all\n",
		len(lines), strings.Join(examples, " and "), MaxPlotted)
	return err
}
