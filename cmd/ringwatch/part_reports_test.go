package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/report"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/topic"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/catalog"
	"github.com/ringwatch/ringwatch/query/querytest"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/roster"
	"github.com/ringwatch/ringwatch/query/selector"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window"
)

// reportFleet is a fleet of four nodes in memory that said something for 28 hours, and what asks
// it.
func reportFleet(t *testing.T, from time.Time,
	clockOf func() time.Time) (*read.Reader, *query.Engine,
	*catalog.Catalog) {
	t.Helper()
	engines.Needed(t, "minutes, for a day of a fleet")
	f := querytest.NewFleet(querytest.FleetConfig{Seed: 3, From: from.UnixMilli(),
		Span: 28 * time.Hour, Interval: 5 * time.Minute, Nodes: 4, Tables: 1, Calm: true})
	store := querytest.NewMemory(t, f.Frames)
	reader, err := read.New(read.Config{RecentSpan: time.Minute, NodesTTL: time.Hour,
		Timeout: time.Minute, Clock: clockOf},
		read.Sources{Store: store, LastSeen: store.LastSeen, Rollups: store.Rollups})
	if err != nil {
		t.Fatal(err)
	}
	p, err := selector.New(selector.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	c := query.DefaultConfig()
	c.Clock = clockOf
	engine, err := query.NewEngine(c, reader, store.Index(), p, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	shipped, err := catalog.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	return reader, engine, shipped
}

// TestDailyReport lets a day pass: the next morning each cluster that was asked for has its
// report in the directory, at the webhook and in the topic, and the day after again.
func TestDailyReport(t *testing.T) {
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	now := day.Add(22 * time.Hour)
	clockOf := func() time.Time { return now }
	reader, engine, shipped := reportFleet(t, now, clockOf)
	var posted []report.Report
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var one report.Report
		if err := json.NewDecoder(r.Body).Decode(&one); err != nil {
			t.Error(err)
		}
		posted = append(posted, one)
	}))
	defer hook.Close()
	var entries []stream.Entry
	dir := filepath.Join(t.TempDir(), "reports")
	r := wire.Reporter{
		Config: &settings.ReportConfig{At: "00:30", Clusters: []string{"*-1"}, Directory: dir,
			Webhook: hook.URL, Topic: "reports"},
		ReportSource: wire.ReportSource{Engine: engine, Roster: reader.Roster(),
			Catalog: func(string) *catalog.Catalog { return shipped }},
		Accounts: []string{querytest.Account}, Log: slog.New(slog.DiscardHandler),
		Nodes: func(ctx context.Context, who account.Principal) ([]window.Node, error) {
			return reader.Nodes(ctx, who, time.Minute)
		},
		Publish: func(_ context.Context, e stream.Entry) error {
			entries = append(entries, e)
			return nil
		}}
	schedules, err := r.Schedules()
	if err != nil || len(schedules) != 1 {
		t.Fatal(len(schedules), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := schedules[0]
	s.Failed = func(cluster string, err error) { t.Error(cluster, err) }
	s.Now = clockOf
	s.Sleep = func(ctx context.Context, d time.Duration) bool {
		if now = now.Add(d); now.After(day.Add(49 * time.Hour)) {
			cancel()
		}
		return ctx.Err() == nil
	}
	if err := s.Run(ctx); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(filepath.Join(dir, querytest.Account))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	var want []string
	for _, day := range []string{"2026-11-20", "2026-11-21"} {
		for _, extension := range []string{"html", "json", "txt"} {
			want = append(want, "fleet-1-"+day+"."+extension)
		}
	}
	if !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
	if len(posted) != 2 || len(entries) != 2 {
		t.Fatalf("%d are posted, %d published", len(posted), len(entries))
	}
	for i, e := range entries {
		var one report.Report
		if err := json.Unmarshal(e.Value, &one); err != nil {
			t.Fatal(err)
		}
		if e.Account != querytest.Account || e.Cluster != "fleet-1" ||
			e.Key != []string{"2026-11-20", "2026-11-21"}[i] ||
			one.Account != e.Account || len(one.Nodes) != 2 || one.Queries < 100 ||
			len(one.Lacks) > 0 {
			t.Errorf("%s %s %s: %d nodes, %d queries, lacks %q", e.Account, e.Cluster, e.Key,
				len(one.Nodes), one.Queries, one.Lacks)
		}
		if posted[i].Account != e.Account || posted[i].Cluster != e.Cluster ||
			!posted[i].From.Equal(one.From) {
			t.Errorf("%+v is posted", posted[i])
		}
	}
}

// TestReportOverHTTP: the API makes the report that the schedule makes, of what the key may see.
func TestReportOverHTTP(t *testing.T) {
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	clockOf := func() time.Time { return day.Add(49 * time.Hour) }
	reader, engine, shipped := reportFleet(t, day.Add(22*time.Hour), clockOf)
	advice, err := new(settings.Config).Advice()
	if err != nil {
		t.Fatal(err)
	}
	c := api.DefaultConfig()
	c.Listen, c.Clock = "127.0.0.1:0", clockOf
	who := account.Inside(querytest.Account, "fleet-1")
	source := wire.ReportSource{Engine: engine, Roster: reader.Roster(), Advice: advice,
		Catalog: func(string) *catalog.Catalog { return shipped }}
	server, err := api.New(c, api.Deps{
		Admit:  func(*http.Request) (account.Principal, error) { return who, nil },
		Reader: reader, Engine: engine, Log: slog.New(slog.DiscardHandler),
		Metrics: prometheus.NewRegistry(),
		Report:  source.Make,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- server.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	get := func(path string) (int, []byte) {
		t.Helper()
		r, err := http.Get("http://" + server.Addr() + "/v1/clusters/" + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, body
	}
	want, err := source.Make(t.Context(), who, "fleet-1", day.Add(24*time.Hour),
		day.Add(48*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if len(want.Nodes) != 2 || want.Queries < 100 || len(want.Lacks) > 0 {
		t.Fatalf("%d nodes, %d queries, lacks %q", len(want.Nodes), want.Queries, want.Lacks)
	}
	for format, write := range map[string]func(io.Writer) error{
		"json": want.WriteJSON, "text": want.WriteText, "html": want.WriteHTML,
	} {
		var text bytes.Buffer
		if err := write(&text); err != nil {
			t.Fatal(err)
		}
		status, body := get("fleet-1/report?day=2026-11-21&format=" + format)
		if status != http.StatusOK || !bytes.Equal(body, text.Bytes()) {
			t.Errorf("%s: %d, %d bytes where there are %d", format, status, len(body), text.Len())
		}
	}
	// Who is not there any more is not counted.
	gone := roster.Record{Account: querytest.Account, Cluster: "fleet-1", Stamp: 1,
		Node: uuid.MustParse(want.Nodes[0].ID), End: &roster.End{Why: roster.Replaced,
			At: day.Add(30 * time.Hour).UnixMilli(), By: want.Nodes[1].ID}}
	reader.Roster().Take(gone)
	var counted report.Report
	if _, body := get("fleet-1/report?day=2026-11-21"); json.Unmarshal(body, &counted) != nil ||
		len(counted.Nodes) != 1 || counted.Nodes[0].ID != want.Nodes[1].ID ||
		!slices.ContainsFunc(counted.Changes, func(c report.Change) bool {
			return c.Kind == "replaced" && c.At.Equal(day.Add(30*time.Hour))
		}) {
		t.Errorf("%+v %+v", counted.Nodes, counted.Changes)
	}
	if status, body := get("fleet-1/report"); status != http.StatusOK ||
		!bytes.Contains(body, []byte(`"from": "2026-11-21T01:00:00Z"`)) {
		t.Errorf("the last 24 hours: %d %.200s", status, body)
	}
	for path, text := range map[string]string{
		"fleet-1/report?day=2026-10-01": "no_report", "fleet-0/report": "unknown_cluster",
	} {
		if status, body := get(path); status != http.StatusNotFound ||
			!bytes.Contains(body, []byte(text)) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// TestReportSection: what is wrong with the section is said with the remedy.
func TestReportSection(t *testing.T) {
	for text, want := range map[string]string{
		"report: {}":                        "",
		"report: {directory: /tmp/x}":       "at is missing",
		"report: {at: \"25:00\", topic: x}": "not a time of day",
		"report: {at: \"01:30\"}": "nothing takes " +
			"the reports",
		"report: {at: \"01:30\", webhook: x}": "the webhook's " +
			"address",
		"report: {at: \"01:30\", topic: \"a b\"}":                           `topic "a b"`,
		"report: {at: \"01:30\", topic: x, accounts: [nobody]}":             `no account "nobody"`,
		"report: {at: \"01:30\", topic: x, accounts: [me], clusters: [p*]}": "",
	} {
		c := settings.Default()
		c.Accounts = []account.Account{{Name: "me"}}
		if _, err := settings.Decode([]byte(text), &c); err != nil {
			t.Fatal(text, err)
		}
		err := c.ValidateReport()
		if want == "" && err != nil ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// testReports publishes reports of two days as the role api does, one of them as large as they
// may be, and one a second time. Who reads the topic then has the newest of each.
func (l *rulesLine) testReports(t *testing.T) {
	c := settings.Default()
	c.Kafka.Brokers, c.Kafka.Partitions = []string{l.kafka.Addr()}, 4
	c.Report.Topic = "ringwatch.reports"
	p := &wire.Process{Config: &c, Topics: topic.New(&c, "api", prometheus.NewRegistry(),
		slog.New(slog.DiscardHandler))}
	log, err := p.Topics.Log(t.Context(), c.ReportsLog())
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	r := wire.Reporter{Config: &c.Report, Publish: p.PublishReport}
	large := make([]string, 0, 1000)
	text := rand.NewChaCha8([32]byte{1})
	for range cap(large) { // what does not compress
		var b [6000]byte
		_, _ = text.Read(b[:])
		large = append(large, hex.EncodeToString(b[:]))
	}
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for _, of := range []report.Report{
		{From: day, Lacks: large}, {From: day.AddDate(0, 0, 1), Queries: 1},
		{From: day.AddDate(0, 0, 1), Queries: 2},
	} {
		of.Account, of.Cluster = "acme", "north"
		if err := r.InTopic(t.Context(), &of); err != nil {
			t.Fatal(err)
		}
	}
	entries, _, err := l.log(c.ReportsLog()).Last(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]report.Report{}
	for _, e := range entries {
		var of report.Report
		if err := json.Unmarshal(e.Value, &of); err != nil || e.Account != "acme" ||
			e.Cluster != "north" {
			t.Fatalf("%s %s: %v", e.Account, e.Cluster, err)
		}
		got[e.Key] = of
	}
	if len(entries) != 2 || !slices.Equal(got["2026-11-20"].Lacks, large) ||
		got["2026-11-21"].Queries != 2 {
		t.Errorf("%d entries, %d, and %d queries", len(entries), len(got["2026-11-20"].Lacks),
			got["2026-11-21"].Queries)
	}
}
