package rules

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/query/querytest"
	"github.com/ringwatch/ringwatch/query/roster"
	"github.com/ringwatch/ringwatch/query/series"
)

const leaveRules = `
groups:
- name: leave
  rules:
  - {alert: Down, expr: up == 0}
  - {alert: Load, expr: node_load1 > 3}
`

// desk stands for the topic through which processes know who has left: what is written down there,
// and the rosters of all processes that read it.
type desk struct {
	records []roster.Record
	readers []*roster.Roster
	away    error
}

// join gives a role a roster that has what was written down, and will have what is.
func (d *desk) join(c *Config, deps *Deps) {
	r := &roster.Roster{}
	for _, rec := range d.records {
		r.Take(rec)
	}
	d.readers = append(d.readers, r)
	deps.Roster, deps.Enroll, deps.KeepLeft = r, d.write, 14*24*time.Hour
}

func (d *desk) write(_ context.Context, list []roster.Record) error {
	if d.away != nil {
		return d.away
	}
	for _, rec := range list {
		b, err := rec.Pack()
		if err != nil {
			return err
		}
		if rec, err = roster.Unpack(rec.Account, rec.Cluster, rec.Node.String(), b); err != nil {
			return err
		}
		d.records = append(d.records, rec)
		for _, r := range d.readers {
			r.Take(rec)
		}
	}
	return nil
}

// forget is what the API does when a person says that a node has left.
func (d *desk) forget(w *town, c *citizen) {
	w.Helper()
	account := (&sent{account: c.account}).of()
	var r roster.Roster
	for _, rec := range d.records {
		r.Take(rec)
	}
	rec := r.Changed(account, c.Cluster, c.ID, w.at, func(rec *roster.Record) {
		rec.End = &roster.End{Why: roster.Forgotten, At: w.at, By: "me"}
	})
	if err := d.write(w.Context(), []roster.Record{rec}); err != nil {
		w.Fatal(err)
	}
}

// end is how a node has left by what is written down.
func (d *desk) end(c *citizen) roster.End {
	var r roster.Roster
	for _, rec := range d.records {
		r.Take(rec)
	}
	if e := r.End((&sent{account: c.account}).of(), c.Cluster, c.ID); e != nil {
		return *e
	}
	return roster.End{}
}

// newLeaving is a town whose nodes say their operation mode, with a desk.
func newLeaving(t *testing.T, nodes int) (*town, *desk) {
	w, d := newTown(t, nodes, leaveRules), &desk{}
	w.set = func(c *Config, deps *Deps) {
		c.Absent = 6 * time.Hour
		d.join(c, deps)
	}
	for _, c := range w.nodes {
		c.say("NORMAL")
	}
	return w, d
}

// say makes a node say a mode from its next frame on.
func (c *citizen) say(mode string) {
	node := &c.Templates[0]
	cells := &c.Entities[0][0].Cells
	if last := len(node.Metrics) - 1; node.Metrics[last].Name == modeMetric {
		(*cells)[last].Text = mode
		return
	}
	node.Metrics = append(slices.Clip(node.Metrics),
		frame.Metric{Name: modeMetric, Kind: frame.String})
	*cells = append(*cells, frametest.Cell{Text: mode})
}

// ups is how many series up a role sees of a node.
func (w *town) ups(c *citizen) int {
	w.Helper()
	v, err := w.cluster(c.account, c.Cluster).evaluation.query(w.Context(),
		series.MetricUp+`{node="`+c.ID.String()+`"}`, time.UnixMilli(w.at))
	if err != nil {
		w.Fatal(err)
	}
	return len(v)
}

