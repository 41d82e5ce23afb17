package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/bench/chaos"
	"github.com/ringwatch/ringwatch/dev/engines"
)

// TestChaos does for two minutes what make chaos does for an hour: to two processes of each role on
// real engines, and to ringwatch all in one directory. Every answer meanwhile is right, and in the
// end each acknowledged id is there once.
func TestChaos(t *testing.T) {
	engines.Needed(t, "Cassandra, Kafka and Redis")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []chaos.Config{
		{Length: 80 * time.Second, Kills: 15, Pause: 2 * time.Second, Away: 8 * time.Second},
		{Length: 30 * time.Second, Kills: 8, Pause: time.Second, Embedded: true},
	} {
		name := "Line"
		if c.Embedded {
			name = "Embedded"
		}
		t.Run(name, func(t *testing.T) {
			c.Dir, c.Binary, c.Env = t.TempDir(), self, []string{asRingwatch}
			c.Seed, c.Nodes, c.Interval = rand.Uint64(), 40, 500*time.Millisecond
			c.Progress = func(text string) { t.Log(time.Now().Format(time.TimeOnly), text) }
			r, err := chaos.Run(t.Context(), c)
			if err != nil {
				t.Fatal(fmt.Errorf("seed %d: %w", c.Seed, err))
			}
			if !r.Whole() {
				t.Errorf("seed %d: lost %d, doubled %d, wrong %d, holes %d, ended %d: %q", c.Seed,
					r.Lost, r.Doubled, r.Wrong, r.Holes, r.Ended, r.Problems)
			}
			if r.Kills < c.Kills || r.Acked < 500 || r.Answers < 50 || len(r.Recovery) == 0 ||
				r.Hours == 0 && !c.Embedded {
				t.Errorf("too little happened: %+v", r)
			}
		})
	}
}
