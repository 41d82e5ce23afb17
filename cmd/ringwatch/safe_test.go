package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/api/safe"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/fleet"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
)

// safeScript is what an API of the test's answers, and what it was asked.
type safeScript struct {
	mu      sync.Mutex
	answers []any // safe.Answer or a status; the last one again and again
	asked   []string
}

// serveSafe answers one after the other.
func serveSafe(t *testing.T, answers ...any) *safeScript {
	t.Helper()
	s := &safeScript{answers: answers}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked = append(s.asked, r.URL.String())
		next := s.answers[0]
		if len(s.answers) > 1 {
			s.answers = s.answers[1:]
		}
		if status, is := next.(int); is {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(`{"error":{"reason":"r","message":"the API's reason"}}`))
			return
		}
		_ = json.NewEncoder(w).Encode(next)
	}))
	t.Cleanup(server.Close)
	t.Setenv("RINGWATCH_API", server.URL)
	t.Setenv("RINGWATCH_KEY", testKey)
	return s
}

var (
	askedAt = time.Date(2026, 11, 20, 8, 0, 0, 250e6, time.UTC)
	safeYes = safe.Answer{Cluster: "prod", For: safe.Restart, Node: "n2",
		NodeName: "10.0.0.2 (db-2)",
		At:       askedAt, Safe: true, Reasons: []safe.Reason{},
		NotChecked: []string{"Replication."},
		Conditions: []safe.Result{{Name: "up", State: safe.Holds, Description: "Up."}}}
	safeNo = safe.Answer{Cluster: "prod", For: safe.Restart, Node: "n2",
		NodeName: "10.0.0.2 (db-2)",
		At:       askedAt.Add(time.Second), Reasons: []safe.Reason{
			{Condition: "up", Known: true, Text: "db-3\x1b[2J is down."},
			{Condition: "hints", Text: "No node says so."}},
		Conditions: []safe.Result{{Name: "up", State: safe.Broken, Description: "Up."}},
		NotChecked: []string{}}
)

// TestSafe: exit codes, texts and JSON.
func TestSafe(t *testing.T) {
	args := []string{"safe", "--cluster", "prod", "--node", "db-2", "--for", "restart"}
	s := serveSafe(t, safeYes)
	code, out, errs := say(t, args...)
	if code != 0 || errs != "" || out != "Yes, it is safe to restart 10.0.0.2 (db-2) of cluster "+
		"prod. 1 conditions hold. Not checked:\n- Replication.\n" {
		t.Errorf("%d %q %q", code, out, errs)
	}
	if want := "/v1/clusters/prod/safe?for=restart&node=db-2"; s.asked[0] != want ||
		len(s.asked) != 1 {
		t.Errorf("asked %q", s.asked)
	}
	serveSafe(t, safeNo)
	if code, out, errs = say(t, args...); code != 1 || errs != "ringwatch: it is not safe\n" ||
		out != "No, it is not safe to restart 10.0.0.2 (db-2) of cluster prod:\n"+
			`- db-3\u001b[2J is down. (up)`+"\n- No node says so. (hints, not known)\n" {
		t.Errorf("%d %q %q", code, out, errs)
	}
	var a safe.Answer
	code, out, errs = say(t, append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &a); err != nil || code != 1 || a.Safe ||
		a.Reasons[0] != safeNo.Reasons[0] {
		t.Errorf("%d %q %q %v", code, out, errs, err)
	}
	for status, want := range map[int]int{http.StatusBadRequest: exit.Misused,
		http.StatusNotFound: exit.Misused, http.StatusUnauthorized: 1, http.StatusForbidden: 1} {
		serveSafe(t, status)
		code, out, errs := say(t, append(args, "--wait", "1m")...)
		if code != want || out != "" || errs != "ringwatch: the API's reason\n" {
			t.Errorf("%d: %d %q %q", status, code, out, errs)
		}
	}
	for _, status := range []int{http.StatusServiceUnavailable, http.StatusTooManyRequests} {
		serveSafe(t, status)
		code, out, errs := say(t, append(args, "--json")...)
		if err := json.Unmarshal([]byte(out), &a); err != nil || code != 1 || a.Safe ||
			len(a.Reasons) != 1 || a.Reasons[0].Known || a.Reasons[0].Text != "the API's reason" {
			t.Errorf("%d: %d %q %q", status, code, out, errs)
		}
	}
	t.Setenv("RINGWATCH_API", "http://127.0.0.1:1")
	if code, out, _ = say(t, args...); code != 1 || !strings.Contains(out, "cannot be reached") {
		t.Errorf("%d %q", code, out)
	}
	for _, wrong := range [][]string{{"safe"}, {"safe", "--cluster", "prod"},
		{"safe", "--cluster", "prod", "--for", "reboot"}, {"safe", "--for", "restart"},
		append(args, "--wait", "soon"), append(args, "--wait=-1m")} {
		if code, out, _ := say(t, wrong...); code != exit.Misused || out != "" {
			t.Errorf("%q: %d %q", wrong, code, out)
		}
	}
}

