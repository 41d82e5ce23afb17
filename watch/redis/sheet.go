package redis

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ringwatch/ringwatch/dictionary"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/watch/reading"
)

// maxRows is the most that one table may have: commands, databases, replicas.
const maxRows = 1024

// maxLabel is the longest label value, in bytes.
const maxLabel = 256

// described is what the dictionary says of Redis: its metrics by name, their types in order.
var described = sync.OnceValue(func() (d struct {
	types   []dictionary.Type
	metrics map[string]dictionary.Metric
	ordered []string
}) {
	types, metrics := dictionary.Watched(reading.Redis)
	d.types, d.metrics = types, map[string]dictionary.Metric{}
	for _, m := range metrics {
		d.metrics[m.Name] = m
		d.ordered = append(d.ordered, m.Name)
	}
	return d
})

// sheet is a reading under way. Metrics have the types, kinds and units of the dictionary.
type sheet struct {
	tables map[string]*table
	left   int // values of rows that found no place
}

type table struct {
	rows    [][]string
	at      map[string]int // rows by their labels
	columns map[string]*reading.Column
}

// column returns the place of a metric of an entity; nil: there is none left. name lacks redis_.
func (s *sheet) column(name string, exponent int, labels []string) (*reading.Column, int) {
	name = "redis_" + name
	m, known := described().metrics[name]
	if !known {
		panic("redis.txt does not describe " + name)
	}
	t := s.tables[m.Type]
	if t == nil {
		t = &table{at: map[string]int{}, columns: map[string]*reading.Column{}}
		s.tables[m.Type] = t
	}
	row := make([]string, len(labels))
	for i, value := range labels {
		row[i] = clean(value)
	}
	key := strings.Join(row, "\x00")
	i, known := t.at[key]
	if !known {
		if len(t.rows) == maxRows {
			s.left++
			return nil, 0
		}
		i = len(t.rows)
		t.rows, t.at[key] = append(t.rows, row), i
	}
	c := t.columns[name]
	if c == nil {
		c = &reading.Column{Name: name, Unit: m.Unit, Exponent: exponent}
		switch m.Kind {
		case "counter":
			c.Kind = frame.Counter
		case "gauge":
			c.Kind = frame.Gauge
		case "gauge_double":
			c.Kind = frame.GaugeDouble
		case "histogram":
			c.Kind, c.Bounds, c.HasSum = frame.Histogram, latencyBounds, true
		}
		t.columns[name] = c
	}
	fill(c, i+1)
	return c, i
}

// fill makes room for so many rows.
func fill(c *reading.Column, rows int) {
	switch c.Kind {
	case frame.GaugeDouble:
		for len(c.Doubles) < rows {
			c.Doubles = append(c.Doubles, math.NaN())
		}
	case frame.Histogram:
		for len(c.Histograms) < rows {
			c.Histograms = append(c.Histograms, reading.Histogram{})
		}
	default:
		for len(c.Ints) < rows {
			c.Ints = append(c.Ints, reading.NoInt)
		}
	}
}

// int sets v × 10^exponent. A metric has one exponent.
func (s *sheet) int(name string, exponent int, v int64, labels ...string) {
	if c, i := s.column(name, exponent, labels); c != nil && (v >= 0 || c.Kind == frame.Gauge) {
		c.Ints[i] = v
	}
}

// number sets what a text says, as whole 10^exponent, and 1 or 0 for a word of Redis's. What is no
// number is left out.
func (s *sheet) number(name string, exponent int, text string, labels ...string) {
	switch text {
	case "ok", "true":
		text = "1"
	case "err", "fail", "false":
		text = "0"
	}
	if described().metrics["redis_"+name].Kind == "gauge_double" {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return
		}
		if c, i := s.column(name, 0, labels); c != nil {
			c.Doubles[i] = v
		}
		return
	}
	if v, ok := decimal(text, -exponent); ok {
		s.int(name, exponent, v, labels...)
	}
}

// decimal reads a number with at most so many decimals, and returns it without the point.
func decimal(text string, decimals int) (int64, bool) {
	whole, part, found := strings.Cut(text, ".")
	if found && (part == "" || strings.Trim(part, "0123456789") != "") || decimals == 0 && found {
		return 0, false
	}
	part = (part + strings.Repeat("0", decimals))[:decimals]
	v, err := strconv.ParseInt(whole+part, 10, 64)
	return v, err == nil && v != reading.NoInt
}

// clean makes a label value of what a server says. It shares no memory with the answer.
func clean(value string) string {
	if len(value) > maxLabel {
		value = value[:maxLabel]
	}
	return strings.Clone(strings.ReplaceAll(strings.ToValidUTF8(value, "?"), "\x00", "?"))
}

// reading returns the tables in the order of the dictionary, what matters most first, and their
// rows by their labels: the server's own order changes.
func (s *sheet) reading() *reading.Reading {
	r := &reading.Reading{}
	for _, typ := range described().types {
		t := s.tables[typ.Name]
		if t == nil {
			continue
		}
		order := make([]int, len(t.rows))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return slices.Compare(t.rows[a], t.rows[b]) })
		of := reading.Table{Type: typ.Name, Labels: typ.Labels, Rows: ordered(t.rows, order)}
		for _, name := range described().ordered {
			c := t.columns[name]
			if c == nil {
				continue
			}
			fill(c, len(t.rows))
			c.Ints, c.Doubles = ordered(c.Ints, order), ordered(c.Doubles, order)
			c.Histograms = ordered(c.Histograms, order)
			of.Columns = append(of.Columns, *c)
		}
		r.Tables = append(r.Tables, of)
	}
	return r
}

func ordered[T any](list []T, order []int) []T {
	if list == nil {
		return nil
	}
	sorted := make([]T, len(order))
	for i, from := range order {
		sorted[i] = list[from]
	}
	return sorted
}
