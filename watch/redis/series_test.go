package redis

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/watch/reading"
)

// series returns a reading's values as /metrics would have them, by name{label="value"}, labels in
// the order of their names.
func series(r *reading.Reading) map[string]float64 {
	all := map[string]float64{}
	for _, t := range r.Tables {
		for row, labels := range t.Rows {
			for _, c := range t.Columns {
				add := func(suffix string, v float64, more ...string) {
					all[id(c.Name+suffix, t.Labels, labels, more...)] = v
				}
				scale := math.Pow10(-c.Exponent)
				switch {
				case c.Ints != nil:
					if c.Ints[row] != reading.NoInt {
						add("", float64(c.Ints[row])/scale)
					}
				case c.Doubles != nil:
					if !math.IsNaN(c.Doubles[row]) {
						add("", c.Doubles[row])
					}
				case c.Kind == frame.Histogram && c.Histograms[row].Counts != nil:
					h, total := c.Histograms[row], int64(0)
					for i, n := range h.Counts {
						total += n
						if i < len(c.Bounds.Upper) {
							add("_bucket", float64(total), "le", fmt.Sprint(c.Bounds.Upper[i]))
						}
					}
					add("_bucket", float64(total), "le", "+Inf")
					add("_count", float64(total))
					add("_sum", float64(h.Sum)/scale)
				}
			}
		}
	}
	return all
}

// id names a series. Empty labels are none.
func id(name string, labels, values []string, more ...string) string {
	var pairs []string
	for i, label := range labels {
		if values[i] != "" {
			pairs = append(pairs, fmt.Sprintf("%s=%q", label, values[i]))
		}
	}
	for i := 0; i+1 < len(more); i += 2 {
		pairs = append(pairs, fmt.Sprintf("%s=%q", more[i], more[i+1]))
	}
	if len(pairs) == 0 {
		return name
	}
	slices.Sort(pairs)
	return name + "{" + strings.Join(pairs, ",") + "}"
}

func value(r *reading.Reading, id string) (float64, bool) {
	v, found := series(r)[id]
	return v, found
}
