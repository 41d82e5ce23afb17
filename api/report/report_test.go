package report_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ringwatch/ringwatch/api/report"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/query/catalog"
	"github.com/ringwatch/ringwatch/query/querytest"
)

func mustCatalog(t testing.TB) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func near(got report.Number, want float64) bool {
	return math.Abs(float64(got)-want) <= 0.05*math.Abs(want)
}

// TestKnownFaults: of a made-up fleet the report finds just what is bad.
func TestKnownFaults(t *testing.T) {
	f := newFleet(t)
	began := time.Now()
	last := 0
	r, err := report.Make(t.Context(), f, report.Config{Cluster: cluster, From: day,
		To: day.Add(24 * time.Hour), Catalog: mustCatalog(t), Progress: func(n, of int) {
			if n != last || of <= n {
				t.Errorf("%d of %d after %d", n, of, last)
			}
			last++
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d queries in %s", r.Queries, time.Since(began))
	if len(r.Lacks) > 0 || r.Queries > 150 {
		t.Errorf("%d queries, lacking %q", r.Queries, r.Lacks)
	}
	var worst []string
	for _, n := range r.Nodes {
		worst = append(worst, strings.TrimPrefix(n.Address, "10.0.0."))
		if !n.Up || n.Version != "5.0.9" || (n.Breached > 0) != (n.BreachedSeconds > 0) {
			t.Errorf("%+v", n)
		}
	}
	if strings.Join(worst, " ") != "5 2 3 6 1 4" {
		t.Errorf("the worst first are %q", worst)
	}
	breach := func(entry, of string, seconds, worst float64) {
		t.Helper()
		i := slices.IndexFunc(r.Breaches, func(b report.Breach) bool {
			return b.Entry == entry && (b.Address == of || b.Table == of)
		})
		if i < 0 {
			t.Errorf("%s of %s is no breach", entry, of)
		} else if b := r.Breaches[i]; !near(report.Number(b.Seconds), seconds) ||
			!near(b.Worst, worst) {
			t.Errorf("%+v", b)
		}
	}
	breach("n::compactions", "10.0.0.3", 7200, 250)
	breach("n::clientRequestRead", "10.0.0.2", 3600, 3e6)
	breach("n::diskUtilization", "10.0.0.5", 12*3600, 80)
	breach(
		"n::nodeStatus",
		"10.0.0.6",
		3000,
		0,
	) // down is who missed six frames
	breach(
		"cf::{keyspace}::{table}::readLatency",
		"slow",
		86400,
		2.34e6,
	) // a bucket is a fifth wide
	breach("cf::{keyspace}::{table}::tombstonesPerRead", "graves", 86400, 4970)
	breach("cf::{keyspace}::{table}::partitionSize", "large", 86400, float64(gib))
	for _, b := range r.Breaches {
		if b.Address == "10.0.0.1" || b.Address == "10.0.0.4" || b.Table == "busy" {
			t.Errorf("%s of %s%s is healthy", b.Entry, b.Address, b.Table)
		}
	}

	d := r.Disks[0]
	if d.Address != "10.0.0.5" || !near(d.Growth, 100*float64(gib)) || !near(d.Full, 2) ||
		!near(d.Used, 80) || r.Disks[1].Full.Known() {
		t.Errorf("%+v", r.Disks)
	}
	for name, of := range map[string]func(*report.Table) float64{
		"busy":   func(t *report.Table) float64 { return float64(t.Reads) },
		"slow":   func(t *report.Table) float64 { return float64(t.ReadP99) },
		"graves": func(t *report.Table) float64 { return float64(t.Tombs) },
		"large":  func(t *report.Table) float64 { return float64(t.Partition) },
	} {
		if top := r.Top(1, of); len(top) != 1 || top[0].Table != name {
			t.Errorf("%+v is no %s", top, name)
		}
	}
	if i := slices.IndexFunc(r.Tables, func(t report.Table) bool {
		return t.Table == "busy"
	}); i < 0 ||
		!near(r.Tables[i].Reads, 600) {
		t.Errorf("%+v", r.Tables)
	}
	// Over the nine hours of the day that it was there for.
	if i := slices.IndexFunc(r.Tables, func(t report.Table) bool {
		return t.Table == "young"
	}); i < 0 ||
		!near(r.Tables[i].Reads, 6) {
		t.Errorf("%+v", r.Tables)
	}
	b := r.Balance[0]
	if b.Entry != "n::load" || !b.Uneven || b.Most != "10.0.0.1" ||
		!near(b.MostHas, 250*float64(gib)) {
		t.Errorf("%+v", r.Balance)
	}
	if !r.AlertsRecorded || len(r.Alerts) != 2 || r.Alerts[0].Name != "PendingCompactions" ||
		r.Alerts[0].Node != "10.0.0.3" || !near(report.Number(r.Alerts[0].Seconds), 3600) ||
		r.Alerts[1].Name != "NodeRestarted" || r.Alerts[1].Seconds != 240 ||
		r.Alerts[1].First.Format("15:04") != "12:01" {
		t.Errorf("%+v", r.Alerts)
	}
	var changes []string
	for _, c := range r.Changes {
		changes = append(changes, c.At.Format("15:04 ")+c.Kind+" "+c.Node)
	}
	want := []string{"12:00 restart 10.0.0.4", "12:00 version 10.0.0.4", "15:00 schema ",
		"15:00 table_created ", "20:10 down 10.0.0.6", "21:00 up 10.0.0.6"}
	if !slices.Equal(changes, want) {
		t.Errorf("%q, want %q", changes, want)
	}
	if len(r.Plots) < 5 || len(r.Plots[0].At) != 288 {
		t.Errorf("%d plots", len(r.Plots))
	}
	testText(t, r)
	testJSON(t, r)
	testHTML(t, r)
}

func testText(t *testing.T, r *report.Report) {
	var b bytes.Buffer
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 100 {
			t.Errorf("%d characters: %s", n, line)
		}
	}
	for _, part := range []string{"Cluster prod, Friday, 20 November 2026 (UTC)",
		"nodes up: 6 of 6", "n::compactions", "2 h", "shop.graves", "2 days", "PendingCompactions",
		"Cassandra was started on 10.0.0.4."} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("no %q in\n%s", part, b.String())
		}
	}
	t.Log("\n" + b.String())
}

