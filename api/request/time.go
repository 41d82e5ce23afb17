package request

import (
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/ringwatch/ringwatch/api/refusal"
)

// MaxTime bounds times in ms, as the frame format does.
const MaxTime = 1<<48 - 1

// ParseTime reads RFC 3339, or seconds or milliseconds since the Unix epoch: whole numbers from
// 10^11 on are milliseconds, which as seconds would be the year 5138.
func ParseTime(field, text string) (int64, error) {
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		if at := t.UnixMilli(); at >= 0 && at <= MaxTime {
			return at, nil
		}
		return 0, refusal.Bad("bad_time", field, "%s is out of range", field)
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || strings.ContainsAny(text, "xXpP_") {
		return 0, refusal.Bad("bad_time", field,
			"%s is not a time: use RFC 3339 such as 2026-09-03T00:48:05Z, or seconds or "+
				"milliseconds since 1970", field)
	}
	if v < 1e11 {
		v *= 1000
	}
	if v < 0 || v > MaxTime {
		return 0, refusal.Bad("bad_time", field, "%s is out of range", field)
	}
	return int64(math.Round(v)), nil
}

// ParseSpan reads a duration as Prometheus writes them, in ms.
func ParseSpan(field, text string) (int64, error) {
	d, err := model.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, refusal.Bad("bad_duration", field,
			"%s is not a duration: use a number and a unit such as 30s, 15m, 6h or 2d", field)
	}
	return time.Duration(d).Milliseconds(), nil
}

// Range is the time that a request asks for by from=, to=, period= and step=.
type Range struct {
	Latest   bool  // none is asked for: the newest values
	From, To int64 // ms, both inclusive
	Step     int64 // ms, 0: every value
	field    string
}

// ParseRange reads it, at an instant in ms.
func ParseRange(values url.Values, now int64) (t Range, err error) {
	from, to, period, step := values.Get("from"), values.Get("to"), values.Get("period"),
		values.Get("step")
	switch {
	case from == "" && to == "" && period == "":
		for _, name := range []string{"from", "to", "period"} {
			if values.Has(name) {
				return t, refusal.Bad("bad_time", name,
					"%s is empty: give a time, or leave it out", name)
			}
		}
		return Range{Latest: true}, nil
	case from != "" && period != "":
		return t, refusal.Bad("bad_time", "period", "give period= or from=, not both")
	case from == "" && period == "":
		return t, refusal.Bad("bad_time", "from", "to= needs from= or period=")
	}
	t.To = now
	if to != "" {
		if t.To, err = ParseTime("to", to); err != nil {
			return t, err
		}
	}
	if t.field = "from"; period != "" {
		span, err := ParseSpan("period", period)
		if err != nil {
			return t, err
		}
		t.From, t.field = max(0, t.To-span), "period"
	} else if t.From, err = ParseTime("from", from); err != nil {
		return t, err
	}
	if step != "" {
		if t.Step, err = ParseSpan("step", step); err != nil {
			return t, err
		}
	}
	if t.From > t.To {
		if to == "" {
			return t, refusal.Bad("bad_time", "from", "from is in the future: use an earlier time")
		}
		return t, refusal.Bad("bad_time", "from", "from is after to: swap them")
	}
	return t, nil
}

// CheckLength refuses a time range that is longer than a limit.
func (t *Range) CheckLength(limit time.Duration) error {
	if t.To-t.From > limit.Milliseconds() {
		return refusal.Bad("range_too_wide", t.field,
			"the time range is longer than %s: ask for less at a time", model.Duration(limit))
	}
	return nil
}
