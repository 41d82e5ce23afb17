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
	"github.com/ringwatch/ringwatch/stream"
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
		b.forwarded()
	}
}

// forwarded hands on what clusters recorded.
func (b *both) forwarded() {
	b.Helper()
	list := b.queue
	b.queue = nil
	slices.SortStableFunc(list, func(x, y sent) int { return int(x.at - y.at) })
	b.every.deliver(b.role, b.at, list...)
}

// TestNobodyEvaluates: for a while no process evaluates the clusters. Agents and Kafka go on. What
// rules over all clusters have said of them holds until somebody does.
func TestNobodyEvaluates(t *testing.T) {
	for _, c := range []struct {
		name    string
		away    time.Duration
		goes    bool // the role over all clusters does
		changed bool // alerts end while nobody looks
	}{
		{"ten minutes", 10 * time.Minute, false, false},
		{"ten minutes, and it is over", 10 * time.Minute, false, true},
		{"longer than is made up for", 40 * time.Minute, false, false},
		{"longer than the stream is read back", 3 * time.Hour, false, false},
		{"clusters alone", 30 * time.Minute, true, false},
		{"clusters alone, and it is over", 30 * time.Minute, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBoth(t, []string{write(t, everyRules), write(t, overAll)}, nil)
			b.run(5 * time.Minute)
			b.nodes[2].load, b.nodes[0].dead = 6, true
			b.run(5 * time.Minute)
			before := b.toldAll()
			if n := len(before); n < 2 ||
				before[n-1] != "Gone firing" && before[n-2] != "Gone firing" {
				t.Fatalf("before it was said %s", before)
			}
			if c.changed {
				b.nodes[2].load, b.nodes[0].dead = 2, false
			}
			for end := b.at + c.away.Milliseconds(); b.at < end; {
				b.at += 5000
				b.line.enter(b.made(b.at))
				if !c.goes {
					continue
				}
				b.every.deliver(b.role, b.at)
				for _, rule := range []string{"LoadAnywhere", "Gone"} {
					if a := b.lastOfAll(rule); a.ValidUntil.UnixMilli() <= b.at {
						t.Fatalf("%s is valid until %s only, and it is %s", rule, a.ValidUntil,
							b.every.now)
					}
				}
			}
			log := b.line.log
			if c.away > 2*time.Hour { // as the consumer does with what is too old
				b.line.log = slices.DeleteFunc(slices.Clone(log), func(r stream.Record) bool {
					return r.Received.UnixMilli() < b.at-time.Hour.Milliseconds()
				})
				b.town.role = b.line.role()
				if err := b.town.role.Handle(t.Context(), b.line.log); err != nil {
					t.Fatal(err)
				}
				b.role = b.every.role()
				b.role.Assign(0)
			} else {
				b.begin()
				if !c.goes {
					next := b.every.role()
					b.every.again(b.role, next)
					b.role = next
				}
			}
			b.every.deliver(b.role, b.at) // it is first
			if now := b.toldAll(); len(now) != len(before) {
				t.Errorf("before clusters were evaluated it was said %s, and before %s",
					now, before)
			}
			b.run(5 * time.Minute)
			if now := b.toldAll(); !c.changed && len(now) != len(before) {
				t.Errorf("it was said %s, and before %s", now, before)
			}
			b.nodes[2].load, b.nodes[0].dead = 2, false
			b.run(5 * time.Minute)
			now := b.toldAll()[len(before):]
			slices.Sort(now)
			if fmt.Sprint(now) != "[Gone inactive LoadAnywhere inactive]" {
				t.Errorf("in the end it was said %s, and before %s", now, before)
			}
		})
	}
}

// toldAll returns the changes that were said of rules over all clusters.
func (b *both) toldAll() []string {
	var list []string
	last := map[string]string{}
	for i := range b.every.alerts {
		a := &b.every.alerts[i]
		if change := fmt.Sprint(a.State, a.ActiveAt); last[a.Rule] != change {
			last[a.Rule] = change
			list = append(list, a.Rule+" "+a.State.String())
		}
	}
	return list
}

// lastOfAll returns the newest word of a rule over all clusters.
func (b *both) lastOfAll(rule string) *Alert {
	b.Helper()
	for i := len(b.every.alerts) - 1; i >= 0; i-- {
		if b.every.alerts[i].Rule == rule {
			return &b.every.alerts[i]
		}
	}
	b.Fatalf("nothing was said of %s", rule)
	return nil
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
		want := map[string]int{"LoadAnywhere pending": 0, "LoadAnywhere firing": 1,
			"LoadAnywhere inactive": 1, "Gone firing": 1, "Gone inactive": 1}
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

// TestGoneClusterHoldsUpNobody: all nodes of a cluster are away until they are forgotten. Rules
// over all clusters go on without it, and know it again when it is back.
func TestGoneClusterHoldsUpNobody(t *testing.T) {
	b := newBoth(t, []string{write(t, everyRules), write(t, overAll)}, nil)
	of := b.line.set
	b.line.set = func(c *Config, d *Deps) { of(c, d); c.Absent = 10 * time.Minute }
	count := func() float64 {
		t.Helper()
		var v float64
		for series, of := range b.every.recorded() {
			for at := range of {
				if strings.Contains(series, "all:clusters:count") && at > b.at-30_000 {
					v = of[at]
				}
			}
		}
		return v
	}
	b.run(5 * time.Minute)
	for _, n := range b.nodes[2:] {
		n.dead = true
	}
	b.run(5 * time.Minute)
	if n := count(); n != 2 {
		t.Errorf("%v clusters are counted while one is silent", n)
	}
	b.run(10 * time.Minute)
	if n := count(); n != 1 {
		t.Errorf("%v clusters are counted after one is gone", n)
	}
	for _, n := range b.nodes[2:] {
		n.dead = false
	}
	b.run(7 * time.Minute) // they begin with a key frame
	if n := count(); n != 2 {
		t.Errorf("%v clusters are counted after it is back", n)
	}
}
