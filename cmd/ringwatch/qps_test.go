package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/apitest"
	"github.com/ringwatch/ringwatch/api/qps"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/activity"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/ring/throttle"
)

// throttledProcess is a process whose throttle runs, on a Redis.
func throttledProcess(t *testing.T, redis string) *wire.Process {
	t.Helper()
	c := settings.Default()
	c.Redis.Addresses, c.Redis.DialTimeout = []string{redis}, 10*time.Second
	c.Throttle.UsageInterval = 200 * time.Millisecond
	p := &wire.Process{Config: &c, Metrics: prometheus.NewRegistry(),
		Log: slog.New(slog.DiscardHandler)}
	_, parts, err := p.Throttled()
	if err != nil {
		t.Fatal(err)
	}
	if again, more, err := p.Throttled(); again != p.Throttle || len(more) > 0 || err != nil {
		t.Error("a process has two")
	}
	runParts(t, parts...)
	return p
}

func runParts(t *testing.T, parts ...wire.Part) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- wire.Together(ctx, parts...) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestQPS: what a process does is seen through the API of another, as a table, as JSON, live,
// added up; and by whom it may be seen.
func TestQPS(t *testing.T) {
	redis := engines.MustRedis(t)
	busy, serving := throttledProcess(t, redis.Addr()), throttledProcess(t, redis.Addr())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, w := range []throttle.Work{
		{Class: "serving", Client: "acme/shop", Keyspace: "shop", Table: "items",
			Datacenter: "dc1"},
		{Class: "bulk", Client: "acme/export", Keyspace: "shop", Table: "orders",
			Datacenter: "dc1"},
		{Class: "bulk", Client: "store", Keyspace: "ringwatch", Table: "fresh", Datacenter: "dc1"},
	} {
		go func() {
			for ctx.Err() == nil {
				if done, err := busy.Throttle.Admit(ctx, w, 2); err == nil {
					<-time.After(time.Millisecond)
					done(3*time.Millisecond, nil)
				}
			}
		}()
	}
	const adminKey, operatorKey = "rw_admin000000000000000", "rw_operator000000000000"
	registry, err := account.NewRegistry([]account.Account{
		{Name: "acme",
			Keys: []account.Key{{Name: "r", Key: testKey, Scopes: []account.Scope{account.Read}},
				{Name: "a", Key: adminKey, Scopes: []account.Scope{account.Admin}}}},
		{Name: "ops",
			Keys: []account.Key{{Name: "a", Key: operatorKey,
				Scopes: []account.Scope{account.Admin}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	store := &apitest.Store{}
	c := api.DefaultConfig()
	c.Listen, c.Operators = "127.0.0.1:0", []string{"ops"}
	server, err := api.New(c, api.Deps{
		Admit:  account.NewDoor(registry.Authenticate).Admit,
		Reader: apitest.MustReader(t, c, store.Sources()), StoreReady: store.Ready,
		Work: qps.Of(serving.Throttle), Metrics: serving.Metrics,
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	runParts(t, server.Run)
	command := func(key string, by ...string) *activity.QPSCmd {
		return &activity.QPSCmd{Flags: client.Flags{API: "http://" + server.Addr(), Key: key},
			By:    by,
			Every: 100 * time.Millisecond}
	}
	show := func(c *activity.QPSCmd) string {
		t.Helper()
		var out bytes.Buffer
		if err := c.RunOnce(t.Context(), &out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	until := func(c *activity.QPSCmd, words ...string) string {
		t.Helper()
		for deadline := time.Now().Add(2 * time.Minute); ; <-time.After(20 * time.Millisecond) {
			text := show(c)
			if !slices.ContainsFunc(words, func(w string) bool {
				return !strings.Contains(text, w)
			}) {
				return text
			}
			if time.Now().After(deadline) {
				t.Fatalf("no %q in\n%s", words, text)
			}
		}
	}
	js := command(operatorKey)
	js.JSON = true
	rows := func() (list []qps.Rate) {
		t.Helper()
		if err := json.Unmarshal([]byte(show(js)), &list); err != nil {
			t.Fatal(err)
		}
		return list
	}
	idle := func(w qps.Rate) bool { return w.OperationsPerSecond <= 0 }
	for deadline := time.Now().Add(2 * time.Minute); ; <-time.After(20 * time.Millisecond) {
		// all have done something
		if list := rows(); len(list) >= 3 && !slices.ContainsFunc(list, idle) {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("they do nothing: %+v", list)
		}
	}
	text := until(command(adminKey), "acme/shop", "acme/export")
	expect(t, text,
		`^CLASS +CLIENT +TABLE +DC +OPS/S +REQ/S +WAITING +REFUSED/S +MEAN +P50 +P99 +LIMIT +HEALTH$`,
		`^serving +acme/shop +shop\.items +dc1 +[\d.]+ +[\d.]+ +\d+ +0 +3ms +[\d.]+ms +[\d.]+ms +50000 +100%$`)
	if strings.Contains(text, "store") || strings.Contains(text, "fresh") {
		t.Errorf("acme sees what is not its own:\n%s", text)
	}
	until(command(operatorKey), "acme/shop", "acme/export", "store", "ringwatch.fresh")
	text = until(command(operatorKey, "class"), "serving", "bulk")
	expect(t, text, `^CLASS +OPS/S `, `^bulk +[\d.]+ `, `^serving +[\d.]+ `)
	if strings.Count(text, "\n") != 3 || strings.Contains(text, "acme") {
		t.Errorf("by class:\n%s", text)
	}
	expect(t, until(command(operatorKey, "client", "table"), "acme/shop"), `^CLIENT +TABLE +OPS/S `)
	for key, want := range map[string]string{testKey: "scope admin",
		adminKey: `unknown by "nothing"`} {
		if err := command(key, "nothing").RunOnce(t.Context(), &bytes.Buffer{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}

	in, typed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var screen bytes.Buffer
	shown := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- command(adminKey).Live(t.Context(), tea.WithInput(in),
			tea.WithOutput(&watcher{Buffer: &screen, for_: "acme/shop", found: shown}),
			tea.WithWindowSize(140, 20), tea.WithEnvironment([]string{"TERM=xterm-256color"}),
			tea.WithoutSignals())
	}()
	select {
	case <-shown:
	case err := <-ended:
		t.Fatal("it ended by itself:", err)
	case <-time.After(time.Minute):
		t.Fatal("nothing is shown live")
	}
	if _, err := typed.WriteString("q"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}

	if err := redis.Kill(); err != nil {
		t.Fatal(err)
	}
	until(command(operatorKey), "Redis does not answer")
	cancel()
	until(command(operatorKey), "Nobody whom this key may see")
}
