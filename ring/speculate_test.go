package ring

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// TestSpeculation reads from three copies while a node hangs, in every way that a late request
// can be dealt with: all keys are answered in time, and races are what they should be.
func TestSpeculation(t *testing.T) {
	c := mustTrio(t)
	ks := c.keyspace(t, three)
	h := &hammer{ks: ks, keys: 400}
	h.fill(t, c)
	// Where races are to be won, their share is all: a machine so slow that every answer is late
	// would use them up before the node hangs.
	for _, way := range []struct {
		name   string
		change func(*Config)
		check  func(first, begun, won, refused float64) error
	}{
		{"Delay", func(c *Config) { c.Speculation, c.SpeculationShare = "15ms", 1 },
			func(_, begun, won, _ float64) error {
				if begun == 0 || won == 0 {
					return fmt.Errorf("%v races, %v won", begun, won)
				}
				return nil
			}},
		{"Percentile", func(c *Config) {
			c.Speculation, c.SpeculationFloor, c.SpeculationShare = "p90", 5*time.Millisecond, 1
		}, func(_, begun, won, _ float64) error {
			if begun == 0 || won == 0 {
				return fmt.Errorf("%v races, %v won", begun, won)
			}
			return nil
		}},
		{"Always", func(c *Config) { c.Speculation = "always"; c.SpeculationShare = 1 },
			func(first, begun, _, _ float64) error {
				if begun < first/3 { // an answer may come before the race
					return fmt.Errorf("%v races of %v requests", begun, first)
				}
				return nil
			}},
		{"Never", func(c *Config) { c.Speculation = "never" },
			func(_, begun, _, refused float64) error {
				if begun != 0 || refused != 0 {
					return fmt.Errorf("%v races, %v refused", begun, refused)
				}
				return nil
			}},
		{"NoShare", func(c *Config) { c.Speculation, c.SpeculationShare = "1ms", 0 },
			func(_, begun, _, refused float64) error {
				if begun != 0 || refused == 0 {
					return fmt.Errorf("%v races, %v refused", begun, refused)
				}
				return nil
			}},
	} {
		t.Run(way.name, func(t *testing.T) {
			r := c.mustReader(t, way.change)
			q := Query{Keyspace: ks, Table: "t", Columns: []string{"v"}}
			read := func(within time.Duration) error {
				keys := make([]Key, 50)
				for i := range keys {
					keys[i] = Key{i * 16}
				}
				ctx, cancel := context.WithTimeout(t.Context(), within)
				defer cancel()
				results, err := r.Read(ctx, q, keys)
				for i, result := range results {
					if len(result.Rows) != boolInt(i*16 < h.keys) {
						err = errors.Join(err,
							fmt.Errorf("key %d has %d rows", i*16, len(result.Rows)))
					}
					err = errors.Join(err, result.Err)
				}
				return err
			}
			// so that each node has the statement prepared, and the table a percentile
			for range 30 {
				if err := read(time.Minute); err != nil {
					t.Fatal(err)
				}
			}
			n := c.nodes[1]
			if err := n.Pause(); err != nil {
				t.Fatal(err)
			}
			defer n.Resume()
			for range 30 {
				// Twelve seconds are enough to give a node up and ask two others; on a machine
				// that stands still for some of them, more.
				err := read(12 * time.Second)
				for more := 24 * time.Second; err != nil && more < 2*time.Minute; more *= 2 {
					t.Logf("in half of %s: %v", more, err)
					err = read(more)
				}
				if err != nil {
					t.Error(err)
				}
			}
			m := r.metrics
			if err := way.check(count(m.first), count(m.begun), count(m.won),
				count(m.refused)); err != nil {
				t.Error(err)
			}
			t.Logf("%v requests, %v races, %v won, %v refused, %v asked again", count(m.first),
				count(m.begun), count(m.won), count(m.refused), count(m.again))
		})
	}
}
