package query_test

import (
	"math"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/querytest"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// TestWindowsDifferential draws windows, steps, offsets, instants of @ and subqueries over samples
// and rollups that are both there. An answer that names no rollups is Prometheus's to the last bit.
// One that does is of rollups that docs/PROMETHEUS-API.md promises: no wider than the step and the
// window, and of a function that they know; and it has what the samples of its periods say.
func TestWindowsDifferential(t *testing.T) {
	n := seed(t)
	t.Logf("the seed is %d", n)
	f := querytest.NewFleet(querytest.FleetConfig{Seed: n, From: origin, Span: 7 * time.Hour,
		Interval: 20 * time.Second, Jitter: 400 * time.Millisecond, Nodes: 3, Tables: 2,
		Classic: true})
	w := &windowed{both: newBoth(t, f.TSDB(t), querytest.NewMemory(t, f.Frames),
		f.End()+time.Minute.Milliseconds(), 14*24*time.Hour, true),
		truth: map[string]*querytest.Truth{}, fleet: f, begin: f.From, end: f.End()}
	for _, s := range f.Series {
		w.truth[s.Labels.String()] = s
	}
	e := querytest.NewExpressions(f, n)
	for range 900 {
		of := e.Windowed()
		s := instant(e.Instant(1))
		if e.IntN(6) > 0 {
			s.step = []time.Duration{time.Minute, 299 * time.Second, 5 * time.Minute,
				5 * time.Minute,
				5 * time.Minute, 7 * time.Minute, 10 * time.Minute, 15 * time.Minute,
				30 * time.Minute, time.Hour, time.Hour, 2 * time.Hour}[e.IntN(12)]
			period := []time.Duration{1, 5 * time.Minute, s.step, s.step}[e.IntN(4)]
			s.from = time.UnixMilli(e.Instant(period))
			s.to = s.from.Add(time.Duration(e.IntN(25))*s.step +
				time.Duration(e.IntN(2)*1234)*time.Millisecond)
		}
		w.lookback = 5 * time.Minute
		if of.Function == "" {
			w.lookback = of.Window
		}
		w.ask(of, s)
	}
	t.Logf("%d answers of rollups, %d points of them compared", w.resolved, w.compared)
	if w.resolved < 60 || w.compared < 1000 {
		t.Error("these are too few")
	}
}

// windowed asks for windows of a fleet whose samples and rollups are both there.
type windowed struct {
	*both
	truth      map[string]*querytest.Truth // by labels
	fleet      *querytest.Fleet
	begin, end int64 // of the fleet, ms
	compared   int
	aligned    bool // all windows that are asked for end with periods
	asking     querytest.Windowed
	span       span
}

func (w *windowed) wronged(format string, args ...any) {
	w.Helper()
	if w.wrong++; w.wrong <= maxWrong {
		w.Errorf("%s\n   %s, lookback %v\n   "+format,
			append([]any{w.asking.Expr, w.span, w.lookback}, args...)...)
	}
}

func (w *windowed) ask(of querytest.Windowed, s span) {
	w.Helper()
	w.asking, w.span = of, s
	w.asked++
	want, done := w.askTheirs(of.Expr, s)
	defer done()
	got, err := w.askOurs(of.Expr, s)
	if err != nil || want.Err != nil {
		w.wronged("refused: %v, by Prometheus: %v", err, want.Err)
		return
	}
	defer got.Close()
	if rows(want.Value) > 0 {
		w.full++
	}
	level := levelOf(got)
	if level == (rollup.Level{}) {
		if d := querytest.Diff(got.Value, want.Value, 0, false); d != "" {
			w.wronged("%s", d)
		}
		return
	}
	w.resolved++
	step := of.Every
	if step == 0 {
		step = s.step
	}
	switch {
	case of.At != 0 || step == 0 || of.Every == 0 && s.to.Sub(s.from) < s.step:
		w.wronged("one window of less than a day is of rollups of %s", level.Name)
		return
	case level.Millis > step.Milliseconds():
		w.wronged("a step of %v is of rollups of %s", step, level.Name)
		return
	case level.Millis > of.Window.Milliseconds():
		w.wronged("a window of %v is of rollups of %s", of.Window, level.Name)
		return
	}
	end := -of.Offset.Milliseconds()
	if of.Every == 0 {
		end += s.from.UnixMilli()
	}
	aligned := step.Milliseconds()%level.Millis == 0 && end%level.Millis == 0
	w.aligned = aligned
	over := of.Window.Milliseconds() % level.Millis
	rate := of.Function == "rate" || of.Function == "increase"
	switch {
	case of.Function == "":
		if !aligned && level != rollup.FiveMinutes && 10*level.Millis > step.Milliseconds() {
			w.wronged("values may be %s old at steps of %v", level.Name, step)
		}
		if aligned && of.Every == 0 {
			w.each(got.Value, level, w.last)
		}
	case rate && slices.Contains(rising, of.Name):
		if aligned && 10*over > of.Window.Milliseconds() ||
			!aligned && 10*level.Millis > of.Window.Milliseconds() {
			w.wronged("rollups of %s cover too little of a window", level.Name)
		}
		if of.Every == 0 {
			w.each(got.Value, level, w.rise)
		}
	case rate, !slices.Contains(known, of.Function),
		slices.Contains(rising, of.Name) && !slices.Contains(lasting, of.Function):
		w.wronged("rollups of %s do not know it", level.Name)
	case !aligned || over > 0:
		w.wronged("rollups of %s do not cover a window", level.Name)
	case of.Function != "avg_over_time":
		// Sums of five minutes are added up, not samples.
		if d := querytest.Diff(got.Value, want.Value, 1e-9, false); d != "" {
			w.wronged("%s", d)
		}
		w.compared += rows(want.Value)
	case of.Every == 0:
		w.each(got.Value, level, w.mean)
	}
}

// What rollups know: of which metrics the increases, which functions of gauges, and which of all.
var (
	rising = []string{"node_cpu_seconds_total", "cassandra_table_reads_total",
		querytest.Histograms[0],
		querytest.Histograms[0] + "_bucket", querytest.Histograms[0] + "_sum",
		querytest.Histograms[1] + "_count"}
	known = []string{"max_over_time", "min_over_time", "avg_over_time", "sum_over_time",
		"last_over_time", "present_over_time"}
	lasting = []string{"last_over_time", "present_over_time"}
)

var resolutionText = regexp.MustCompile(`values are rollups of ([0-9a-z]+)`)

// levelOf returns the coarsest level that an answer names; none if it is of samples.
func levelOf(a *query.Answer) (level rollup.Level) {
	for text := range a.Warnings {
		m := resolutionText.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		d, err := model.ParseDuration(m[1])
		if err != nil {
			panic(err)
		}
		for _, l := range rollup.Levels {
			if l.Millis == time.Duration(d).Milliseconds() && l.Millis > level.Millis {
				level = l
			}
		}
	}
	return level
}

// each compares all points that an answer has with what check says of its window; the answer may be
// of a histogram, of which the count is compared.
func (w *windowed) each(v parser.Value, level rollup.Level,
	check func(periods []querytest.Period, level, from, to int64, got float64) (want string)) {
	w.Helper()
	m, is := v.(promql.Matrix)
	if !is {
		w.Fatalf("%s is of rollups, and a %s", w.asking.Expr, v.Type())
	}
	of := map[string]promql.Series{}
	for _, s := range m {
		of[s.Metric.String()] = s
	}
	for _, s := range w.truth {
		if s.Labels.Get(labels.MetricName) != w.asking.Name {
			continue
		}
		key := s.Labels
		if f := w.asking.Function; f != "" {
			key = key.DropReserved(func(name string) bool { return name == labels.MetricName })
		}
		got, periods := of[key.String()], s.Periods(level.Millis)
		for at := w.span.from.UnixMilli(); at <=
			w.span.to.UnixMilli(); at += w.span.step.Milliseconds() {
			x := math.NaN()
			for _, p := range got.Floats {
				if p.T == at {
					x = p.F
				}
			}
			for _, p := range got.Histograms {
				if p.T == at {
					x = p.H.Count
				}
			}
			to := at - w.asking.Offset.Milliseconds()
			if want := check(periods, level.Millis, to-w.asking.Window.Milliseconds(), to,
				x); want != "" {
				w.wronged("at %d %s has %v of rollups of %s, want %s", at, s.Labels, x, level.Name,
					want)
				return
			}
			if !math.IsNaN(x) {
				w.compared++
			}
		}
	}
}
