package promql

import (
	"errors"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
)

// timeSpan is what a query is asked of: an instant, or a range.
type timeSpan struct {
	ranged   bool
	from, to time.Time // of an instant only to, and zero is the server's now
	step     time.Duration
}

const (
	shortestStep = 5 * time.Second // the usual distance of a node's values
	stepsOfRange = 250
)

// timeSpan reads the flags that are about time.
func (c *QueryCmd) timeSpan(now time.Time) (span timeSpan, err error) {
	now = now.Truncate(time.Second)
	ranged := c.From != "" || c.Period != ""
	switch {
	case c.At != "" && (ranged || c.To != "" || c.Step != ""):
		return span, exit.Usage(errors.New(
			"--at asks for one instant; --from, --to, --period and --step ask for a range: " +
				"leave out one or the other"))
	case c.From != "" && c.Period != "":
		return span, exit.Usage(errors.New(
			"--from and --period both set the start of the range: leave one out"))
	case c.To != "" && !ranged:
		return span, exit.Usage(errors.New(
			"--to ends a range: add --from or --period, or ask for one instant with --at"))
	case c.Step != "" && !ranged:
		return span, exit.Usage(errors.New("--step is for a range: add --period or --from"))
	case c.At != "":
		span.to, err = screen.ParseTime("at", c.At, now)
		return span, err
	case !ranged:
		return span, nil
	}
	span.ranged, span.to = true, now
	if c.To != "" {
		if span.to, err = screen.ParseTime("to", c.To, now); err != nil {
			return span, err
		}
	}
	if c.From != "" {
		if span.from, err = screen.ParseTime("from", c.From, now); err != nil {
			return span, err
		}
	} else {
		period, err := screen.ParseSpan("period", c.Period)
		if err != nil {
			return span, err
		}
		span.from = span.to.Add(-period)
	}
	if span.from.After(span.to) {
		return span, exit.Usage(errors.New(
			"--from is after --to (by default now): exchange or change them"))
	}
	if c.Step != "" {
		span.step, err = screen.ParseSpan("step", c.Step)
		return span, err
	}
	span.step = max(shortestStep, (span.to.Sub(span.from) / stepsOfRange).Round(time.Second))
	return span, nil
}

// last is when the last step of a range is.
func (s timeSpan) last() time.Time {
	return s.from.Add(s.to.Sub(s.from).Truncate(s.step))
}
