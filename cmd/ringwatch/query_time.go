package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
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
func (c *queryCmd) timeSpan(now time.Time) (span timeSpan, err error) {
	now = now.Truncate(time.Second)
	ranged := c.From != "" || c.Period != ""
	switch {
	case c.At != "" && (ranged || c.To != "" || c.Step != ""):
		return span, usageError{errors.New(
			"--at asks for one instant; --from, --to, --period and --step ask for a range: " +
				"leave out one or the other")}
	case c.From != "" && c.Period != "":
		return span, usageError{errors.New(
			"--from and --period both set the start of the range: leave one out")}
	case c.To != "" && !ranged:
		return span, usageError{errors.New(
			"--to ends a range: add --from or --period, or ask for one instant with --at")}
	case c.Step != "" && !ranged:
		return span, usageError{errors.New("--step is for a range: add --period or --from")}
	case c.At != "":
		span.to, err = parseTime("at", c.At, now)
		return span, err
	case !ranged:
		return span, nil
	}
	span.ranged, span.to = true, now
	if c.To != "" {
		if span.to, err = parseTime("to", c.To, now); err != nil {
			return span, err
		}
	}
	if c.From != "" {
		if span.from, err = parseTime("from", c.From, now); err != nil {
			return span, err
		}
	} else {
		period, err := parseSpan("period", c.Period)
		if err != nil {
			return span, err
		}
		span.from = span.to.Add(-period)
	}
	if span.from.After(span.to) {
		return span, usageError{errors.New(
			"--from is after --to (by default now): exchange or change them")}
	}
	if c.Step != "" {
		span.step, err = parseSpan("step", c.Step)
		return span, err
	}
	span.step = max(shortestStep, (span.to.Sub(span.from) / stepsOfRange).Round(time.Second))
	return span, nil
}

// last is when the last step of a range is.
func (s timeSpan) last() time.Time {
	return s.from.Add(s.to.Sub(s.from).Truncate(s.step))
}

// maxTime bounds times in ms, as the API does.
const maxTime = 1<<48 - 1

// parseTime reads what the API takes as a time, and now with a duration taken off it. Numbers from
// 10^11 on are milliseconds, as in the API.
func parseTime(flag, text string, now time.Time) (time.Time, error) {
	wrong := usageError{fmt.Errorf(
		"--%s: %q is not a time: use RFC 3339 such as 2026-09-03T00:48:05Z, "+
			"seconds or milliseconds since 1970, now or now-1h", flag, text)}
	if text == "now" {
		return now, nil
	}
	if ago, ok := strings.CutPrefix(strings.TrimPrefix(text, "now"), "-"); ok {
		back, err := model.ParseDuration(ago)
		if err != nil {
			return time.Time{}, wrong
		}
		return now.Add(-time.Duration(back)), nil
	}
	ms := math.NaN()
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		ms = float64(at.UnixMilli())
	} else if v, err := strconv.ParseFloat(text, 64); err == nil && !strings.ContainsAny(text,
		"xXpP_") {
		if ms = v; v < 1e11 {
			ms = math.Round(v * 1000)
		}
	}
	if !(ms >= 0 && ms <= maxTime) {
		return time.Time{}, wrong
	}
	return time.UnixMilli(int64(ms)), nil
}

// parseSpan reads a duration as Prometheus does: 1h30m, or a number of seconds.
func parseSpan(flag, text string) (time.Duration, error) {
	d, err := model.ParseDuration(text)
	if v, notNumber := strconv.ParseFloat(text, 64); err != nil && notNumber == nil &&
		v < maxTime/1000 {
		d, err = model.Duration(math.Round(v*1000))*model.Duration(time.Millisecond), nil
	}
	if err != nil || d < model.Duration(time.Millisecond) {
		return 0, usageError{fmt.Errorf(
			"--%s: %q is not a duration: use a number and a unit such as 30s, 15m, 6h or 2d",
			flag, text)}
	}
	return time.Duration(d), nil
}