func testJSON(t *testing.T, r *report.Report) {
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var back map[string]any
	if err := json.Unmarshal(b.Bytes(), &back); err != nil ||
		len(back["breaches"].([]any)) != len(r.Breaches) {
		t.Errorf("%v", err)
	}
}

func testHTML(t *testing.T, r *report.Report) {
	var b bytes.Buffer
	if err := r.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	if path := os.Getenv("RINGWATCH_REPORT_HTML"); path != "" { // to look at it
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	page := b.String()
	// Nothing is fetched or run, and the template's escaping has refused nothing.
	if found := regexp.MustCompile(
		`(?i)<(script|link|img|iframe)|\s(src|href|on[a-z]+)=|url\(|@import|ZgotmplZ`).
		FindString(page); found != "" {
		t.Errorf("the page has %q", found)
	}
	if plots := strings.Count(page, "<figure>"); plots != len(r.Plots) {
		t.Errorf("%d plots, want %d", plots, len(r.Plots))
	}
}

// TestHostileNames: what nodes call themselves stays text.
func TestHostileNames(t *testing.T) {
	hostile := "</td><script>alert(1)</script>\x1b[2J\u202e"
	r := &report.Report{Cluster: hostile, From: day, To: day.Add(time.Hour),
		Nodes: []report.Node{{ID: hostile, Address: hostile, Rack: hostile}},
		Plots: []report.Plot{
			{Title: "t", TopNode: hostile, At: []int64{1}, Least: []report.Number{1},
				Median: []report.Number{1}, Most: []report.Number{1}, Top: []report.Number{1}},
		},
		Lacks: []string{hostile}}
	var page, text bytes.Buffer
	if err := errors.Join(r.WriteHTML(&page), r.WriteText(&text)); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(page.String(), "<script") ||
		strings.ContainsAny(text.String(), "\x1b\u202e") {
		t.Error("a name is more than text")
	}
}

func TestNoNodes(t *testing.T) {
	f := newFleet(t)
	c := report.Config{Cluster: "other", From: day, To: day.Add(time.Hour), Catalog: mustCatalog(t)}
	if _, err := report.Make(t.Context(), f, c); !errors.Is(err, report.ErrNoNodes) {
		t.Error(err)
	}
	c.To = c.From
	if _, err := report.Make(t.Context(), f, c); err == nil {
		t.Error("a report of no time")
	}
}

// TestOtherSoftware: of a cluster that has no Cassandra the report says what is known, and nothing
// of tables.
func TestOtherSoftware(t *testing.T) {
	frames := querytest.Frames{}
	f := &fleet{who: querytest.Principal(t, querytest.Account)}
	for _, instance := range []string{"k1:9092", "k2:9092"} {
		n := frametest.NewTarget(frame.KindKafka, "stream", "kafka", instance)
		n.Interval = interval.Milliseconds()
		for at := day; !at.After(day.Add(24 * time.Hour)); at = at.Add(interval) {
			up := int64(1)
			if instance == "k2:9092" && !at.Before(day.Add(15*time.Hour)) &&
				at.Before(day.Add(16*time.Hour)) {
				up = 0
			}
			n.Pass(up)
			frames[n.ID] = append(frames[n.ID], n.Frame(at.UnixMilli()))
		}
	}
	f.serve(t, frames)
	r, err := report.Make(t.Context(), f, report.Config{Cluster: "stream", From: day,
		To: day.Add(24 * time.Hour), Catalog: mustCatalog(t)})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Lacks) > 0 || len(r.Nodes) != 2 || r.Nodes[0].Address != "k2:9092" ||
		r.Nodes[0].Kind != frame.KindKafka || r.Nodes[0].Version != "4.1.0" || !r.Nodes[0].Up {
		t.Errorf("%+v lacks %q", r.Nodes, r.Lacks)
	}
	var text, page bytes.Buffer
	if err := errors.Join(r.WriteText(&text), r.WriteHTML(&page), r.WriteJSON(&page)); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"nodes up: 2 of 2", "n::nodeStatus",
		"k2:9092 did not answer.", "k2:9092 answered again."} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("no %q", part)
		}
	}
	for _, part := range []string{"able", "NaN", "Cassandra", "reads", "silent", "disk"} {
		if strings.Contains(text.String(), part) {
			t.Errorf("%q in a report of Kafka", part)
		}
	}
	t.Log(text.String())
}

