package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/rulefiles"
	"github.com/ringwatch/ringwatch/frame/frametest"
)

// otherAccount owns a hostile node, watchedAccount what is read from outside, doingAccount nodes
// with much to do, emptyAccount nothing.
const (
	otherAccount   = "console-other"
	watchedAccount = "console-watched"
	doingAccount   = "console-doing"
	emptyAccount   = "console-empty"
)

// testConsole drives the console in a real browser, against the whole line with its monitored
// Cassandra under a small load: console/test has the tests.
func (w *whole) testConsole(t *testing.T) {
	nodes, err := w.Nodes(t.Context())
	if err != nil || len(nodes) != 1 {
		t.Fatalf("%d nodes, %v", len(nodes), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var working sync.WaitGroup
	defer working.Wait()
	defer cancel()
	working.Go(func() {
		if err := w.keepBusy(ctx); err != nil {
			t.Error(err)
		}
	})
	s := &stage{whole: w, t: t, ctx: ctx}
	server := httptest.NewServer(s)
	defer server.Close()
	browse(ctx, t, "BASE="+w.API, "KEY="+w.Key, "OTHER_KEY="+w.Keys[otherAccount],
		"EMPTY_KEY="+w.Keys[emptyAccount], "WATCHED_KEY="+w.Keys[watchedAccount],
		"DOING_KEY="+w.Keys[doingAccount], "CLUSTER="+nodes[0].Cluster, "NODE="+w.node,
		"STAGE="+server.URL)
}

// browse runs tests of the console in a real browser; console/test/run.mjs says what the
// environment is.
func browse(ctx context.Context, t *testing.T, env ...string) {
	t.Helper()
	// It draws nothing on a screen, so it takes half of the CPU that the whole browser does.
	const browser = "/usr/bin/chromium-headless-shell"
	for _, needed := range []string{browser, "../../console/node_modules"} {
		if _, err := os.Stat(needed); err != nil {
			t.Fatalf("%v: install Debian's chromium-headless-shell, and run make console", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 40*time.Minute) // else all of the package is ended
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "test/run.mjs")
	cmd.WaitDelay = time.Minute
	cmd.Dir = "../../console"
	cmd.Env = append(append(os.Environ(), "CHROMIUM="+browser), env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v: install Node 18 or later", err)
	}
	passed, failed := 0, 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		verdict, text, _ := strings.Cut(lines.Text(), " ")
		switch verdict {
		case "ok":
			passed++
			name, took, _ := strings.Cut(text, "\t")
			t.Run(name, func(t *testing.T) { t.Log("took " + took) })
		case "FAIL":
			failed++
			name, why, _ := strings.Cut(text, ": ")
			what, why, _ := strings.Cut(why, ": ")
			t.Run(name+" "+what, func(t *testing.T) { t.Error(why) })
		default:
			t.Log(lines.Text())
		}
	}
	if err := cmd.Wait(); passed == 0 || (err != nil) != (failed > 0) {
		t.Errorf("%d tests passed, %d failed, %v", passed, failed, err)
	}
}

// stage changes the world when a test of the console asks for it.
type stage struct {
	*whole
	t   *testing.T
	ctx context.Context

	mu      sync.Mutex
	silence context.CancelFunc
}

func (s *stage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	switch r.URL.Path {
	case "/hostile":
		err = s.hostile()
	case "/silence":
		s.silence()
	case "/table":
		err = s.cql.Query("CREATE TABLE IF NOT EXISTS shop.fresh (k int PRIMARY KEY, v text)").
			ExecContext(s.ctx)
		for k := range 50 {
			if err == nil {
				err = s.cql.Query("INSERT INTO shop.fresh (k, v) VALUES (?, 'x')",
					k).ExecContext(s.ctx)
			}
		}
	case "/pair":
		err = s.pair()
	case "/watched":
		err = s.watched()
	case "/doing":
		err = s.doing()
	case "/alert":
		err = s.alert()
	default:
		err = fmt.Errorf("there is no action %s", r.URL.Path)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// alert applies a rule that fires.
func (s *stage) alert() error {
	const rule = `groups:
  - name: console
    interval: 1s
    rules:
      - alert: ConsoleSeesThis
        expr: count by (cluster, node) (os_load1{node!=""}) > 0
        labels: {severity: warning}
        annotations: {summary: "The console's test fires", description: "<b>text</b>"}
`
	file := filepath.Join(s.t.TempDir(), "console.yaml")
	if err := os.WriteFile(file, []byte(rule), 0o600); err != nil {
		return err
	}
	apply := rulefiles.RulesApplyCmd{Flags: client.Flags{API: s.API, Key: s.Key},
		Files: []string{file}}
	return apply.RunTo(s.ctx, &strings.Builder{})
}

// pair lets two nodes of the other account send what a real one once did, until the tests end.
func (s *stage) pair() error {
	shape, err := fleet.Read("../../bench/recordings/busy.rwf", "busy", 2, 5000)
	if err != nil {
		return err
	}
	shape.Interval = 1000 // as they say; what they say is of longer steps
	for i := range 2 {
		n := fleet.NewNode(shape, 1, i)
		n.Cluster = "pair"
		if err := s.sendEvery(otherAccount, func() ([]byte, error) {
			n.Step()
			return n.Frame(time.Now().UnixMilli())
		}); err != nil {
			return err
		}
	}
	return nil
}

// Send sends a frame with an account's key.
func (s *stage) send(account string, b []byte) error {
	other := *s.Line
	other.Key = s.Keys[account]
	if !post(s.ctx, &other, b) {
		return fmt.Errorf("ingest does not take a frame of the account %s", account)
	}
	return nil
}

// sendEvery sends a frame a second with an account's key, until the tests end. The first one must
// be taken.
func (s *stage) sendEvery(account string, next func() ([]byte, error)) error {
	b, err := next()
	if err != nil {
		return err
	}
	if err := s.send(account, b); err != nil {
		return err
	}
	go func() {
		for each := time.NewTicker(time.Second); ; {
			select {
			case <-s.ctx.Done():
				each.Stop()
				return
			case <-each.C:
				if b, err := next(); err != nil {
					s.t.Error(err)
					return
				} else {
					_ = s.send(account, b) // the line may end before the tests do
				}
			}
		}
	}()
	return nil
}

// hostile lets a node of the other account send whose names are markup, until it is silenced.
func (s *stage) hostile() error {
	const markup = `"><img src=x onerror=struck=true>`
	n := frametest.New("evil"+markup, 4242, 2)
	n.Interval = 1000
	for i := range n.Identity.Facts {
		n.Identity.Facts[i].Value += markup
	}
	n.Identity.Rack += markup
	for _, list := range n.Entities {
		for _, e := range list {
			for i := range e.Labels {
				e.Labels[i] += markup
			}
		}
	}
	ctx, cancel := context.WithCancel(s.ctx)
	s.silence = cancel
	// The other account's key, at the same line.
	other := *s.Line
	other.Key = s.Keys[otherAccount]
	if !post(ctx, &other, n.Frame(time.Now().UnixMilli())) {
		cancel()
		return fmt.Errorf("ingest does not take a frame of the hostile node")
	}
	go func() {
		for each := time.NewTicker(time.Second); ; {
			select {
			case <-ctx.Done():
				each.Stop()
				return
			case <-each.C:
				n.Step()
				post(ctx, &other, n.Frame(time.Now().UnixMilli()))
			}
		}
	}()
	return nil
}
