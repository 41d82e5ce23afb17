package rules

import (
	"slices"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/query/read"
)

// townRules fire at once, later, of silence, of what is missing and of a difference over time.
const townRules = `
groups:
- name: town
  rules:
  - {alert: Load, expr: node_load1 > 3}
  - {alert: Slow, expr: node_load1 > 2 < 4, for: 5m}
  - {alert: Down, expr: up == 0}
  - {alert: Few, expr: count by (cluster) (up == 1) < 3, for: 20s}
  - {alert: Idle, expr: 'rate(node_cpu_seconds_total[1m]) < 0.05'}
  - {record: "node:busy:rate1m", expr: 'rate(node_cpu_seconds_total[1m])'}
`

// outage takes the pipeline before Kafka away and brings it back.
type outage struct {
	*town
	since, known time.Time
	away         bool
	breaks       []read.Span // when nobody heard; the last one lasts
	held         []sent
}

func newOutage(t *testing.T, nodes int) *outage {
	t.Helper()
	return newOutageOf(t, nodes, write(t, townRules))
}

func newOutageOf(t *testing.T, nodes int, file string) *outage {
	t.Helper()
	o := &outage{town: newTownOf(t, nodes, file)}
	o.since = time.UnixMilli(townFrom - time.Hour.Milliseconds())
	o.line.pulse = func() (since, until time.Time) {
		if !o.away {
			o.known = time.UnixMilli(o.at + 5000)
		}
		return o.since, o.known
	}
	o.breaks = []read.Span{{To: o.since.UnixMilli()}, {}}
	o.line.away = func() []read.Span {
		if !o.away {
			o.breaks[len(o.breaks)-1].From = o.at
		}
		return o.breaks
	}
	return o
}

func (o *outage) begins() { o.away, o.town.held = true, &o.held }

// ends brings the pipeline back. As agents do it, the newest frames that the nodes made are
// delivered at once, in order, with the key frame that they need, then so many of the others at
// each step.
func (o *outage) ends(newest, aStep int) {
	o.Helper()
	o.away, o.town.held = false, nil
	o.since = time.UnixMilli(o.at)
	o.breaks[len(o.breaks)-1].To = o.at
	o.breaks = append(o.breaks, read.Span{})
	list := o.held
	o.held = nil
	var first []sent
	for _, c := range o.nodes {
		var own []sent
		list = slices.DeleteFunc(list, func(s sent) bool {
			if s.cluster != c.Cluster || !isOf(&s, c) {
				return false
			}
			own = append(own, s)
			return true
		})
		n := max(0, len(own)-newest)
		if key := slices.IndexFunc(own[n:], isKey); key != 0 {
			for i := n - 1; i >= 0; i-- {
				if isKey(own[i]) {
					first = append(first, own[i])
					break
				}
			}
		}
		first, list = append(first, own[n:]...), append(list, own[:n]...)
	}
	slices.SortStableFunc(list, func(a, b sent) int { return int(a.at - b.at) })
	o.deliver(o.role, o.at, first...)
	for len(list) > 0 && aStep > 0 {
		n := min(aStep, len(list))
		o.at += 5000
		o.deliver(o.role, o.at, append(slices.Clone(list[:n]), o.made(o.at)...)...)
		list = list[n:]
	}
}

// TestOutage takes the pipeline away for ten minutes. No node is down for that and nothing that
// fires is resolved; what was due in the time fires late, once.
func TestOutage(t *testing.T) {
	for _, c := range []struct {
		name  string
		spool bool // the agents kept what they made
		kill  bool // the role, within the outage and after it
	}{{"spooled", true, false}, {"lost", false, false}, {"killed", true, true}} {
		t.Run(c.name, func(t *testing.T) {
			o := newOutage(t, 3)
			o.nodes[0].load = 5
			o.pass(9*time.Minute, nil)
			o.nodes[1].load = 2.5
			o.pass(time.Minute, nil)
			o.wantTold(0, "Load 0 firing")
			before := len(o.alerts)

			o.begins()
			o.pass(10*time.Minute, func() {
				if c.kill && o.at%120_000 == 0 {
					o.begin()
				}
				// It is said again in time, so that nobody takes it for resolved.
				if a := o.last("Load", 0); a.ValidUntil.UnixMilli() <= o.at {
					t.Fatalf("Load is valid until %s only, and it is %s", a.ValidUntil, o.now)
				}
			})
			o.wantTold(before)
			within := len(o.alerts)
			if c.spool {
				o.ends(8, 30)
			} else {
				o.ends(1, 0)
			}
			if c.kill {
				o.begin()
			}
			o.pass(5*time.Minute, func() {
				if c.kill && o.at%60_000 == 0 {
					o.begin()
				}
			})
			o.wantTold(within, "Slow 1 firing")
			if a := o.last("Slow", 1); c.spool && (a.FiredAt.Sub(a.ActiveAt) != 5*time.Minute ||
				a.FiredAt.UnixMilli() > o.since.UnixMilli()) {
				t.Errorf("it fired at %s, active since %s", a.FiredAt, a.ActiveAt)
			}
			if said := len(o.alerts) - within; said > 60 {
				t.Errorf("%d notifications: that is a storm", said)
			}

			// A node that stays silent is down, and what is over is over.
			after := len(o.alerts)
			o.nodes[2].dead, o.nodes[0].load = true, 1
			o.pass(3*time.Minute, nil)
			o.wantTold(after, "Down 2 firing", "Few firing", "Load 0 inactive")
		})
	}
}