// TestDecommissioned: a node that said so has no series any more and nobody is woken, however often
// the role is killed. One that was drained, or was killed before it had left, is down.
func TestDecommissioned(t *testing.T) {
	for _, modes := range [][]string{{"LEAVING", "DECOMMISSIONED"}, {"DECOMMISSIONED"}, {"LEAVING"},
		{"DRAINING", "DRAINED"}, {"DECOMMISSION_FAILED"}} {
		t.Run(fmt.Sprint(modes), func(t *testing.T) {
			w, d := newLeaving(t, 2)
			w.pass(10*time.Minute, nil)
			c, said := w.nodes[1], int64(0)
			for _, mode := range modes {
				c.say(mode)
				said = c.next
				w.pass(3*time.Minute, nil)
			}
			gone := modes[len(modes)-1] == roster.ModeLeft
			if n := w.ups(c); gone != (n == 0) {
				t.Errorf("%d series up", n)
			}
			c.load = 9 // nobody looks at a node that has left
			w.pass(time.Minute, nil)
			c.dead = true
			for range 3 {
				w.pass(time.Hour, nil)
				w.begin()
			}
			w.pass(10*time.Minute, nil)
			if !gone {
				if w.told(0); d.end(c) != (roster.End{}) ||
					!slices.Contains(w.told(0), "Down 1 firing") {
					t.Errorf("it has left: %+v, %v", d.end(c), w.told(0))
				}
				return
			}
			w.wantTold(0)
			if want := (roster.End{Why: roster.Decommissioned, At: said, Last: said}); d.end(c) !=
				want {
				t.Errorf("it left as %+v, want %+v", d.end(c), want)
			}
			c.dead = false // cassandra.override_decommission
			c.say("NORMAL")
			c.load = 1
			c.Restart(w.at)
			w.pass(time.Minute, nil)
			if w.ups(c) != 1 || d.end(c) != (roster.End{}) {
				t.Errorf("it is not back: %+v", d.end(c))
			}
			c.dead = true
			w.pass(10*time.Minute, nil)
			w.wantTold(0, "Down 1 firing")
		})
	}
}

// TestLateAfterDecommissioned: what a node sent before it left and what comes later, in whatever
// order, takes it not back; nor does a frame that cannot be read after the role was killed.
func TestLateAfterDecommissioned(t *testing.T) {
	w, d := newLeaving(t, 2)
	w.pass(10*time.Minute, nil)
	c := w.nodes[1]
	w.held = &[]sent{}
	c.say("LEAVING")
	w.pass(2*time.Minute, nil)
	c.say("DECOMMISSIONED")
	said := c.next
	w.pass(2*time.Minute, nil)
	c.dead = true
	held := *w.held
	w.held = nil
	var late []sent
	for _, s := range held {
		if isOf(&s, c) {
			late = append(late, s)
		} else {
			w.deliver(w.role, w.at, s)
		}
	}
	slices.SortStableFunc(late, func(a, b sent) int { // agents send the newest first
		return int(frame.WindowOf(b.at) - frame.WindowOf(a.at))
	})
	for i, s := range late {
		w.deliver(w.role, w.at, s)
		if w.pass(5*time.Second, nil); i == len(late)/2 {
			w.begin()
		}
	}
	w.pass(20*time.Minute, nil)
	w.begin()
	if isKey(late[1]) {
		t.Fatal("it is a key frame")
	}
	w.deliver(w.line.role(w.file), w.at, late[1]) // its key frame is not known to this role
	w.pass(20*time.Minute, nil)
	if e := d.end(c); e.Why != roster.Decommissioned || e.At != said {
		t.Errorf("it left as %+v, want at %d", e, said)
	}
	if n := w.ups(c); n != 0 {
		t.Errorf("%d series up", n)
	}
	for _, what := range w.told(0) { // it was silent until its frames came
		if what != "Down 1 firing" && what != "Down 1 inactive" && what != "Down 0 firing" &&
			what != "Down 0 inactive" {
			t.Error(what)
		}
	}
	if list := w.told(0); slices.Contains(list, "Down 1 firing") &&
		!slices.Contains(list, "Down 1 inactive") {
		t.Errorf("%q", list)
	}
}

