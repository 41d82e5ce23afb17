package screen

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
)

// MaxTime bounds times in ms, as the API does.
const MaxTime = 1<<48 - 1

// ParseTime reads what the API takes as a time, and now with a duration taken off it. Numbers from
// 10^11 on are milliseconds, as in the API.
func ParseTime(flag, text string, now time.Time) (time.Time, error) {
	wrong := exit.Usage(fmt.Errorf(
		"--%s: %q is not a time: use RFC 3339 such as 2026-09-03T00:48:05Z, "+
			"seconds or milliseconds since 1970, now or now-1h", flag, text))
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
	if !(ms >= 0 && ms <= MaxTime) {
		return time.Time{}, wrong
	}
	return time.UnixMilli(int64(ms)), nil
}

// ParseSpan reads a duration as Prometheus does: 1h30m, or a number of seconds.
func ParseSpan(flag, text string) (time.Duration, error) {
	d, err := model.ParseDuration(text)
	if v, notNumber := strconv.ParseFloat(text, 64); err != nil && notNumber == nil &&
		v < MaxTime/1000 {
		d, err = model.Duration(math.Round(v*1000))*model.Duration(time.Millisecond), nil
	}
	if err != nil || d < model.Duration(time.Millisecond) {
		return 0, exit.Usage(fmt.Errorf(
			"--%s: %q is not a duration: use a number and a unit such as 30s, 15m, 6h or 2d",
			flag, text))
	}
	return time.Duration(d), nil
}