// TestOutageChangesNothing compares a line whose frames came after an outage with one that had
// none.
func TestOutageChangesNothing(t *testing.T) {
	var got [2]*line
	file := write(t, townRules) // groups are evaluated at instants that their file's name decides
	for i := range got {
		o := newOutageOf(t, 3, file)
		got[i] = o.line
		o.nodes[0].load = 5
		o.pass(8*time.Minute, nil)
		if i == 1 {
			o.begins()
		}
		for range 4 {
			o.nodes[1].load = 7 - o.nodes[1].load // 1 and 6
			o.pass(3*time.Minute, nil)
		}
		if i == 1 {
			o.ends(8, 50)
		}
		o.until(townFrom+30*60_000, nil)
	}
	sameLine(t, got[1], got[0])
}

// TestOutageOfOneThatWasDown: a node that was down before the outage is down after it, without a
// word in between; so is one that the role knows only from its state.
func TestOutageOfOneThatWasDown(t *testing.T) {
	for _, kill := range []bool{false, true} {
		o := newOutage(t, 4)
		o.pass(6*time.Minute, nil)
		o.nodes[3].dead = true
		o.pass(4*time.Minute, nil)
		o.wantTold(0, "Down 3 firing")
		fired := o.last("Down", 3).FiredAt
		o.begins()
		o.pass(10*time.Minute, nil)
		if kill {
			o.begin()
		}
		o.ends(8, 30)
		if kill {
			o.begin()
		}
		o.pass(5*time.Minute, nil)
		o.wantTold(0, "Down 3 firing")
		if a := o.last("Down", 3); !a.FiredAt.Equal(fired) {
			t.Errorf("it fired at %s, and again at %s", fired, a.FiredAt)
		}
	}
}

// TestOutageCutsSilenceShort: a node that is silent for less than it may be when the pipeline goes
// away is not down at an instant that is evaluated after the pipeline's last sign.
func TestOutageCutsSilenceShort(t *testing.T) {
	o := newOutageOf(t, 3,
		write(t, "groups: [{name: town, rules: [{alert: Down, expr: up == 0}]}]"))
	o.pass(10*time.Minute, nil)
	// The instant of an evaluation some minutes ahead, and the pipeline's last sign before it.
	next := o.cluster("", "north").groups[0].next + 15_000*20
	sign := next - next%5000
	silent := o.nodes[2]
	o.until(next-6*townInterval-30_000, nil)
	silent.next = next - 6*townInterval - 1 // at next it is silent for 1 ms too long
	o.until(sign-100_000, nil)
	silent.dead = true
	o.until(sign, nil)
	o.wantTold(0)
	o.begins()
	o.pass(time.Minute, nil)
	if g := o.cluster("", "north").groups[0]; g.evaluated != next {
		t.Fatalf("it was evaluated at %d and not at %d", g.evaluated, next)
	}
	o.wantTold(0)
	silent.dead, silent.next = false, o.at+1000
	o.pass(9*time.Minute, nil)
	o.ends(1, 0)
	o.pass(5*time.Minute, nil)
	o.wantTold(0)
}

// TestLostPartition: while nobody knows who has a partition, because Kafka is away, its alerts are
// said again, and the others are not. Who has it afterwards speaks of them.
func TestLostPartition(t *testing.T) {
	for _, ours := range []bool{true, false} {
		w := newTown(t, 3, townRules)
		w.nodes[0].load = 5
		w.pass(10*time.Minute, nil)
		w.wantTold(0, "Load 0 firing")
		fired := w.last("Load", 0).FiredAt
		w.role.Lose(0)
		if len(w.role.partitions)+len(w.role.assigned) > 0 {
			t.Error("the partition is not given up")
		}
		tick := func(d time.Duration) (said int) {
			t.Helper()
			before := len(w.alerts)
			for until := w.at + d.Milliseconds(); w.at < until; {
				w.at += 5000
				w.now = time.UnixMilli(w.at)
				if err := w.role.Tick(t.Context(), w.now); err != nil {
					t.Fatal(err)
				}
				if a := w.last("Load", 0); a.ValidUntil.Before(w.now) {
					t.Fatalf("it is taken for resolved at %s", w.now)
				}
			}
			return len(w.alerts) - before
		}
		if n := tick(time.Hour); n < 10 {
			t.Errorf("it was said %d times in an hour", n)
		}
		w.wantTold(0, "Load 0 firing")
		if a := w.last("Load", 0); !a.FiredAt.Equal(fired) {
			t.Errorf("it fired at %s, not %s", a.FiredAt, fired)
		}
		if ours {
			w.role.Assign(0)
		}
		w.role.Joined()
		before := len(w.alerts)
		if ours {
			w.pass(5*time.Minute, nil)
			w.wantTold(0, "Load 0 firing")
		} else if tick(time.Minute); len(w.alerts) > before {
			t.Error("another one's alert is said")
		}
		if len(w.role.lost) > 0 {
			t.Errorf("%v is still lost", w.role.lost)
		}
	}
}

// TestOutageOfAnHour: the backlog of an hour is longer than the key frames that are kept of a node.
// What comes now is read all the same.
func TestOutageOfAnHour(t *testing.T) {
	o := newOutage(t, 3)
	o.nodes[0].load = 5
	o.pass(10*time.Minute, nil)
	o.begins()
	o.pass(time.Hour, nil)
	o.ends(8, 12)
	o.pass(8*time.Minute, nil)
	o.wantTold(0, "Load 0 firing")
	if n := counterOf(t, o.role.metrics.unread); n > 0 {
		t.Errorf("%v frames could not be read", n)
	}
}