// TestReplaced: a dead node's alert ends when a new one of its cluster is in its place. A node that
// was there before and gets its address, or a new one of another account, is not in its place.
func TestReplaced(t *testing.T) {
	address := func(c *citizen, of string) { c.Identity.Facts[0].Value = of }
	for _, how := range []string{"address", "says so", "known before", "another account",
		"another cluster"} {
		t.Run(how, func(t *testing.T) {
			w, d := newLeaving(t, 2)
			w.pass(10*time.Minute, nil)
			dead := w.nodes[1]
			dead.dead = true
			address(dead, "10.0.0.2:7000")
			w.pass(10*time.Minute, nil)
			dead.dead = false
			w.pass(time.Minute, nil) // its identity is that of a key frame
			dead.Restart(w.at)
			w.pass(2*time.Minute, nil)
			dead.dead = true
			last := dead.next - townInterval
			w.pass(5*time.Minute, nil)
			said := w.told(0)
			begun := w.at
			var by *citizen
			replaced := false
			switch how {
			case "address":
				by, replaced = w.add("", "north", 9), true
				address(by, "10.0.0.2:7000")
			case "says so":
				by, replaced = w.add("", "north", 9), true
				by.Identity.Facts = append(by.Identity.Facts,
					frame.Fact{Name: "replaces", Value: "10.0.0.2"})
			case "known before":
				by = w.nodes[0]
				address(by, "10.0.0.2:7000")
				by.Restart(w.at)
			case "another account":
				by = w.add("other", "north", 9)
				address(by, "10.0.0.2:7000")
			case "another cluster":
				by = w.add("", "south", 9)
				address(by, "10.0.0.2:7000")
			}
			w.pass(10*time.Minute, nil)
			w.begin()
			w.pass(10*time.Minute, nil)
			if !replaced {
				if w.wantTold(0, said...); d.end(dead) != (roster.End{}) || w.ups(dead) != 1 {
					t.Errorf("it has left: %+v", d.end(dead))
				}
				return
			}
			w.wantTold(0, append(said, "Down 1 inactive")...)
			e := d.end(dead)
			if e.Why != roster.Replaced || e.By != by.ID.String() || e.Last != last ||
				e.At < begun ||
				e.At > begun+townInterval || w.ups(dead) != 0 || w.ups(by) != 1 {
				t.Errorf("it left as %+v, %d and %d series up", e, w.ups(dead), w.ups(by))
			}
			dead.dead = false // the old host id is back
			w.pass(time.Minute, nil)
			if d.end(dead) != (roster.End{}) || w.ups(dead) != 1 {
				t.Errorf("it is not back: %+v", d.end(dead))
			}
			by.dead = true // and has not left anybody's place
			w.pass(5*time.Minute, nil)
			w.wantTold(0, append(said, "Down 1 inactive", "Down 2 firing")...)
		})
	}
}

// TestMoved: all nodes of a cluster change its name, and the old cluster's copies end without a
// word, in whatever process each cluster is. A node of another account moves nobody.
func TestMoved(t *testing.T) {
	for _, processes := range []int{1, 2} {
		for _, account := range []string{"", "other"} {
			t.Run(fmt.Sprintf("%d processes, account %q", processes, account), func(t *testing.T) {
				w, d := newLeaving(t, 3)
				w.begin()
				other := w
				if processes == 2 {
					other = newTown(t, 0, leaveRules)
					other.set = w.set
					other.begin()
				}
				pass := func(of time.Duration) {
					for end := w.at + of.Milliseconds(); w.at < end; {
						w.pass(5*time.Second, nil)
						if other != w {
							other.pass(5*time.Second, nil)
						}
					}
				}
				pass(10 * time.Minute)
				old := slices.Clone(w.nodes)
				arrived := w.at
				for i, c := range old {
					c.dead = true
					n := other.add(account, "south", uint64(i+1))
					n.next = w.at + 30_000
					n.say("NORMAL")
				}
				pass(10 * time.Minute)
				w.begin()
				pass(10 * time.Minute)
				if account != "" {
					w.wantTold(0, "Down 0 firing", "Down 1 firing", "Down 2 firing")
					return
				}
				w.wantTold(0)
				for _, c := range old {
					e := d.end(c)
					if e.Why != roster.Moved || e.By != "south" || e.At != arrived+30_000 ||
						w.ups(c) != 0 {
						t.Errorf("it left as %+v, %d series up", e, w.ups(c))
					}
				}
				for i, c := range old { // and back
					other.nodes[len(other.nodes)-3+i].dead = true
					c.dead = false
					c.next = w.at + 30_000
					c.Restart(w.at)
				}
				pass(10 * time.Minute)
				w.wantTold(0)
				other.wantTold(0)
				for i, c := range old {
					south := other.nodes[len(other.nodes)-3+i]
					if d.end(c) != (roster.End{}) || d.end(south).By != "north" {
						t.Errorf("back as %+v, left as %+v", d.end(c), d.end(south))
					}
				}
			})
		}
	}
}

