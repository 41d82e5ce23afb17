package querytest

import (
	"fmt"
	"time"
)

// Windowed is an expression that looks at windows of one metric, and what it asks for.
type Windowed struct {
	Expr     string
	Name     string // of the metric
	Function string // of the range vector; empty: an instant vector, and Window is the lookback
	Window   time.Duration
	Offset   time.Duration
	// At is the instant of @, in ms; 0: there is none.
	At int64
	// Every is the step of the subquery that the selector is in; 0: it is in none.
	Every time.Duration
}

// Windowed returns an expression whose windows are of any width and lie anywhere, more of them
// where periods of rollups begin. Metrics are of all kinds, and histograms are asked for by all of
// their names.
func (e *Expressions) Windowed() Windowed {
	w := Windowed{Name: pick(e, append(append(append([]string{}, Gauges...), Counters...),
		Histograms[0], Histograms[0]+"_bucket", Histograms[0]+"_sum", Histograms[1]+"_count",
		GaugeHistograms[0])...)}
	if e.IntN(6) > 0 {
		w.Function = pick(e, "rate", "rate", "increase", "max_over_time", "min_over_time",
			"avg_over_time", "sum_over_time", "last_over_time", "first_over_time",
			"present_over_time",
			"count_over_time", "delta", "deriv", "irate", "changes", "quantile_over_time")
	}
	w.Window = pick(e, 45*time.Second, time.Minute, 90*time.Second, 2*time.Minute, 299*time.Second,
		5*time.Minute, 5*time.Minute, 320*time.Second, 7*time.Minute, 10*time.Minute,
		620*time.Second,
		20*time.Minute, 47*time.Minute, time.Hour, time.Hour, 65*time.Minute, 2*time.Hour)
	modifiers := ""
	if e.IntN(3) == 0 {
		w.Offset = pick(e, 3*time.Second, 5*time.Minute, 17*time.Minute, time.Hour, -5*time.Minute,
			-90*time.Second)
		modifiers = " offset " + span(w.Offset)
	}
	if e.IntN(8) == 0 {
		w.At = e.Instant(pick(e, 1, 5*time.Minute, time.Hour))
		modifiers += fmt.Sprintf(" @ %.3f", float64(w.At)/1000)
	}
	w.Expr = w.Name + modifiers
	if w.Function != "" {
		format := "%s(%s[%s]%s)"
		if w.Function == "quantile_over_time" {
			format = "%s(0.9, %s[%s]%s)"
		}
		w.Expr = fmt.Sprintf(format, w.Function, w.Name, span(w.Window), modifiers)
	}
	if e.IntN(4) == 0 {
		w.Every = pick(e, time.Minute, 5*time.Minute, 5*time.Minute, 10*time.Minute, time.Hour)
		w.Expr = fmt.Sprintf("%s((%s)[%s:%s]%s)", pick(e, "max_over_time", "min_over_time",
			"last_over_time"), w.Expr, pick(e, "10m", "1h", "3h"), span(w.Every),
			pick(e, "", "", " offset 7m", fmt.Sprintf(" @ %.3f", float64(e.Instant(1))/1000)))
	}
	return w
}

// Instant returns an instant of the fleet's time, in ms, at which a period begins.
func (e *Expressions) Instant(period time.Duration) int64 {
	at := e.fleet.From + e.Int64N(e.fleet.Span.Milliseconds())
	return at - at%max(period.Milliseconds(), 1)
}

func span(d time.Duration) string {
	if d < 0 {
		return "-" + span(-d)
	}
	return fmt.Sprintf("%dms", d.Milliseconds())
}
