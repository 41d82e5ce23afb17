package report

import (
	"cmp"
	"context"
	_ "embed"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Point is a value at an instant, in milliseconds since 1970.
type Point struct {
	At    int64
	Value float64
}

// Series is a series of an answer, without histograms.
type Series struct {
	Labels map[string]string
	Points []Point // at least one
}

// Source answers PromQL.
type Source interface {
	Query(ctx context.Context, promql string, at time.Time) ([]Series, error)
	// QueryRange answers at from, from+step … until to.
	QueryRange(ctx context.Context, promql string, from, to time.Time,
		step time.Duration) ([]Series, error)
}

// Step is the resolution of what is followed over the day.
const Step = 5 * time.Minute

// finite leaves out values that are no numbers, and series without any other, and sorts the rest.
func finite(list []Series) []Series {
	var out []Series
	for _, s := range list {
		s.Points = slices.DeleteFunc(slices.Clone(s.Points), func(p Point) bool {
			return math.IsNaN(p.Value) || math.IsInf(p.Value, 0)
		})
		if len(s.Points) > 0 {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b Series) int { return cmp.Compare(key(a.Labels), key(b.Labels)) })
	return out
}

// key is a label set in text.
func key(l map[string]string) string {
	var list []string
	for name, value := range l {
		list = append(list, name+"="+strconv.Quote(value))
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}

// last returns a series' last value.
func (s *Series) last() float64 { return s.Points[len(s.Points)-1].Value }

func instantOf(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

func millis(seconds float64) int64 { return int64(math.Round(seconds * 1000)) }

func tableOf(s *Series) [2]string { return [2]string{s.Labels["keyspace"], s.Labels["table"]} }
