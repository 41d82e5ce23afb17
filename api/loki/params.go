package loki

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
)

// span is a range of time: from start, before end.
type span struct{ start, end time.Time }

// times reads start, end and since.
func (a *API) times(r *http.Request) (s span, err error) {
	s.end = a.Clock()
	if text := r.FormValue("end"); text != "" {
		if s.end, err = timeOf("end", text); err != nil {
			return s, err
		}
	}
	back := defaultSpan
	if text := r.FormValue("since"); text != "" {
		if back, err = durationOf("since", text); err != nil {
			return s, err
		}
	}
	s.start = s.end.Add(-back)
	if text := r.FormValue("start"); text != "" {
		if s.start, err = timeOf("start", text); err != nil {
			return s, err
		}
	}
	if s.end.Before(s.start) {
		return s, bad("end is before start: swap them")
	}
	return s, nil
}

// timeOf reads nanoseconds or seconds since 1970, or RFC 3339, as Loki does: a whole number of up
// to ten digits is seconds.
func timeOf(name, text string) (time.Time, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
		if len(text) <= 10 {
			return time.Unix(n, 0), nil
		}
		return time.Unix(0, n), nil
	}
	if v, err := strconv.ParseFloat(text, 64); err == nil && v >= 0 && v < 1e10 {
		seconds, rest := math.Modf(v)
		return time.Unix(int64(seconds), int64(rest*1e9)), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil && t.Unix() >= 0 {
		return t, nil
	}
	return time.Time{}, bad("%s is not a time: use nanoseconds since 1970, or RFC 3339", name)
}

// durationOf reads seconds, or a duration such as 5m.
func durationOf(name, text string) (time.Duration, error) {
	if v, err := strconv.ParseFloat(text, 64); err == nil && v > 0 && v < 1e9 {
		return time.Duration(v * float64(time.Second)), nil
	}
	d, err := model.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, bad("%s is not a duration: use seconds, or a number and a unit such as 5m", name)
	}
	return time.Duration(d), nil
}

func (a *API) parse(r *http.Request, text string) (*logQuery, error) {
	q, err := parse(text, a.Selectors.Request(r.Context()))
	if err != nil && r.Context().Err() == nil {
		return nil, bad("%v", err)
	}
	return q, err
}

func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
