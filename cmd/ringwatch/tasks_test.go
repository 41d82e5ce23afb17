package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/activity"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
)

// serveActivity answers with a text, whatever is asked, and returns what was.
func serveActivity(t *testing.T, status int, answer string) *[]string {
	t.Helper()
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		w.WriteHeader(status)
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(server.Close)
	t.Setenv("RINGWATCH_API", server.URL)
	t.Setenv("RINGWATCH_KEY", testKey)
	return &asked
}

var activityNow = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

const tasksAnswer = `{"tasks":[
{"cluster":"prod","node":"n1","name":"10.0.0.1 (db-1)","task":"compaction","keyspace":"shop",
 "table":"orders","slot":"0","id":"c-1","done_bytes":1073741824,"size_bytes":4294967296,
 "ratio":0.25,"bytes_per_second":4194304,"started":"2026-11-20T07:56:00Z",
 "ends":"2026-11-20T08:12:14Z"},
{"cluster":"prod","node":"n2","name":"db-2\u001b[2J","task":"stream_repair","peer":"10.0.0.9",
 "direction":"in","slot":"0","ends":"2026-11-20T07:59:00Z"},
{"cluster":"prod\u202e","node":"n3","name":"n3","task":"odd","ratio":1}],
"left_out":7,"partial":["rates cannot be said\u001b[2J"]}`

// TestTasks: a table with bars and ends, what is left out, JSON, and errors.
func TestTasks(t *testing.T) {
	asked := serveActivity(t, http.StatusOK, tasksAnswer)
	var out bytes.Buffer
	c := activity.TasksCmd{Flags: flags(), PlaceFlags: activity.PlaceFlags{Cluster: "prod",
		Node: "db-1"}}
	if err := c.RunTo(t.Context(), &out, func() time.Time { return activityNow }); err != nil {
		t.Fatal(err)
	}
	want := `NODE             CLUSTER     TASK           OF             DONE                        BYTES         RATE    ENDS    ID
10.0.0.1 (db-1)  prod        compaction     shop.orders    █████░░░░░░░░░░░░░░░  25%   1GiB of 4GiB  4MiB/s  in 12m  c-1
db-2\u001b[2J    prod        stream_repair  from 10.0.0.9  ░░░░░░░░░░░░░░░░░░░░  -     - of -        -       now     -
n3               prod\u202e  odd            -              ████████████████████  100%  - of -        -       -       -
7 more tasks are left out: name a cluster or a node.
The list is not whole: rates cannot be said\u001b[2J
`
	if out.String() != want {
		t.Errorf("\n%s\nwant\n%s", out.String(), want)
	}
	if got := strings.Join(*asked, " "); got != "/v1/tasks?cluster=prod&node=db-1" {
		t.Error(got)
	}
	code, text, _ := say(t, "tasks", "--json")
	if code != 0 || !strings.Contains(text, `"left_out":7`) || strings.Contains(text, "\x1b") {
		t.Errorf("%d %q", code, text)
	}
	serveActivity(t, http.StatusOK, `{"tasks":[],"left_out":0}`)
	if code, text, errs := say(t, "tasks"); code != 0 || text != "Nothing runs.\n" || errs != "" {
		t.Errorf("%d %q %q", code, text, errs)
	}
	serveActivity(t, http.StatusNotFound, `{"error":{"reason":"r","message":"the API's reason"}}`)
	for _, command := range []string{"tasks", "clients", "repairs"} {
		if code, _, errs := say(t, command); code != 1 || errs != "ringwatch: the API's reason\n" {
			t.Errorf("%s: %d %q", command, code, errs)
		}
	}
	serveActivity(t, http.StatusOK, `[]`)
	for _, command := range []string{"tasks", "clients", "repairs"} {
		if code, _, errs := say(t, command); code != 1 || !strings.Contains(errs,
			"use a program of the API's version") {
			t.Errorf("%s: %d %q", command, code, errs)
		}
	}
}

const repairsAnswer = `{"tables":[
{"cluster":"prod","keyspace":"shop","table":"never\u001b[2J","gc_grace_seconds":864000},
{"cluster":"prod","keyspace":"shop","table":"partly","last_full":"2026-11-20T07:00:00Z"},
{"cluster":"prod","keyspace":"shop","table":"late","last_full":"2026-11-10T05:00:00Z",
 "due":"2026-11-20T05:00:00Z","repaired_ratio":0.5,"unrepaired_bytes":1048576},
{"cluster":"prod","keyspace":"shop","table":"fine","last_full":"2026-11-12T08:00:00Z",
 "last_incremental":"2026-11-20T07:59:20Z","due":"2026-11-22T08:00:00Z"}],
"sessions":[{"cluster":"prod","node":"n1","name":"db-1","keyspace":"shop","table":"a,b",
 "ratio":0.5,"started":"2026-11-20T07:55:00Z","id":"r-1"}],
"running":1,"failures":2,"left_out":3,"sessions_left_out":4}`

