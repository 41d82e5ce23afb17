package report_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/api/report"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/query/querytest"
)

// The end of the young clusters' reports lies between steps, as that of the last 24 hours does.
var evening = day.Add(23*time.Hour + 47*time.Minute + 13*time.Second)

// young is a node that began late, each of its tables with ten reads a second since some time.
type young struct {
	number int
	every  time.Duration
	from   time.Time
	until  time.Time            // evening if zero
	paused time.Time            // from then on it says nothing of itself, if not zero
	tables map[string]time.Time // since when
}

// frames are what the node said. Its process is older: its counters do not begin at 0.
func (y *young) frames(into querytest.Frames) string {
	l := &living{frametest.New(cluster, uint64(y.number), 0), y.number}
	l.Interval = y.every.Milliseconds()
	l.Templates = templates()
	l.Bounds[1].Upper = []int64{0, 1, 10, 1000, 5000}
	l.Entities = make([][]frametest.Entity, len(l.Templates))
	seconds := int64(y.every / time.Second)
	request := &l.entity(ofRequest, "Read").Cells[0]
	l.observe(request, 0, 2000, 1e6)
	had := 0
	if y.until.IsZero() {
		y.until = evening
	}
	for at := y.from; !at.After(y.until); at = at.Add(y.every) {
		if paused := !y.paused.IsZero() && !at.Before(y.paused); paused {
			l.Entities = make([][]frametest.Entity, len(l.Templates))
			if had >= 0 {
				l.Restart(at.UnixMilli())
			}
			had = -1
			into[l.ID] = append(into[l.ID], l.Frame(at.UnixMilli()))
			continue
		}
		node := l.entity(ofNode)
		node.Cells[1].Int = day.Add(-time.Hour).UnixMilli()
		node.Cells[2].Text, node.Cells[3].Text = "5.0.9", "a"
		l.observe(request, 0, 2000, 20*seconds)
		for name, since := range y.tables {
			if at.Before(since) {
				continue
			}
			e := l.entity(ofTable, "shop", name)
			l.observe(&e.Cells[0], 0, 900, 10*seconds)
			l.observe(&e.Cells[2], 1, 4000, 10*seconds)
			e.Cells[4].Int = 1
		}
		if has := len(l.Entities[ofTable]); has != had {
			l.Restart(at.UnixMilli()) // a key frame says which entities there are
			had = has
		}
		into[l.ID] = append(into[l.ID], l.Frame(at.UnixMilli()))
	}
	return l.ID.String()
}

// eveningOf is the report of the 24 hours before the evening.
func eveningOf(t *testing.T, left func(ids []string) []report.Left,
	nodes ...young) (r *report.Report, text, page string) {
	t.Helper()
	frames := querytest.Frames{}
	f := &fleet{who: querytest.Principal(t, querytest.Account)}
	var ids []string
	for i := range nodes {
		ids = append(ids, nodes[i].frames(frames))
	}
	f.serve(t, frames)
	c := report.Config{Cluster: cluster, From: evening.Add(-24 * time.Hour), To: evening,
		Catalog: mustCatalog(t)}
	if left != nil {
		c.Left = left(ids)
	}
	r, err := report.Make(t.Context(), f, c)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Lacks) > 0 {
		t.Errorf("lacks %q", r.Lacks)
	}
	var a, b bytes.Buffer
	if err := r.WriteText(&a); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + a.String())
	return r, a.String(), b.String()
}

// TestYoungCluster: rates of a cluster of 45 minutes are over these, those of a younger table and
// node over theirs, and nothing begins before it was heard of.
func TestYoungCluster(t *testing.T) {
	begun, later := evening.Add(-45*time.Minute), evening.Add(-9*time.Minute)
	r, text, page := eveningOf(t, nil,
		young{number: 1, every: 10 * time.Second, from: begun,
			tables: map[string]time.Time{"old": begun, "new": later}},
		young{number: 2, every: 10 * time.Second, from: evening.Add(-17 * time.Minute)})
	for name, since := range map[string]time.Time{"old": begun, "new": later} {
		i := slices.IndexFunc(r.Tables, func(t report.Table) bool { return t.Table == name })
		if i < 0 || !near(r.Tables[i].Reads, 10) {
			t.Errorf("%s: %+v", name, r.Tables)
		}
		i = slices.IndexFunc(r.Breaches, func(b report.Breach) bool {
			return b.Table == name && strings.HasSuffix(b.Entry, "tombstonesPerRead")
		})
		if i < 0 || r.Breaches[i].First.Before(since) ||
			r.Breaches[i].First.After(since.Add(time.Minute)) ||
			r.Breaches[i].Seconds > evening.Sub(since).Seconds() {
			t.Errorf("%s since %s: %+v", name, since, r.Breaches)
		}
	}
	i := slices.IndexFunc(r.Balance, func(b report.Balance) bool { return b.Entry == "n::reads" })
	if i < 0 || r.Balance[i].Uneven || !near(r.Balance[i].MostHas, 20) ||
		!near(r.Balance[i].LeastHas, 20) {
		t.Errorf("%+v", r.Balance)
	}
	// 20/s for 45 minutes and another 20/s for 17 of them.
	i = slices.IndexFunc(r.Plots, func(p report.Plot) bool { return p.Entry == "n::reads" })
	if i < 0 || !near(r.Plots[i].Sum, 20+20*17/45.) {
		t.Errorf("%+v", r.Plots)
	}
	var changes []string
	for _, c := range r.Changes {
		changes = append(changes, c.At.Format("15:04 ")+c.Kind)
	}
	if want := []string{"23:02 joined", "23:30 joined",
		"23:38 table_created"}; !slices.Equal(changes,
		want) {
		t.Errorf("%q, want %q", changes, want)
	}
	for name, of := range map[string]string{"text": text, "HTML": page} {
		for _, part := range []string{"heard of since 23:02", "shop.new", "23:38"} {
			if !strings.Contains(of, part) {
				t.Errorf("the %s has no %q", name, part)
			}
		}
		if strings.Contains(of, "22:5") {
			t.Errorf("the %s has something from before the cluster", name)
		}
	}
}

