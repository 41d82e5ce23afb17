package kafka

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/dev/engines"
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
