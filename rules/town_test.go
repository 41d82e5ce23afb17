package rules

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
)

// town is a few nodes whose every frame a test decides, and the role that follows them.
type town struct {
	*testing.T
	*line
	role  *Rules
	file  string
	nodes []*citizen
	at    int64 // ms; the present
	// held keeps the frames that are made instead of delivering them, while it is not nil.
	held *[]sent
}

// citizen is a node of a town.
type citizen struct {
	*frametest.Node
	account string
	load    float64
	dead    bool
	paused  bool
	next    int64 // ms
}

// townFrom is when a town begins: a window's beginning.
const townFrom = 1_790_000_100_000

// townInterval is how often its nodes send, in ms.
const townInterval = 20_000

func newTown(t *testing.T, nodes int, rules string) *town {
	t.Helper()
	return newTownOf(t, nodes, write(t, rules))
}

func newTownOf(t *testing.T, nodes int, file string) *town {
	t.Helper()
	w := &town{T: t, line: newLine(t), at: townFrom, file: file}
	for i := range nodes {
		w.add("", "north", uint64(i+1))
	}
	return w
}

func (w *town) add(account, cluster string, n uint64) *citizen {
	c := &citizen{Node: frametest.New(cluster, n, 1), account: account, load: 1,
		next: w.at + int64(n%4)*3000 + 1500}
	c.Interval = townInterval
	w.nodes = append(w.nodes, c)
	return c
}

// begin starts the role, or another one that knows what was written down and what is in the stream.
func (w *town) begin() {
	w.Helper()
	before := w.role
	w.role = w.line.role(w.file)
	if before != nil {
		w.line.again(before, w.role)
	}
}

// made returns the frames of all nodes that are due by an instant, in order of time.
func (w *town) made(by int64) (list []sent) {
	for _, c := range w.nodes {
		for ; c.next <= by; c.next += townInterval {
			if c.dead {
				continue
			}
			if cell := c.Entities[0][0].Cells; !c.paused {
				cell[1].Double = c.load
				cell[2].Int += 2000 // ms of CPU
			}
			list = append(list, sent{c.next, c.Cluster, c.Frame(c.next), c.account})
		}
	}
	slices.SortStableFunc(list, func(a, b sent) int { return int(a.at - b.at) })
	return list
}

// until lets time pass; check, if not nil, is called after each step of five seconds.
func (w *town) until(at int64, check func()) {
	w.Helper()
	if w.role == nil {
		w.begin()
	}
	for w.at < at {
		w.at += 5000
		list := w.made(w.at)
		if w.held != nil {
			*w.held, list = append(*w.held, list...), nil
		}
		w.deliver(w.role, w.at, list...)
		if check != nil {
			check()
		}
	}
}

// pass is until, from now on.
func (w *town) pass(d time.Duration, check func()) {
	w.Helper()
	w.until(w.at+d.Milliseconds(), check)
}

// told returns the changes of alerts that were said since from, an alert's in their order,
// without repetitions: name, node's number, state.
func (w *town) told(from int) (list []string) {
	last := map[string]string{}
	for i := range w.alerts {
		a := &w.alerts[i]
		key := a.Account + a.Labels.String()
		change := fmt.Sprintf("%s %s", a.State, a.ActiveAt)
		if last[key] == change {
			continue
		}
		last[key] = change
		if i < from {
			continue
		}
		text := a.Rule
		for n, c := range w.nodes {
			if of := (sent{account: c.account}); c.ID.String() == a.Labels.Get("node") &&
				of.of() == a.Account {
				text += fmt.Sprintf(" %d", n)
			}
		}
		list = append(list, text+" "+a.State.String())
	}
	return list
}

// wantTold compares what was said since from, in any order.
func (w *town) wantTold(from int, want ...string) {
	w.Helper()
	got := w.told(from)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.Errorf("said %q, want %q", got, want)
	}
}

// last returns the newest word of an alert about a node.
func (w *town) last(rule string, node int) *Alert {
	w.Helper()
	for i := len(w.alerts) - 1; i >= 0; i-- {
		a := &w.alerts[i]
		if a.Rule == rule && (node < 0 || a.Labels.Get("node") == w.nodes[node].ID.String()) {
			return a
		}
	}
	w.Fatalf("nothing was said of %s %d", rule, node)
	return nil
}

// isOf reports whether a frame is of a node.
func isOf(s *sent, c *citizen) bool {
	h, _, err := frame.Parse(s.bytes)
	return err == nil && h.Node == c.ID && s.account == c.account
}

func isKey(s sent) bool {
	h, _, err := frame.Parse(s.bytes)
	return err == nil && h.IsKey()
}

func counterOf(t *testing.T, c prometheus.Counter) float64 {
	t.Helper()
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}