// TestSafeWhichever: without a node the answer says which could be taken, and why not the others.
func TestSafeWhichever(t *testing.T) {
	why := []safe.Reason{{Condition: "up", Known: true, Text: "db-3 is down."}}
	answer := safe.Answer{Cluster: "prod", For: safe.Restart, At: askedAt, Reasons: why,
		Conditions: []safe.Result{}, NotChecked: []string{}, Nodes: []safe.Choice{
			{Node: "n3", Name: "db-3", Safe: true}, {Node: "n1", Name: "db-1", Reasons: why},
			{Node: "n2", Name: "db-2", Reasons: why}}}
	args := []string{"safe", "--cluster", "prod", "--for", "restart"}
	serveSafe(t, answer)
	if code, out, _ := say(t, args...); code != 1 || out != "No, it is not safe to restart any "+
		"node of cluster prod:\n- db-3 is down. (up)\nOnly one of these could be taken now, best "+
		"in this order:\n1. db-3\nThe others could not:\n- db-1, db-2: db-3 is down. (up)\n" {
		t.Errorf("%d %q", code, out)
	}
	answer.Nodes = answer.Nodes[1:]
	serveSafe(t, answer)
	if code, out, _ := say(t, args...); code != 1 ||
		!strings.HasSuffix(out, "(up)\nNo node could be taken now.\n") {
		t.Errorf("%d %q", code, out)
	}
	answer.Safe, answer.Reasons = true, nil
	for i := range answer.Nodes {
		answer.Nodes[i].Safe = true
	}
	serveSafe(t, answer)
	if code, out, _ := say(t, args...); code != 0 || !strings.HasPrefix(out, "Yes, it is safe to "+
		"restart any node of cluster prod. ") || !strings.HasSuffix(out,
		"One at a time, best in this order:\n1. db-1\n2. db-2\n") {
		t.Errorf("%d %q", code, out)
	}
}

// TestSafeWaits: it asks until yes counts, or the time is over, and says what it waits for.
func TestSafeWaits(t *testing.T) {
	old := fleet.SafeEvery
	fleet.SafeEvery = time.Millisecond
	t.Cleanup(func() { fleet.SafeEvery = old })
	wait := func(ctx context.Context, wait time.Duration) (string, string, error) {
		var out, errs bytes.Buffer
		c := fleet.SafeCmd{Flags: flags(), Cluster: "prod", Node: "db-2", For: "restart",
			Wait: wait, JSON: true}
		err := c.RunTo(ctx, &out, &errs)
		return out.String(), errs.String(), err
	}
	isOne := func(out string, safely bool) {
		t.Helper()
		var a safe.Answer
		if err := json.Unmarshal([]byte(out), &a); err != nil || a.Safe != safely {
			t.Errorf("%q: %v", out, err)
		}
	}

	// The first yes may be about the time before the step.
	s := serveSafe(t, http.StatusServiceUnavailable, safeYes, safeNo, safeNo,
		http.StatusTooManyRequests, safeYes)
	out, errs, err := wait(t.Context(), time.Minute)
	if err != nil {
		t.Error(err)
	}
	isOne(out, true)
	want := []string{"the API's reason", "each node is to say so once more",
		`db-3\u001b[2J is down. And 1 more.`, "the API's reason"}
	lines := strings.Split(strings.TrimSuffix(errs, "\n"), "\n")
	for i, line := range lines {
		if len(lines) != len(want) || !strings.HasPrefix(line, "waiting, ") ||
			!strings.HasSuffix(line, want[i]) {
			t.Fatalf("%q", lines)
		}
	}
	for i, url := range s.asked {
		since := strings.Contains(url, "since=2026-11-20T08%3A00%3A00.25Z")
		if len(s.asked) != 6 || since != (i > 1) {
			t.Errorf("%q", s.asked)
		}
	}

	serveSafe(t, safeNo)
	out, _, err = wait(t.Context(), 20*time.Millisecond)
	if err == nil || err.Error() != "it is not safe" {
		t.Error(err)
	}
	isOne(out, false)

	// An interrupted wait is no yes.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if out, _, err = wait(ctx, time.Minute); !errors.Is(err, fleet.ErrInterrupted) || out != "" ||
		errors.Is(err, context.Canceled) {
		t.Errorf("%v %q", err, out)
	}
}

// TestAccountsConditions: an account's own file is its alone, and a wrong one is said.
func TestAccountsConditions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "acme.yaml")
	c := settings.Default()
	if _, err := settings.Decode([]byte("accounts: [{name: acme, safe: "+path+"}, {name: other}]"),
		&c); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Conditions(); c.ValidateConditions() != nil || err == nil {
		t.Errorf("a file that is not there: %v", err)
	}
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("fresh: 2m")
	list, err := c.Conditions()
	if err != nil || list.For("acme").Fresh != 2*time.Minute ||
		list.For("other").Fresh != 30*time.Second {
		t.Errorf("%v %v", list, err)
	}
	write("conditions: [{name: up, for: [reboot]}]")
	if err := c.ValidateConditions(); err == nil ||
		!strings.Contains(err.Error(), "account acme: "+path+": condition up: for: \"reboot\"") {
		t.Error(err)
	}
}
