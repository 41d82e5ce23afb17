package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/limit"
	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/apitest"
	"github.com/ringwatch/ringwatch/api/qps"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/ingest"
	"github.com/ringwatch/ringwatch/ring/throttle"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/stream"
)

// plainLabels are the labels of the roles' metrics whose values name nothing of a user's. A label
// that is new belongs here or among those that package listener adds up.
var plainLabels = []string{
	"blame", "by", "call", "cause", "class", "code", "kind", "layer", "level", "of", "outcome",
	"partition", "reader",
	"reason", "refused", "result", "route", "source", "state",
}

// TestMetricsNames asks the listeners of all roles for what their one registry has, without a key
// and with keys, after reads of tables with names.
func TestMetricsNames(t *testing.T) {
	p := throttledProcess(t, engines.SharedRedis(t).Addr())
	const adminKey, otherKey, operatorKey, readKey = "rw_admin000000000000000",
		"rw_other000000000000000", "rw_operator000000000000", "rw_read0000000000000000"
	admin := func(name, key string) account.Account {
		return account.Account{Name: name,
			Keys: []account.Key{{Name: "theadmin", Key: key,
				Scopes: []account.Scope{account.Admin}}}}
	}
	accounts := []account.Account{admin("acmecorp", adminKey), admin("othercorp", otherKey),
		admin("operators", operatorKey)}
	accounts[0].Keys = append(accounts[0].Keys, account.Key{Name: "thereader", Key: readKey,
		Scopes: []account.Scope{account.Read, account.Write}})
	registry, err := account.NewRegistry(accounts)
	if err != nil {
		t.Fatal(err)
	}
	p.Door = account.NewDoor(registry.Authenticate)
	p.Metrics.MustRegister(p.Door)
	for _, w := range []throttle.Work{
		{Class: "serving", Client: "acmecorp/thereader", Keyspace: "shopspace", Table: "itemstable",
			Datacenter: "dcone"},
		{Class: "serving", Client: "othercorp/theadmin", Keyspace: "carspace", Table: "partstable",
			Datacenter: "dctwo"},
		{Class: "bulk", Client: "store", Keyspace: "ringwatch", Table: "fresh",
			Datacenter: "dcone"},
	} {
		done, err := p.Throttle.Admit(t.Context(), w, 2)
		if err != nil {
			t.Fatal(err)
		}
		done(0, nil)
	}
	urls := openListeners(p, t)
	acme := []string{"acmecorp", "thereader", "shopspace", "itemstable"}
	other := []string{"othercorp", "carspace", "partstable", "dctwo"}
	roles := []string{`"fresh"`}
	for name, url := range urls {
		for _, of := range []struct {
			key         string
			shows, none []string
		}{
			{"", nil, slices.Concat(acme, other, roles)},
			{readKey, nil, slices.Concat(acme, other, roles)},
			{adminKey, acme, slices.Concat(other, roles)},
			{operatorKey, slices.Concat(acme, other, roles), nil},
		} {
			if name == "metrics.listen" {
				of.shows, of.none = slices.Concat(acme, other, roles), nil
			}
			status, text := mustMetrics(t, url, of.key)
			if status != http.StatusOK {
				t.Fatalf("%s: %d %s", name, status, text)
			}
			for _, word := range of.shows {
				if !strings.Contains(text, word) {
					t.Errorf("%s with key %q does not show %s", name, of.key, word)
				}
			}
			for _, word := range of.none {
				if strings.Contains(text, word) {
					t.Errorf("%s with key %q shows %s", name, of.key, word)
				}
			}
			if of.key == "" && name != "metrics.listen" &&
				!strings.Contains(text, `ringwatch_throttle_operations_total{class="serving"} 4`) {
				t.Errorf("%s has lost a total", name)
			}
		}
		if status, _ := mustMetrics(t, url, "rw_wrong000000000000000"); name != "metrics.listen" &&
			status != http.StatusUnauthorized {
			t.Errorf("%s: a wrong key gets %d", name, status)
		}
	}
	families, err := p.Metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	hidden := []string{"client", "keyspace", "table", "datacenter"}
	for _, f := range families {
		for _, m := range f.Metric {
			for _, l := range m.Label {
				if !slices.Contains(plainLabels, l.GetName()) &&
					!slices.Contains(hidden, l.GetName()) {
					t.Errorf("%s has the label %s: say in plainLabels or in package listener "+
						"whether it names something", f.GetName(), l.GetName())
				}
			}
		}
	}
}

// openListeners returns the addresses of /metrics of the roles of a process that share a registry.
func openListeners(p *wire.Process, t *testing.T) map[string]string {
	t.Helper()
	address := func() string { return fmt.Sprintf("127.0.0.1:%d", engines.FreePorts(t, 1)[0]) }
	p.Config.API.Listen, p.Config.API.Operators = "127.0.0.1:0", []string{"operators"}
	p.Config.Ingest.Listen = "127.0.0.1:0"
	p.Config.Metrics.Listen, p.Config.Store.Listen = address(), address()
	store.NewMetrics(p.Metrics)
	redis, err := p.OpenReader()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(redis.Close)
	limiter, err := limit.New(p.Config.Limits, redis.Redis(), p.Metrics)
	if err != nil {
		t.Fatal(err)
	}
	db := &apitest.Store{}
	sources := db.Sources()
	sources.Metrics = p.Metrics
	reader := apitest.MustReader(t, p.Config.API, sources)
	server, err := api.New(p.Config.API, api.Deps{Admit: p.Door.Admit, Limit: limiter.Take,
		Reader:     reader,
		StoreReady: db.Ready, Work: qps.Of(p.Throttle), Metrics: p.Metrics, Log: p.Log})
	if err != nil {
		t.Fatal(err)
	}
	in, err := ingest.New(p.Config.Ingest, ingest.Deps{
		Admit: p.Door.Admit, Operators: p.Config.API.Operators, Retryable: stream.Retryable,
		Registry: p.Metrics, Log: p.Log,
		Publish: func(context.Context, string, string, []byte) error { return nil },
		Ready:   func(context.Context) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	ops, err := p.Ops(p.Config.Store, db.Ready, nil)
	if err != nil {
		t.Fatal(err)
	}
	own, err := p.MetricsPart()
	if err != nil {
		t.Fatal(err)
	}
	runParts(t, server.Run, in.Run, ops, own)
	return map[string]string{
		"api": server.Addr(), "ingest": in.Addr().String(), "store": p.Config.Store.Listen,
		"metrics.listen": p.Config.Metrics.Listen,
	}
}

func mustMetrics(t *testing.T, address, key string) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/metrics",
		nil)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(b)
}
