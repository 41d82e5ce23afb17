package promapi

import (
	"fmt"
	"math"
	"net/url"
	"strconv"
	"time"

	"github.com/prometheus/common/model"

	"github.com/ringwatch/ringwatch/query"
)

// instant reads a time: seconds since 1970, or RFC 3339.
func instant(text string) (time.Time, error) {
	outside := fmt.Errorf("cannot parse %q to a valid timestamp: it is out of range", text)
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		if math.IsNaN(s) || math.Abs(s) > maxSeconds {
			return time.Time{}, outside
		}
		whole, part := math.Modf(s)
		return time.Unix(int64(whole), int64(math.Round(part*1000))*int64(time.Millisecond)).UTC(),
			nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		if s := t.Unix(); s > maxSeconds || s < -maxSeconds {
			return time.Time{}, outside
		}
		return t, nil
	}
	return time.Time{}, fmt.Errorf("cannot parse %q to a valid timestamp", text)
}

// maxSeconds bounds times, to the years 1684 to 2255: Prometheus's engine counts nanoseconds.
const maxSeconds = 9_000_000_000

// ever are what Prometheus's clients send for "since ever" and "for ever".
var ever = map[string]time.Time{
	"-9223372036854775.808":               time.Unix(0, 0),
	"9223372036854775.807":                time.Unix(maxSeconds, 0),
	"-292273086-05-16T16:47:06Z":          time.Unix(0, 0),
	"292277025-08-18T07:12:54.999999999Z": time.Unix(maxSeconds, 0),
}

// time reads a time parameter; without it the default.
func (a *API) time(values url.Values, name string, without time.Time) (time.Time, error) {
	text := values.Get(name)
	if text == "" {
		return without, nil
	}
	if t, known := ever[text]; known {
		return t, nil
	}
	t, err := instant(text)
	if err != nil {
		return t, invalid(name, err)
	}
	return t, nil
}

// duration reads a span: seconds, or a number with a unit.
func duration(text string) (time.Duration, error) {
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		ns := s * float64(time.Second)
		if math.IsNaN(ns) || ns > math.MaxInt64 || ns < math.MinInt64 {
			return 0, fmt.Errorf("cannot parse %q to a valid duration. It overflows int64", text)
		}
		return time.Duration(ns), nil
	}
	if d, err := model.ParseDuration(text); err == nil {
		return time.Duration(d), nil
	}
	return 0, fmt.Errorf("cannot parse %q to a valid duration", text)
}

// options reads what a query asks for beside its expression.
func options(values url.Values) (o query.Options, limit int, err error) {
	for _, d := range []struct {
		name string
		into *time.Duration
	}{{"timeout", &o.Timeout}, {"lookback_delta", &o.Lookback}} {
		if text := values.Get(d.name); text != "" {
			if *d.into, err = duration(text); err != nil {
				return o, 0, invalid(d.name, err)
			}
			if *d.into <= 0 {
				return o, 0, bad("invalid parameter %q: it must be greater than 0", d.name)
			}
		}
	}
	o.PerStepStats = values.Get("stats") == "all"
	limit, err = number(values, "limit")
	return o, limit, err
}

// number reads a limit of query, series and labels; 0 is none.
func number(values url.Values, name string) (int, error) {
	text := values.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, invalid(name, fmt.Errorf("%q is not a number", text))
	}
	if n < 0 {
		return 0, bad("invalid parameter %q: %s must be non-negative", name, name)
	}
	return n, nil
}