// TestPaused: a node whose agent is paused at the end is not among those that are up, and not said
// to be silent; when it was paused is what changed.
func TestPaused(t *testing.T) {
	frames := querytest.Frames{}
	f := &fleet{who: querytest.Principal(t, querytest.Account)}
	for i := range uint64(2) {
		n := frametest.New("shop", i+1, 1)
		n.Interval = interval.Milliseconds()
		state := frame.Template{Type: "agent_state", Metrics: []frame.Metric{
			{Name: "ringwatch_agent_state_info", Kind: frame.String}}}
		cells := []frametest.Entity{{Cells: []frametest.Cell{{Text: "sending"}}}}
		n.Templates = append(n.Templates, state)
		n.Entities = append(n.Entities, cells)
		for at := day; !at.After(day.Add(24 * time.Hour)); at = at.Add(interval) {
			if i == 1 && at.Equal(day.Add(15*time.Hour)) {
				cells[0].Cells[0].Text = "paused"
				n.Templates, n.Entities = []frame.Template{state}, [][]frametest.Entity{cells}
				n.Restart(at.UnixMilli())
			}
			frames[n.ID] = append(frames[n.ID], n.Frame(at.UnixMilli()))
		}
	}
	f.serve(t, frames)
	r, err := report.Make(t.Context(), f, report.Config{Cluster: "shop", From: day,
		To: day.Add(24 * time.Hour), Catalog: mustCatalog(t)})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"nodes up: 1 of 2", "nodes paused: 1",
		"The agent of 10.0.0.2 is paused."} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("no %q in %s", part, &text)
		}
	}
	if strings.Contains(text.String(), "silent") {
		t.Error(text.String())
	}
}

// firing has one node, an alert that fires and one that has ended.
type firing struct{}

// Query implements report.Source.
func (firing) Query(context.Context, string, time.Time) ([]report.Series, error) { return nil, nil }

