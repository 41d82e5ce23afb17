package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/qps"
	"github.com/ringwatch/ringwatch/api/reply"
)

// work is what a throttle might say: acme's key reads tables of its clusters, another account's
// and the store read one each.
func (f *fixture) work(_ context.Context, keep func(string) bool,
	by []string) ([]qps.Rate, string, error) {
	var list []qps.Rate
	for _, w := range []qps.Rate{
		{Class: "serving", Client: f.account("acme") + "/r", Keyspace: "fleet-0", Table: "a",
			Datacenter: "dc1", OperationsPerSecond: 20, P99Seconds: 0.01},
		{Class: "serving", Client: f.account("acme"), Keyspace: "fleet-1", Table: "b",
			Datacenter: "dc1", OperationsPerSecond: 10, LimitPerSecond: 100, HealthFactor: 1},
		{Class: "bulk", Client: f.account("acme") + "x/r", Keyspace: "secret", Table: "c",
			Datacenter: "dc1", OperationsPerSecond: 5},
		{Class: "bulk", Client: "store", Keyspace: "ringwatch", Table: "fresh", Datacenter: "dc1",
			OperationsPerSecond: 1},
	} {
		if keep(w.Client) {
			if !slices.Contains(by, "client") {
				w.Client = ""
			}
			list = append(list, w)
		}
	}
	return list, "", nil
}

func TestQPS(t *testing.T) {
	f := newFixture(t, inMemory, 1, 1, time.Minute)
	var list []qps.Rate
	f.get("/v1/qps", nil, &list)
	if len(list) != 2 || list[0].Client != f.account("acme")+"/r" ||
		list[0].Keyspace != "fleet-0" || list[0].OperationsPerSecond != 20 ||
		list[0].P99Seconds != 0.01 || list[1].Client != f.account("acme") ||
		list[1].HealthFactor != 1 {
		t.Errorf("its own clients: %+v", list)
	}
	list = nil
	f.get("/v1/qps", url.Values{"by": {"class,table"}}, &list)
	if len(list) != 2 || list[0].Client != "" {
		t.Errorf("by class and table: %+v", list)
	}
	for _, by := range []string{"", "keyspace", "class,", "class, client"} {
		if r := f.ask(acmeKey, "/v1/qps",
			url.Values{"by": {by}}); r.status != http.StatusBadRequest ||
			!strings.Contains(string(r.body), `"bad_by"`) ||
			!strings.Contains(string(r.body), "class, client, table, datacenter") {
			t.Errorf("by=%s: %d %s", by, r.status, r.body)
		}
	}
	if r := f.ask(writeKey, "/v1/qps", nil); r.status != http.StatusForbidden ||
		!strings.Contains(string(r.body), "scope admin") {
		t.Errorf("without the scope: %d %s", r.status, r.body)
	}
	// The account of an operator sees all; what is not all says so; what fails is no empty list.
	var partial string
	var failure error
	registry, err := account.NewRegistry(
		[]account.Account{{Name: f.account("acme"),
			Keys: []account.Key{{Name: "r", Key: acmeKey,
				Scopes: []account.Scope{account.Admin}}}}})
	if err != nil {
		t.Fatal(err)
	}
	base, _ := f.serve(func(c *api.Config, d *api.Deps) {
		c.Operators = []string{f.account("acme")}
		d.Admit = account.NewDoor(registry.Authenticate).Admit
		d.Work = func(ctx context.Context, keep func(string) bool,
			by []string) ([]qps.Rate, string, error) {
			list, _, _ := f.work(ctx, keep, by)
			return list, partial, failure
		}
	})
	r, _ := f.fetch(base + "/v1/qps")
	if err := json.Unmarshal(r.body, &list); err != nil || len(list) != 4 ||
		r.header.Get(reply.PartialHeader) != "" {
		t.Errorf("an operator: %d %s %v", r.status, r.body, err)
	}
	if r, _ := f.fetch(base + "/v1/nodes"); r.status != http.StatusForbidden {
		t.Errorf("admin implies read: %d", r.status)
	}
	partial = "Redis is away"
	if r, _ := f.fetch(base + "/v1/qps"); r.status != http.StatusOK ||
		r.header.Get(reply.PartialHeader) != "1" {
		t.Errorf("in part: %d %v", r.status, r.header)
	}
	failure = errors.New("no")
	if r, e := f.fetch(base + "/v1/qps"); r.status != http.StatusServiceUnavailable ||
		e.Reason != "unavailable" || r.header.Get("Retry-After") == "" {
		t.Errorf("failing: %d %s", r.status, r.body)
	}
}
