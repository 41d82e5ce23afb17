package rules

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/querytest"
)

// everyRules are of both forms: what clusters record, and what is said over all of them.
const everyRules = `
groups:
- name: clusters
  interval: 15s
  rules:
  - {record: "cluster:load:max", expr: max by (cluster) (node_load1)}
  - {record: "cluster:nodes:up", expr: sum by (cluster) (up)}
`

const overAll = `
groups:
- name: accounts
  interval: 15s
  rules:
  - {record: "all:load:max", expr: max(cluster:load:max)}
  - {record: "all:clusters:count", expr: count(cluster:nodes:up)}
  - {alert: LoadAnywhere, expr: max(cluster:load:max) > 3, for: 1m}
  - {alert: Gone, expr: sum(cluster:nodes:up) < 4}
`

// both is a town whose role forwards to one over all clusters.
type both struct {
	*town
	every *line
	role  *Rules
	queue []sent
	kills *rand.Rand
}

func newBoth(t *testing.T, files []string, kills *rand.Rand) *both {
	t.Helper()
	b := &both{town: newTownOf(t, 2, files[0]), every: newLine(t), kills: kills}
	b.add("", "south", 11)
	b.add("", "south", 12)
	of := func(c *Config) { c.Files = files }
	b.line.set = func(c *Config, d *Deps) {
		of(c)
		d.Forward = func(_ context.Context, account string, frames []byte) error {
			h, _, err := frame.Parse(frames)
			b.line.mu.Lock()
			defer b.line.mu.Unlock()
			b.queue = append(b.queue, sent{h.At, frame.EveryCluster, frames, account})
			return err
		}
	}
	b.every.set = func(c *Config, d *Deps) { of(c); d.Every = true }
	b.role = b.every.role()
	return b
}

// run lets time pass, and kills one of the roles now and then.
func (b *both) run(d time.Duration) {
	b.Helper()
	for end := b.at + d.Milliseconds(); b.at < end; {
		if b.kills != nil && b.at > townFrom+120_000 {
			switch b.kills.IntN(20) {
			case 0:
				b.begin()
			case 1:
				next := b.every.role()
				b.every.again(b.role, next)
				b.role = next
			}
		}
		b.pass(5*time.Second, nil)
		list := b.queue
		b.queue = nil
		slices.SortStableFunc(list, func(x, y sent) int { return int(x.at - y.at) })
		b.every.deliver(b.role, b.at, list...)
	}
}

// TestOverAllClusters: rules over all clusters of an account, of what two roles of single clusters
// forward, say what they should of everything, and say the same if the roles are killed.
func TestOverAllClusters(t *testing.T) {
	files := []string{write(t, everyRules), write(t, overAll)}
	var lines [2]*line
	for i := range lines {
		var kills *rand.Rand
		if i == 1 {
			kills = rand.New(rand.NewPCG(3, 4))
		}
		b := newBoth(t, files, kills)
		lines[i] = b.every
		b.run(5 * time.Minute)
		b.nodes[2].load = 6
		b.run(5 * time.Minute)
		b.nodes[0].dead = true
		b.run(5 * time.Minute)
		b.nodes[2].load, b.nodes[0].dead = 2, false
		b.run(5 * time.Minute)
		want := map[string]int{"LoadAnywhere pending": 0, "LoadAnywhere firing": 1, "LoadAnywhere inactive": 1,
			"Gone firing": 1, "Gone inactive": 1}
		got := map[string]int{}
		last := map[string]string{}
		for i := range b.every.alerts {
			a := &b.every.alerts[i]
			if a.FiredAt.UnixMilli() < townFrom+120_000 {
				continue // as the nodes come
			}
			change := fmt.Sprintf("%s %s %s", a.Rule, a.State, a.ActiveAt)
			if last[a.Rule] != change {
				got[a.Rule+" "+a.State.String()]++
			}
			last[a.Rule] = change
			if a.Cluster != frame.EveryCluster || a.Account != querytest.Account {
				t.Errorf("it is of %s %s", a.Account, a.Cluster)
			}
		}
		for word, n := range want {
			if got[word] != n {
				t.Errorf("%s was said %d times, want %d", word, got[word], n)
			}
		}
		values := lines[i].recorded()
		var newest float64
		for series, of := range values {
			if !strings.Contains(series, "all:load:max") {
				continue
			}
			for at, v := range of {
				if at > b.at-30_000 {
					newest = v
				}
			}
		}
		if newest != 2 {
			t.Errorf("all:load:max is %v in the end", newest)
		}
	}
	if t.Failed() {
		return
	}
	sameLine(t, lines[1], lines[0])
}