// TestCopiedNodeIsNoMove: a node whose id is in two clusters at once has moved to neither.
func TestCopiedNodeIsNoMove(t *testing.T) {
	w, d := newLeaving(t, 1)
	w.pass(5*time.Minute, nil)
	copied := w.add("", "south", 1)
	w.pass(5*time.Minute, nil)
	w.nodes[0].dead = true
	w.pass(10*time.Minute, nil)
	w.wantTold(0, "Down 0 1 firing") // one id
	if d.end(w.nodes[0]) != (roster.End{}) || d.end(copied) != (roster.End{}) {
		t.Errorf("%+v %+v", d.end(w.nodes[0]), d.end(copied))
	}
}

// TestForgotten: a node that a person forgot is no news any more, also after the role was killed;
// one that speaks is simply back.
func TestForgotten(t *testing.T) {
	w, d := newLeaving(t, 2)
	w.pass(10*time.Minute, nil)
	c := w.nodes[1]
	c.dead = true
	w.pass(10*time.Minute, nil)
	w.wantTold(0, "Down 1 firing")
	d.forget(w, c)
	w.pass(time.Minute, nil)
	w.wantTold(0, "Down 1 firing", "Down 1 inactive")
	for range 3 {
		w.pass(time.Hour, nil)
		w.begin()
	}
	w.pass(time.Minute, nil)
	w.wantTold(0, "Down 1 firing", "Down 1 inactive")
	if d.end(c).Why != roster.Forgotten || w.ups(c) != 0 {
		t.Errorf("it left as %+v, %d series up", d.end(c), w.ups(c))
	}
	c.dead = false
	w.pass(time.Minute, nil)
	if d.end(c) != (roster.End{}) || w.ups(c) != 1 {
		t.Errorf("it is not back: %+v", d.end(c))
	}
	d.forget(w, c) // though it is up
	w.pass(time.Minute, nil)
	if d.end(c) != (roster.End{}) || w.ups(c) != 1 {
		t.Errorf("it is not back: %+v", d.end(c))
	}
	w.wantTold(0, "Down 1 firing", "Down 1 inactive")
	c.dead = true
	w.pass(10*time.Minute, nil)
	if list := w.told(0); list[len(list)-1] != "Down 1 firing" || len(list) != 3 {
		t.Errorf("said %q", list)
	}
}

// TestRosterSurvives: what a role decided while Kafka was away is written down when that is back,
// and is struck out when nothing of the node can be asked any more.
func TestRosterSurvives(t *testing.T) {
	w, d := newLeaving(t, 2)
	w.pass(10*time.Minute, nil)
	c := w.nodes[1]
	d.away, w.broken = errAway, errAway
	c.say("DECOMMISSIONED")
	w.pass(2*time.Minute, nil)
	c.dead = true
	w.begin() // with what was written down before
	w.pass(2*time.Minute, nil)
	if d.end(c) != (roster.End{}) {
		t.Fatal("it was written down")
	}
	d.away, w.broken = nil, nil
	w.pass(10*time.Minute, nil)
	w.wantTold(0)
	if d.end(c).Why != roster.Decommissioned {
		t.Errorf("%+v", d.end(c))
	}
	w.at += (14*24*time.Hour - 30*time.Minute).Milliseconds()
	w.nodes[0].next = w.at
	w.pass(10*time.Minute, nil)
	if d.end(c).Why != roster.Decommissioned {
		t.Errorf("too early: %+v", d.end(c))
	}
	w.pass(40*time.Minute, nil)
	if d.end(c) != (roster.End{}) {
		t.Errorf("still %+v", d.end(c))
	}
	if _, known := d.readers[len(d.readers)-1].Get(querytest.Account, "north",
		w.nodes[0].ID); !known {
		t.Error("a node that is up was struck out")
	}
}

// watched adds a target that is read from outside, at an address.
func (w *town) watched(kind, cluster, job, instance, address string) (*citizen, *frametest.Target) {
	target := frametest.NewTarget(kind, cluster, job, instance)
	target.Interval = townInterval
	target.Identity.Facts[0].Value = address
	target.Pass(1)
	c := &citizen{Node: target.Node, next: w.at + 2500}
	w.nodes = append(w.nodes, c)
	return c, target
}

