package silences

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/api/safe"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/fleet"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/notify"
)

// patience is for machines that do much else.
const patience = 5 * time.Minute

// Ids of the nodes of cluster shop: db-1 and so on.
var ids = []string{"11111111-aaaa-4000-8000-000000000001", "22222222-aaaa-4000-8000-000000000002",
	"33333333-aaaa-4000-8000-000000000003"}

// Keys: one that may silence, and one that may only look.
const (
	operatorKey = "rw_operator0000000000000000"
	readerKey   = "rw_reader00000000000000000"
)

// line is an API whose Alertmanager is a real one, with three nodes.
type line struct {
	*notify.Notifier
	url, key string
	began    time.Time // since when alerts fire

	mu     sync.Mutex
	nodes  []fleet.NodeInfo
	answer safe.Answer
	asked  []string // of safe
}

// mustLine opens an account's Alertmanager; config "" is the default.
func mustLine(t *testing.T, config string) *line {
	t.Helper()
	o := notify.DefaultOptions()
	o.Dir, o.Metrics, o.Log = t.TempDir(), prometheus.NewRegistry(), slog.New(slog.DiscardHandler)
	if config != "" {
		c, err := notify.Parse([]byte(config), "test.yml", t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		o.Configs.Shared = c
	}
	n, err := notify.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	l := &line{Notifier: n, began: time.Now(), key: operatorKey, answer: safe.Answer{Safe: true}}
	for i, id := range ids {
		name := fmt.Sprintf("db-%d", i+1)
		l.nodes = append(l.nodes, fleet.NodeInfo{ID: id, Cluster: "shop", Kind: "cassandra",
			Address: fmt.Sprintf("10.0.0.%d:7000", i+1), State: "up", AgeSeconds: new(float64),
			Facts: map[string]string{"hostname": name}})
	}
	h, err := n.Handler("acme")
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/alertmanager/", http.StripPrefix("/alertmanager", h))
	mux.HandleFunc("GET /alertmanager/ringwatch/silences",
		func(w http.ResponseWriter, r *http.Request) {
			list, more, err := n.Silenced("acme", l.began.Add(-time.Hour), time.Now(), mostSilences)
			if err != nil || r.FormValue("period") == "" {
				t.Errorf("%s: %v", r.URL.RawQuery, err)
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"silences": list, "more": more})
		})
	mux.HandleFunc("GET /v1/me", func(w http.ResponseWriter, r *http.Request) {
		scopes := []string{"read", "write", "rules"}
		if strings.Contains(r.Header.Get("Authorization"), readerKey) {
			scopes = []string{"read"}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"scopes": scopes})
	})
	mux.HandleFunc("GET /v1/nodes", l.getNodes)
	mux.HandleFunc("GET /v1/clusters/shop/safe", func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.asked = append(l.asked, r.URL.RawQuery)
		l.answer.Cluster, l.answer.At = "shop", time.Now().UTC()
		_ = json.NewEncoder(w).Encode(l.answer)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	l.url = s.URL
	return l
}

// getNodes answers as /v1/nodes does.
func (l *line) getNodes(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	cluster, name := r.FormValue("cluster"), r.FormValue("name")
	found := []fleet.NodeInfo{}
	for _, n := range l.nodes {
		if (cluster == "" || cluster == n.Cluster) && (name == "" ||
			strings.HasPrefix(n.ID, name) || n.Facts["hostname"] == name ||
			strings.HasPrefix(n.Address, name+":")) {
			found = append(found, n)
		}
	}
	if len(found) == 0 {
		thing, text := "node", name
		if cluster != "" && cluster != "shop" {
			thing, text = "cluster", cluster
		}
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"error":{"reason":"unknown_%s","message":"this key sees no %s %s: `+
			`did you mean something?"}}`, thing, thing, text)
		return
	}
	_ = json.NewEncoder(w).Encode(found)
}

// change changes what the fleet is like.
func (l *line) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

// fire lets alerts fire: name, node or "", severity.
func (l *line) fire(t *testing.T, alerts ...[3]string) {
	t.Helper()
	var list []notify.Alert
	for _, a := range alerts {
		list = append(list, notify.Alert{Account: "acme", Labels: labels.FromMap(map[string]string{
			"alertname": a[0], "cluster": "shop", "node": a[1], "severity": a[2]}),
			StartsAt: l.began})
	}
	if err := l.Put(t.Context(), list...); err != nil {
		t.Fatal(err)
	}
}

// end lets an alert end.
func (l *line) end(t *testing.T, name, node, severity string) {
	t.Helper()
	err := l.Put(t.Context(), notify.Alert{Account: "acme", EndsAt: time.Now(),
		StartsAt: l.began, Labels: labels.FromMap(map[string]string{
			"alertname": name, "cluster": "shop", "node": node, "severity": severity})})
	if err != nil {
		t.Fatal(err)
	}
}

// run runs a command as it is typed, and returns its exit code and what it writes. answer is what a
// person types on a terminal; "": there is none.
func (l *line) run(t *testing.T, answer string, args ...string) (code int, out, notes string) {
	t.Helper()
	var c struct {
		Silence     SilenceCmd     `cmd:""`
		Maintenance MaintenanceCmd `cmd:""`
	}
	k, err := kong.New(&c)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := k.Parse(append(args, "--api", l.url, "--key", l.key))
	if err != nil {
		return exit.Misused, "", err.Error()
	}
	var o, n bytes.Buffer
	ctx := t.Context()
	err = map[string]func() error{
		"silence add": func() error {
			return c.Silence.Add.RunTo(ctx, Talk{In: strings.NewReader(answer), Out: &o, Notes: &n,
				Answers: answer != ""})
		},
		"silence list":      func() error { return c.Silence.List.RunTo(ctx, &o) },
		"silence end":       func() error { return c.Silence.End.RunTo(ctx, &o) },
		"maintenance begin": func() error { return c.Maintenance.Begin.RunTo(ctx, &o, &n) },
		"maintenance end":   func() error { return c.Maintenance.End.RunTo(ctx, &o, &n) },
		"maintenance list":  func() error { return c.Maintenance.List.RunTo(ctx, &o) },
	}[strings.Join(strings.Fields(parsed.Command())[:2], " ")]()
	return codeOf(err), o.String(), n.String() + said(err)
}

func said(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// codeOf is the exit code, as main has it.
func codeOf(err error) int {
	refused, is := errors.AsType[client.RefusedError](err)
	switch {
	case err == nil:
		return 0
	case errors.As(err, new(exit.UsageError)), is && refused.Status == http.StatusBadRequest,
		is && strings.HasPrefix(refused.Reason, "unknown_"):
		return exit.Misused
	}
	return exit.Failed
}

// must runs a command that ends well.
func (l *line) must(t *testing.T, args ...string) (out, notes string) {
	t.Helper()
	code, out, notes := l.run(t, "", args...)
	if code != 0 {
		t.Fatalf("%q: exit %d: %s%s", args, code, out, notes)
	}
	return out, notes
}

// known are the silences that the Alertmanager has.
func (l *line) known(t *testing.T) []Silence {
	t.Helper()
	api, err := (&client.Flags{API: l.url, Key: l.key}).Client()
	if err != nil {
		t.Fatal(err)
	}
	list, err := AskSilences(context.Background(), api)
	if err != nil {
		t.Fatal(err)
	}
	return list
}