// QueryRange implements report.Source.
func (firing) QueryRange(_ context.Context, promql string, from, to time.Time,
	_ time.Duration) ([]report.Series, error) {
	at := func(t time.Time) []report.Point { return []report.Point{{At: t.UnixMilli(), Value: 1}} }
	switch {
	case strings.HasPrefix(promql, "up{"):
		return []report.Series{{Labels: map[string]string{"node": "n1"}, Points: at(to)}}, nil
	case strings.HasPrefix(promql, "sum by (cluster) (increase(cassandra_client_request_"):
		// none failed at first, and some at the end
		return []report.Series{{Points: []report.Point{{At: from.UnixMilli(), Value: 0},
			{At: from.Add(report.Step).UnixMilli(), Value: 0},
			{At: to.UnixMilli(), Value: 3}}}}, nil
	case strings.HasPrefix(promql, "ts_of_first_over_time(ALERTS{"):
		alert := func(name string) map[string]string {
			return map[string]string{"alertname": name, "alertstate": "firing", "node": "n1"}
		}
		return []report.Series{{Labels: alert("Ended"), Points: at(from)},
			{Labels: alert("Fires"), Points: at(to)}}, nil
	}
	return nil, nil
}

// TestAdvice: what numbers suggest is asked of alerts that still fire, and stands below them.
func TestAdvice(t *testing.T) {
	r, err := report.Make(t.Context(), firing{}, report.Config{Cluster: cluster, From: day,
		To: day.Add(24 * time.Hour), Catalog: mustCatalog(t), Advise: func(_ context.Context,
			alerts []map[string]string, at time.Time, name func(string) string) []report.Advised {
			if len(alerts) != 1 || alerts[0]["alertname"] != "Fires" ||
				alerts[0]["alertstate"] != "" || !at.Equal(day.Add(24*time.Hour)) {
				t.Errorf("%v at %s", alerts, at)
			}
			return []report.Advised{{Alert: alerts[0], Text: name("n1") + " is <b>hot</b>."}}
		}})
	if err != nil {
		t.Fatal(err)
	}
	var text, page strings.Builder
	if err := errors.Join(r.WriteText(&text), r.WriteHTML(&page)); err != nil {
		t.Fatal(err)
	}
	if want := "Fires of n1: n1 is <b>hot</b>."; !strings.Contains(text.String(), want) ||
		strings.Contains(page.String(), "<b>hot") ||
		!strings.Contains(page.String(), "n1 is &lt;b") {
		t.Errorf("%s\n%s", text.String(), page.String())
	}
}

// TestWoken: messages are counted by alert, at night too; without them nothing is said.
func TestWoken(t *testing.T) {
	c := report.Config{Cluster: cluster, From: day, To: day.Add(24 * time.Hour),
		Catalog: mustCatalog(t), Zone: time.FixedZone("EST", -5*3600)}
	made := func() (*report.Report, string) {
		r, err := report.Make(t.Context(), firing{}, c)
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := r.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		return r, text.String()
	}
	if r, text := made(); r.ToldKnown || strings.Contains(text, "WHOM ALERTS WOKE") {
		t.Error("nobody knows what people were told: ", text)
	}
	var fails error
	c.Told = func(_ context.Context, from, to time.Time) ([]report.Told, bool, error) {
		if !from.Equal(c.From) || !to.Equal(c.To) {
			t.Errorf("asked from %s to %s", from, to)
		}
		at := func(clock string, failed bool, alerts ...string) report.Told {
			when, err := time.ParseInLocation(time.TimeOnly, clock, c.Zone)
			if err != nil {
				t.Fatal(err)
			}
			return report.Told{At: when, Alerts: alerts, Failed: failed}
		}
		return []report.Told{at("21:59:59", false, "Fires"), at("22:00:00", false, "Fires"),
			at("06:59:59", false, "Fires", "Other"), at("03:00:00", true, "Fires")}, true, fails
	}
	r, text := made()
	want := []report.Woken{{Alert: "Fires", Fired: 1, Told: 3, Night: 2, Failed: 1},
		{Alert: "Other", Told: 1, Night: 1}, {Alert: "Ended", Fired: 1, Brief: 1, Unhurt: 1}}
	if !slices.Equal(r.Woken, want) || !strings.Contains(text, "from 22:00 to 7:00 EST") {
		t.Errorf("%+v\n%s", r.Woken, text)
	}
	fails = errors.New("the disk is gone")
	if r, text := made(); r.ToldKnown || !strings.Contains(text, "the disk is gone") {
		t.Error(text)
	}
}