// TestOneAddressOfTargets: a target that is read from outside is its job and instance. Another one
// of its address is not in its place, whatever it runs, and it is missed.
func TestOneAddressOfTargets(t *testing.T) {
	for _, kind := range frame.Kinds {
		t.Run(kind, func(t *testing.T) {
			w, d := newLeaving(t, 1)
			first, _ := w.watched(kind, "north", "app", "a", "10.0.0.9:8080")
			w.pass(10*time.Minute, nil)
			first.dead = true
			w.pass(5*time.Minute, nil)
			said := w.told(0)
			second, _ := w.watched(kind, "north", "other", "b", "10.0.0.9:8080")
			agent := w.add("", "north", 9)
			agent.Identity.Facts[0].Value = "10.0.0.9:8080"
			w.pass(10*time.Minute, nil)
			if d.end(first) != (roster.End{}) || d.end(second) != (roster.End{}) {
				t.Errorf("they have left: %+v, %+v", d.end(first), d.end(second))
			}
			w.wantTold(0, said...)
		})
	}
}

// TestRemoved: a target of which the role watch says that it was taken out has left at once. Its
// late frames do not bring it back, and new ones do.
func TestRemoved(t *testing.T) {
	w, d := newLeaving(t, 1)
	c, target := w.watched(frame.KindOther, "north", "app", "a", "10.0.0.9:8080")
	w.pass(10*time.Minute, nil)
	facts := slices.Clone(target.Identity.Facts)
	target.Identity.Facts = append(slices.Clone(facts),
		frame.Fact{Name: frame.FactLeft, Value: frame.LeftRemoved})
	slices.SortFunc(target.Identity.Facts, func(a, b frame.Fact) int {
		return strings.Compare(a.Name, b.Name)
	})
	c.Restart(w.at) // the next frame has its identity
	w.pass(time.Minute, nil)
	c.dead = true
	at := d.end(c).At
	if d.end(c).Why != roster.Removed {
		t.Fatalf("it left as %+v", d.end(c))
	}
	w.pass(10*time.Minute, nil)
	w.begin()
	w.pass(10*time.Minute, nil)
	if d.end(c).At != at || w.ups(c) != 0 {
		t.Errorf("later it left as %+v, with %d series up", d.end(c), w.ups(c))
	}
	w.wantTold(0)
	target.Identity.Facts = facts
	c.dead = false
	c.Restart(w.at)
	w.pass(2*time.Minute, nil)
	if d.end(c) != (roster.End{}) || w.ups(c) != 1 {
		t.Errorf("it is not back: %+v, %d series up", d.end(c), w.ups(c))
	}
}

// pause makes a node's agent say that it is paused, from its next frame on.
func (c *citizen) pause(at int64) {
	c.paused = true
	c.Templates = []frame.Template{{Type: "agent_state", Metrics: []frame.Metric{
		{Name: "ringwatch_agent_state_info", Kind: frame.String}}}}
	c.Entities = [][]frametest.Entity{{{Cells: []frametest.Cell{{Text: "paused"}}}}}
	c.Identity.Facts = append(slices.Clone(c.Identity.Facts),
		frame.Fact{Name: frame.FactPaused, Value: "2026-11-28T08:15:00Z"})
	slices.SortFunc(c.Identity.Facts, func(a, b frame.Fact) int {
		return strings.Compare(a.Name, b.Name)
	})
	c.Restart(at)
}

// TestPaused: nobody is told of a node whose agent is paused, over a restart of the role as well,
// and what was told of its values is over. Once it falls silent it is down. A node that said that
// it has left, and is paused then, has left.
func TestPaused(t *testing.T) {
	w, d := newLeaving(t, 3)
	c, gone := w.nodes[0], w.nodes[1]
	c.load = 5
	w.pass(10*time.Minute, nil)
	w.wantTold(0, "Load 0 firing")
	c.pause(w.at)
	gone.say(roster.ModeLeft)
	w.pass(10*time.Minute, nil)
	gone.pause(w.at)
	w.pass(10*time.Minute, nil)
	w.begin()
	w.pass(20*time.Minute, nil)
	w.wantTold(0, "Load 0 firing", "Load 0 inactive")
	if w.ups(c) != 1 || w.ups(gone) != 0 || d.end(gone).Why != roster.Decommissioned {
		t.Errorf("%d and %d series up; it left as %+v", w.ups(c), w.ups(gone), d.end(gone))
	}
	c.dead = true
	w.pass(10*time.Minute, nil)
	w.wantTold(0, "Load 0 firing", "Load 0 inactive", "Down 0 firing")
}
