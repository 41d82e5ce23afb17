package api_test

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/api/report"
	"github.com/ringwatch/ringwatch/query/limit"
)

// emptyReport is a report without findings; package main has the test of a full one.
func emptyReport(_ context.Context, p account.Principal, cluster string, from, to time.Time,
) (*report.Report, error) {
	return &report.Report{Account: p.Account, Cluster: cluster, From: from.UTC(), To: to.UTC(),
		Nodes: []report.Node{}, Breaches: []report.Breach{}, Disks: []report.Disk{},
		Tables: []report.Table{}, Balance: []report.Balance{}, Alerts: []report.Alert{},
		Woken: []report.Woken{}, Changes: []report.Change{}, Plots: []report.Plot{},
		Lacks: []string{}}, nil
}

// TestReport: the forms and their headers, the times a report is of, what is refused, and one
// report at a time for an account.
func TestReport(t *testing.T) {
	f := newFixture(t, inMemory, 2, 1, time.Minute)
	nodes := f.nodes
	var current atomic.Pointer[report.MakeFor]
	set := func(m report.MakeFor) { current.Store(&m) }
	set(emptyReport)
	base, _ := f.serve(func(c *api.Config, d *api.Deps) {
		c.MaxResponseBytes = 200 << 10
		d.Report = func(ctx context.Context, p account.Principal, cluster string,
			from, to time.Time,
		) (*report.Report, error) {
			return (*current.Load())(ctx, p, cluster, from, to)
		}
	})
	path := base + "/v1/clusters/" + nodes[0].Cluster + "/report"
	now := f.clock().UTC()
	for query, want := range map[string]struct{ kind, text string }{
		"":            {"application/json", `"cluster": "` + nodes[0].Cluster + `"`},
		"format=json": {"application/json", now.Add(-24 * time.Hour).Format("2006-01-02T15:04:05")},
		"day=2026-01-02": {"application/json",
			`"from": "2026-01-02T00:00:00Z"`},
		"format=text": {"text/plain; charset=utf-8", nodes[0].Cluster},
		"format=html": {"text/html; charset=utf-8", "</html>"},
	} {
		r, _ := f.fetch(path + "?" + query)
		if r.status != http.StatusOK || r.header.Get("Content-Type") != want.kind ||
			!strings.Contains(string(r.body), want.text) {
			t.Errorf("%s: %d %v %.300s", query, r.status, r.header, r.body)
		}
		policy := r.header.Get("Content-Security-Policy")
		if page := query == "format=html"; page != strings.HasPrefix(policy,
			"sandbox; default-src 'none'") {
			t.Errorf("%s: its policy is %q", query, policy)
		}
	}
	tomorrow := now.Add(24 * time.Hour).Format(time.DateOnly)
	for _, c := range []struct {
		path, query, reason string
		status              int
	}{
		{path, "format=pdf", "bad_format", http.StatusBadRequest},
		{path, "day=yesterday", "bad_day", http.StatusBadRequest},
		{path, "day=", "bad_day", http.StatusBadRequest},
		{path, "day=" + tomorrow, "bad_day", http.StatusBadRequest},
		{path, "day=2026-01-02&day=2026-01-03", "repeated_parameter", http.StatusBadRequest},
		{path, "days=3", "unknown_parameter", http.StatusBadRequest},
		{base + "/v1/clusters/nowhere/report", "", "unknown_cluster", http.StatusNotFound},
	} {
		if r, e := f.fetch(c.path + "?" + c.query); r.status != c.status || e.Reason != c.reason {
			t.Errorf("%s: %d %s", c.query, r.status, r.body)
		}
	}
	wants := func(what, reason string, status int) {
		t.Helper()
		if r, e := f.fetch(path); r.status != status || e.Reason != reason {
			t.Errorf("%s: %d %.300s", what, r.status, r.body)
		}
	}
	set(func(context.Context, account.Principal, string, time.Time, time.Time,
	) (*report.Report, error) {
		return nil, report.ErrNoNodes
	})
	wants("no nodes", "no_report", http.StatusNotFound)
	set(func(context.Context, account.Principal, string, time.Time, time.Time,
	) (*report.Report, error) {
		return nil, &limit.BusyError{}
	})
	wants("a busy engine", "too_many_requests", http.StatusTooManyRequests)
	set(func(ctx context.Context, p account.Principal, cluster string, from, to time.Time,
	) (*report.Report, error) {
		r, err := emptyReport(ctx, p, cluster, from, to)
		r.Lacks = []string{strings.Repeat("x", 300<<10)}
		return r, err
	})
	wants("too much of it", "too_large", http.StatusBadRequest)

	begun, goOn, done := make(chan struct{}, 2), make(chan struct{}), make(chan struct{})
	set(func(ctx context.Context, p account.Principal, cluster string, from, to time.Time,
	) (*report.Report, error) {
		begun <- struct{}{}
		select {
		case <-goOn:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		r, err := emptyReport(ctx, p, cluster, from, to)
		r.Lacks = []string{"what nodes say"}
		return r, err
	})
	go func() {
		r, _ := f.fetch(path)
		if r.status != http.StatusOK || r.header.Get(reply.PartialHeader) != "1" {
			t.Errorf("%d %v %s", r.status, r.header, r.body)
		}
		done <- struct{}{}
	}()
	<-begun
	r, e := f.fetch(path)
	if r.status != http.StatusTooManyRequests || e.Reason != "too_many_requests" ||
		r.header.Get("Retry-After") == "" {
		t.Errorf("a second report: %d %v %s", r.status, r.header, r.body)
	}
	goOn <- struct{}{}
	<-done
	set(emptyReport)
	if r, _ := f.fetch(path); r.status != http.StatusOK || !bytes.HasSuffix(r.body, []byte("}\n")) {
		t.Errorf("after it: %d %s", r.status, r.body)
	}
	if r := f.ask(acmeKey, "/v1/clusters/"+url.PathEscape(nodes[0].Cluster)+"/report",
		nil); r.status != http.StatusNotFound {
		t.Errorf("a server without reports: %d", r.status)
	}
}
