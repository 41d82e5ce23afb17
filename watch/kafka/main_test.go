package kafka

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/watch/reading"
)

func TestMain(m *testing.M) { engines.Main(m) }

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func testConfig(addresses ...string) Config {
	c := DefaultConfig()
	c.Cluster, c.Brokers = "orders", addresses
	return c
}

func mustNew(t testing.TB, c Config, now func() time.Time) *Reader {
	t.Helper()
	r, err := New(c, Deps{Log: quiet, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// mustRead reads, and nothing may be missing.
func mustRead(t testing.TB, r *Reader) values {
	t.Helper()
	rd, err := r.Read(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	return valuesOf(t, rd)
}

// values are a reading's, by metric and its labels' values with a slash between: a/b.
type values map[string]map[string]float64

func valuesOf(t testing.TB, rd *reading.Reading) values {
	t.Helper()
	all, types := values{}, map[string]bool{}
	for i := range rd.Tables {
		table := &rd.Tables[i]
		if types[table.Type] {
			t.Errorf("type %s is there twice", table.Type)
		}
		types[table.Type] = true
		for _, c := range table.Columns {
			if all[c.Name] != nil {
				t.Errorf("metric %s is there twice", c.Name)
			}
			of := map[string]float64{}
			all[c.Name] = of
			if len(c.Ints)+len(c.Doubles) != len(table.Rows) {
				t.Errorf("%s has %d values, and there are %d rows", c.Name,
					len(c.Ints)+len(c.Doubles), len(table.Rows))
			}
			for j, row := range table.Rows {
				if len(row) != len(table.Labels) {
					t.Errorf("a row of %s has labels %q", table.Type, row)
				}
				key := ""
				for k, label := range row {
					if k > 0 {
						key += "/"
					}
					key += label
				}
				switch {
				case c.Doubles != nil:
					of[key] = c.Doubles[j]
				case c.Ints[j] != reading.NoInt:
					of[key] = float64(c.Ints[j])
					for range -c.Exponent {
						of[key] /= 10
					}
				}
			}
		}
	}
	return all
}

// described fails unless dictionary/kafka.txt says of the reading's tables and metrics what they
// are, no more and no less.
func described(t testing.TB, rd *reading.Reading) {
	t.Helper()
	text, err := os.ReadFile("../../dictionary/kafka.txt")
	if err != nil {
		t.Fatal(err)
	}
	var said, got []string
	kind := ""
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || strings.HasPrefix(line, "#") || strings.HasPrefix(line, " "):
		case f[0] == "type":
			kind = f[1] + " " + strings.Join(f[3:], " ")
		default:
			said = append(said, fmt.Sprintf("%s: %s %s %s", kind, f[0], f[1], f[2]))
		}
	}
	for _, table := range rd.Tables {
		for _, c := range table.Columns {
			kind := map[frame.Kind]string{frame.Gauge: "gauge",
				frame.GaugeDouble: "gauge_double", frame.Counter: "counter"}[c.Kind]
			unit := c.Unit
			if unit == "" {
				unit = "-"
			}
			got = append(got, fmt.Sprintf("%s %s: %s %s %s", table.Type,
				strings.Join(table.Labels, " "), c.Name, kind, unit))
		}
	}
	slices.Sort(said)
	slices.Sort(got)
	for _, line := range said {
		if !slices.Contains(got, line) {
			t.Errorf("kafka.txt has %q, and the reading does not", line)
		}
	}
	for _, line := range got {
		if !slices.Contains(said, line) {
			t.Errorf("the reading has %q, and kafka.txt does not", line)
		}
	}
}

// want fails unless the metric of those labels has the value.
func (v values) want(t testing.TB, metric, labels string, want float64) {
	t.Helper()
	got, there := v[metric][labels]
	if !there {
		t.Errorf("%s{%s} is not there; it has %v", metric, labels, v[metric])
	} else if got != want {
		t.Errorf("%s{%s} is %v, want %v", metric, labels, got, want)
	}
}