// TestYoungTable: in a cluster that was there all day, a rate of a table of some minutes is over
// these.
func TestYoungTable(t *testing.T) {
	later := evening.Add(-11 * time.Minute)
	r, _, _ := eveningOf(t, nil, young{number: 1, every: 30 * time.Second,
		from: day.Add(-time.Hour),
		tables: map[string]time.Time{"old": day.Add(-time.Hour), "new": later,
			"noon": noon.Add(17 * time.Minute)}})
	for _, of := range r.Tables {
		if !near(of.Reads, 10) {
			t.Errorf("%+v", of)
		}
	}
	if len(r.Tables) != 3 {
		t.Errorf("%+v", r.Tables)
	}
}

// TestPausedAgent: while an agent is paused nobody hears of its node and its tables.
func TestPausedAgent(t *testing.T) {
	begun, paused := evening.Add(-2*time.Hour), evening.Add(-time.Hour)
	r, _, _ := eveningOf(t, nil,
		young{number: 1, every: 10 * time.Second, from: begun, paused: paused,
			tables: map[string]time.Time{"old": begun}},
		young{number: 2, every: 10 * time.Second, from: begun})
	if len(r.Tables) != 1 || !near(r.Tables[0].Reads, 10) {
		t.Errorf("%+v", r.Tables)
	}
	i := slices.IndexFunc(r.Balance, func(b report.Balance) bool { return b.Entry == "n::reads" })
	if b := r.Balance[max(i, 0)]; i < 0 || b.Uneven || b.NodeCount != 2 ||
		float64(b.LeastHas) < 18 || float64(b.MostHas) > 22 {
		t.Errorf("%+v", r.Balance)
	}
}

// TestReplacedNode: a node that was replaced under its address is not counted, is neither the worst
// nor silent, and nothing is compared with it. What changed says who is in its place.
func TestReplacedNode(t *testing.T) {
	begun, replaced := evening.Add(-5*time.Hour), evening.Add(-time.Hour)
	r, text, page := eveningOf(t, func(ids []string) []report.Left {
		return []report.Left{
			{Node: ids[1], Address: "10.0.0.2", At: replaced, Why: "replaced", By: ids[2]},
			{Node: "moved", Address: "10.0.0.9", At: replaced, Why: "moved", By: "other"},
			{Node: ids[0], At: evening.Add(time.Minute), Why: "forgotten"}, // not yet
		}
	},
		young{number: 1, every: 30 * time.Second, from: begun,
			tables: map[string]time.Time{"old": begun}},
		young{number: 2, every: 30 * time.Second, from: begun,
			until: replaced.Add(-10 * time.Minute)},
		young{number: 3, every: 30 * time.Second, from: replaced})
	if len(r.Nodes) != 2 || !r.Nodes[0].Up || !r.Nodes[1].Up {
		t.Errorf("%+v", r.Nodes)
	}
	for _, b := range r.Balance {
		if b.NodeCount != 2 || strings.Contains(b.Most+b.Least, "10.0.0.2") ||
			b.Entry == "n::reads" && (!near(b.MostHas, 20) || !near(b.LeastHas, 20)) {
			t.Errorf("%+v", b)
		}
	}
	for _, p := range r.Plots {
		if strings.Contains(p.TopNode, "10.0.0.2") {
			t.Errorf("%s has the most of %s", p.TopNode, p.Entry)
		}
	}
	var changes []string
	for _, c := range r.Changes {
		changes = append(changes, c.At.Format("15:04 ")+c.Text)
	}
	for _, want := range []string{"22:47 10.0.0.2 was replaced by 10.0.0.3.",
		"22:47 10.0.0.9 moved to cluster other."} {
		if !slices.Contains(changes, want) {
			t.Errorf("%q has no %q", changes, want)
		}
	}
	for name, of := range map[string]string{"text": text, "HTML": page} {
		if strings.Contains(of, "silent</td>") || !strings.Contains(of, "10.0.0.2 (replaced)") ||
			!strings.Contains(of, "2 of 2") {
			t.Errorf("the %s counts who was replaced", name)
		}
	}
}
