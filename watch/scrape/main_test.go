package scrape

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/watch/reading"
)

func TestMain(m *testing.M) {
	minInterval, reload = 50*time.Millisecond, 20*time.Millisecond
	os.Exit(m.Run())
}

// taken is one call of Take.
type taken struct {
	target reading.Target
	at     time.Time
	*reading.Reading
}

// rig is a Scraper that runs, and what it took.
type rig struct {
	*testing.T
	*Scraper

	mu   sync.Mutex
	list []taken
}

// start runs a Scraper of a section scrape_configs until the test ends.
func start(t *testing.T, section string, change ...func(*Config, *Deps)) *rig {
	t.Helper()
	r := &rig{T: t}
	c := DefaultConfig()
	c.Interval, c.Timeout = 100*time.Millisecond, 100*time.Millisecond
	if err := c.ScrapeConfigs.UnmarshalYAML([]byte(section)); err != nil {
		t.Fatal(err)
	}
	d := Deps{Mine: func(uuid.UUID) bool { return true }, Log: slog.New(slog.DiscardHandler),
		Take: func(target reading.Target, at time.Time, read *reading.Reading, err error) {
			if up(taken{Reading: read}) != 1 && err == nil {
				t.Error("a scrape failed, and nothing says why")
			}
			check(t, read)
			r.mu.Lock()
			defer r.mu.Unlock()
			r.list = append(r.list, taken{target, at, read})
		}}
	for _, f := range change {
		f(&c, &d)
	}
	var err error
	if r.Scraper, err = New(c, d); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Scraper.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		began := time.Now()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("Run took %s to end", took)
		}
	})
	return r
}

// check holds a reading against what package reading and frames ask for.
func check(t *testing.T, r *reading.Reading) {
	t.Helper()
	types, names := map[string]bool{}, map[string]bool{}
	for _, table := range r.Tables {
		if types[table.Type] || len(table.Labels) > frame.MaxLabels || len(table.Columns) == 0 {
			t.Errorf("table %s is there twice, or has %d labels", table.Type, len(table.Labels))
		}
		types[table.Type] = true
		rows := map[string]bool{}
		for _, row := range table.Rows {
			key := strings.Join(row, "\xff")
			if rows[key] || len(row) != len(table.Labels) {
				t.Errorf("table %s: row %q is there twice, or not complete", table.Type, row)
			}
			rows[key] = true
		}
		for _, c := range table.Columns {
			if n := len(c.Ints) + len(c.Doubles) + len(c.Histograms); n != len(table.Rows) ||
				names[c.Name] {
				t.Errorf("metric %s has %d values of %d, or is there twice", c.Name, n,
					len(table.Rows))
			}
			names[c.Name] = true
			for _, h := range c.Histograms {
				if len(h.Counts) != len(c.Bounds.Upper)+1 {
					t.Errorf("metric %s has %d counts for %d bounds", c.Name, len(h.Counts),
						len(c.Bounds.Upper))
				}
			}
			for i := 1; i < len(c.Bounds.Upper); i++ {
				if c.Bounds.Upper[i] <= c.Bounds.Upper[i-1] {
					t.Errorf("bounds of %s do not rise: %v", c.Name, c.Bounds.Upper)
				}
			}
		}
	}
	if len(types) > frame.MaxTemplates {
		t.Errorf("%d tables do not fit into a frame", len(types))
	}
}

// taken returns what was taken since the last call of drop.
func (r *rig) taken() []taken {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

func (r *rig) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = nil
}

// next waits for a reading that holds.
func (r *rig) next(what string, holds func(taken) bool) (found taken) {
	r.Helper()
	eventually.Nil(r, what, func() error {
		list := r.taken()
		for i := len(list) - 1; i >= 0; i-- {
			if holds(list[i]) {
				found = list[i]
				return nil
			}
		}
		return fmt.Errorf("there are %d readings, and targets %+v", len(list), r.Targets())
	})
	return found
}

func isUp(x taken) bool   { return up(x) == 1 }
func isDown(x taken) bool { return up(x) == 0 }

func up(x taken) float64 {
	table, _ := find(x.Reading, "up")
	if len(table.Rows) == 0 {
		return -1
	}
	return table.Columns[0].Doubles[0]
}

// find returns the table of a metric.
func find(r *reading.Reading, metric string) (reading.Table, bool) {
	for _, table := range r.Tables {
		if table.Columns[0].Name == metric {
			return table, true
		}
	}
	return reading.Table{}, false
}

// values are the series of a reading as a Prometheus of before native histograms keeps them: their
// names and labels in text without job and instance, and their values.
func values(r *reading.Reading) map[string]float64 { return valuesWith(r, "job", "instance") }

func valuesWith(r *reading.Reading, without ...string) map[string]float64 {
	all := map[string]float64{}
	for _, table := range r.Tables {
		for i, row := range table.Rows {
			of := map[string]string{}
			for j, name := range table.Labels {
				value := row[j]
				if name == "recorded_quantile" {
					name = "quantile"
					if v, err := strconv.ParseFloat(value, 64); err == nil {
						value = number(v)
					}
				}
				if value != "" && !slices.Contains(without, name) {
					of[name] = value
				}
			}
			for _, c := range table.Columns {
				switch {
				case c.Ints != nil && c.Ints[i] != reading.NoInt:
					all[text(c.Name, of)] = frame.Scale(c.Ints[i], c.Exponent)
				case c.Doubles != nil && !math.IsNaN(c.Doubles[i]):
					all[text(c.Name, of)] = c.Doubles[i]
				case c.Histograms != nil:
					h, sum := c.Histograms[i], int64(0)
					for k, n := range h.Counts {
						sum += n
						le := math.Inf(1)
						if k < len(c.Bounds.Upper) {
							le = frame.Scale(c.Bounds.Upper[k], c.Bounds.Exponent)
						}
						bucket := maps.Clone(of)
						bucket["le"] = number(le)
						all[text(c.Name+"_bucket", bucket)] = float64(sum)
					}
					all[text(c.Name+"_count", of)] = float64(sum)
					if c.HasSum {
						all[text(c.Name+"_sum", of)] = frame.Scale(h.Sum, c.Exponent)
					}
				}
			}
		}
	}
	return all
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func text(name string, of map[string]string) string {
	if len(of) == 0 {
		return name
	}
	var parts []string
	for _, l := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, fmt.Sprintf("%s=%q", l, of[l]))
	}
	return name + "{" + strings.Join(parts, ",") + "}"
}

// serve is a target; its address.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return strings.TrimPrefix(server.URL, "http://")
}

// says is a target that says a text.
func says(t *testing.T, lines ...string) string {
	return serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = w.Write([]byte(strings.Join(lines, "\n") + "\n"))
	})
}

// job is a section of one job.
func job(address string, more ...string) string {
	return "[{job_name: t, static_configs: [{targets: [" + strconv.Quote(address) + "]}]" +
		strings.Join(append([]string{""}, more...), ", ") + "}]"
}
