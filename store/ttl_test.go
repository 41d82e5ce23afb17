package store

import (
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/columns"
	"github.com/ringwatch/ringwatch/store/generations"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// TestLoadedLateExpiresInTime: what is loaded or corrected days later lives as long as if it had
// come in time, and no longer.
func TestLoadedLateExpiresInTime(t *testing.T) {
	for _, generation := range generations.Names() {
		t.Run(generation, func(t *testing.T) {
			c := newClock(time.Now().UnixMilli())
			s := mustCassandra(t, c, func(config *Config) { config.Generation = generation })
			for _, age := range []time.Duration{10 * time.Minute, 5 * 24 * time.Hour} {
				n := windowtest.NewNode(seeded(t, uint64(age)))
				start := calendar.Floor(base, calendar.WindowMillis) - age.Milliseconds()
				write(t, s, n.Step(start, false), n.Step(start+60_000, false))
				if err := writing(s).CloseWindow(t.Context(), memory.Unbounded(), "acme", n.ID,
					start); err != nil {
					t.Fatal(err)
				}
				if err := writing(s).MakeHour(t.Context(), memory.Unbounded(), "acme", n.ID,
					calendar.Hour(start)); err != nil {
					t.Fatal(err)
				}
				tables := map[string][2]any{"rollup_5m": {"blob", s.config.FiveMinutesTTL}}
				if generation == "v3" {
					tables[columns.HoursTable] = [2]any{"blob", s.config.RawTTL}
				} else {
					tables[generation+"_samples"], tables[generation+"_windows"] = [2]any{"value",
						s.config.RawTTL}, [2]any{"meta", s.config.RawTTL}
				}
				for table, what := range tables {
					whole := what[1].(time.Duration)
					want := whole
					if age > whole/rows.AgeParts {
						end := start + calendar.WindowMillis
						if table == columns.HoursTable || table == "rollup_5m" {
							end = calendar.Hour(start) + window.HourMillis
						}
						want -= c.now().Sub(time.UnixMilli(end))
					}
					node, rows := "node", 0
					if generation != "v3" && table != "rollup_5m" {
						node = "host"
					}
					err := s.each(t.Context(), func(scan func(...any) bool) bool {
						var ttl *int
						if !scan(&ttl) {
							return false
						}
						if ttl == nil { // of a histogram's value, say
							return true
						}
						rows++
						if got := time.Duration(*ttl) * time.Second; got > want+time.Second ||
							got < want-10*time.Minute {
							if table != "rollup_5m" || got < whole { // its dictionaries live longer
								t.Errorf("%s, %s old: %s is left, want %s", table, age, got, want)
							}
						}
						return true
					}, "SELECT TTL("+what[0].(string)+") FROM "+s.table(table)+" WHERE "+node+
						" = ? ALLOW FILTERING", n.ID.String())
					if err != nil || rows == 0 {
						t.Errorf("%s: %d rows, %v", table, rows, err)
					}
				}
			}
		})
	}
}