// TestRepairs: the worst first as the API has them, and what runs.
func TestRepairs(t *testing.T) {
	asked := serveActivity(t, http.StatusOK, repairsAnswer)
	var out bytes.Buffer
	c := activity.RepairsCmd{Flags: flags(), Cluster: "prod"}
	if err := c.RunTo(t.Context(), &out, activityNow); err != nil {
		t.Fatal(err)
	}
	want := `CLUSTER  TABLE                DUE                     FULL REPAIR  INCREMENTAL  REPAIRED  UNREPAIRED
prod     shop.never\u001b[2J  never repaired          never        never        -         -
prod     shop.partly          not all of it repaired  1h ago       never        -         -
prod     shop.late            overdue by 3h           10d ago      never        50%       1MiB
prod     shop.fine            due in 2d               8d ago       40s ago      -         -

RUNNING ON  CLUSTER  OF        DONE                       SINCE  ID
db-1        prod     shop.a,b  ██████████░░░░░░░░░░  50%  5m     r-1

1 repairs run. Within the last day 2 failed.
3 more tables are left out: name a cluster or a node.
4 more running repairs are left out: name a cluster.
`
	if out.String() != want {
		t.Errorf("\n%s\nwant\n%s", out.String(), want)
	}
	if got := strings.Join(*asked, " "); got != "/v1/repairs?cluster=prod" {
		t.Error(got)
	}
	out.Reset()
	serveActivity(t, http.StatusOK,
		`{"tables":[],"sessions":[],"running":0,"failures":0,"left_out":0,"sessions_left_out":0}`)
	c = activity.RepairsCmd{Flags: flags()}
	if err := c.RunTo(t.Context(), &out, activityNow); err != nil ||
		!strings.HasPrefix(out.String(), "No table is known that needs repairs") ||
		!strings.Contains(out.String(), "0 repairs run. Within the last day 0 failed.\n") {
		t.Errorf("%q %v", out.String(), err)
	}
}

const clientsAnswer = `{"clients":[
{"cluster":"prod","driver":"Java","driver_version":"4.9.0","protocol":"v4","username":"shop",
 "tls":false,"connections":12,"requests_per_second":1234.5,"nodes":3,
 "addresses":[{"node":"n1","name":"db-1","address":"10.0.0.7:51000"}]},
{"cluster":"prod","driver":"Java","driver_version":"4.17.0-rc1","protocol":"v5","username":"shop",
 "tls":true,"connections":3,"nodes":1,"addresses":[]},
{"cluster":"test","driver":"","driver_version":"","protocol":"v4","username":"u\u001b[2J",
 "tls":false,"connections":1,"requests_per_second":0,"nodes":1,"addresses":[]}],
"left_out":0,"addresses_left_out":true}`

// TestClients: drivers with those marked of which a newer version is connected.
func TestClients(t *testing.T) {
	serveActivity(t, http.StatusOK, clientsAnswer)
	var out bytes.Buffer
	c := activity.ClientsCmd{Flags: flags(), Addresses: true}
	if err := c.RunTo(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	want := `CLUSTER  DRIVER  VERSION     NEWER       PROTOCOL  USER        TLS  CONNECTIONS  REQ/S  NODES
prod     Java    4.9.0       4.17.0-rc1  v4        shop        no   12           1234   3
prod     Java    4.17.0-rc1  -           v5        shop        yes  3            -      1
test     -       -           -           v4        u\u001b[2J  no   1            0      1

ADDRESS         NODE  DRIVER      USER
10.0.0.7:51000  db-1  Java 4.9.0  shop
Not all addresses are there: name a cluster or a node.
`
	if out.String() != want {
		t.Errorf("\n%s\nwant\n%s", out.String(), want)
	}
	serveActivity(t, http.StatusOK, `{"clients":[],"left_out":0,"addresses_left_out":false}`)
	if code, text, _ := say(t, "clients", "--cluster", "x"); code != 0 ||
		text != "Nobody is connected.\n" {
		t.Errorf("%d %q", code, text)
	}
	for _, versions := range [][2]string{{"4.10", "4.9"}, {"4.0.1", "4"}, {"v1.6.0", "1.5.9"},
		{"3", ""}, {"3.29.2", "junk"}, {"5", "4.99.99"}} {
		if activity.CompareVersions(versions[0], versions[1]) != 1 ||
			activity.CompareVersions(versions[1], versions[0]) != -1 {
			t.Error(versions)
		}
	}
	if activity.CompareVersions("4.1-rc1", "4.1.0") != 0 || activity.CompareVersions("",
		"x") != 0 ||
		activity.CompareVersions("99999999999999999999", "0") != 0 {
		t.Error("versions that are the same differ")
	}
	if err := (&activity.ClientsCmd{Flags: client.Flags{API: "http://127.0.0.1:1",
		Key: testKey}}).RunTo(
		context.Background(), &out); err == nil {
		t.Error("no error")
	}
}
