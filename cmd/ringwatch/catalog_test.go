package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/fleet"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/promql"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/query/catalog"
)

// mayBeUnknown are the values of the catalogue that a healthy node with one busy table may have no
// number of, with the reason.
var mayBeUnknown = map[string]string{
	"n::diskReads":        noDisk,
	"n::diskWrites":       noDisk,
	"n::diskReadBytes":    noDisk,
	"n::diskWrittenBytes": noDisk,
	"n::diskReadLatency":  noDisk,
	"n::diskWriteLatency": noDisk,
	"n::diskBusy":         noDisk,

	"n::hintsSucceeded": noHints,
	"n::hintsFailed":    noHints,
	"n::hintsTimedOut":  noHints,

	"n::clientRequestCasRead":               notAsked,
	"n::clientRequestCasWrite":              notAsked,
	"n::clientRequestRangeSlice":            notAsked,
	"n::casContention":                      notAsked,
	"cf::{keyspace}::{table}::rangeLatency": notAsked,

	"n::rowCacheHitRate":     "the row cache is off by default",
	"n::counterCacheHitRate": "no table has counters",
	"n::keyCacheHitRate": "BTI tables have no key cache, and a young node may not have asked " +
		"it lately",
	"n::chunkCacheHitRate":    "what is in memtables is read from no chunk",
	"n::messagingLatency":     "there is no other node",
	"n::counterMutationStage": noPool,
	"n::viewMutationStage":    noPool,
	"n::requestResponseStage": noPool,
	"n::antiEntropyStage":     noPool,

	"n::gcPause": "a node with little work collects no garbage for minutes",
}

const (
	noDisk   = "a container's overlay has no line in /proc/diskstats"
	noHints  = "the family appears when a node writes its first hint"
	noPool   = "Cassandra makes the pool with its first task"
	notAsked = "nobody asks so, and 0 would say that it takes no time"
)

// testCatalog asks for every entry of the catalogue while one reads and writes shop.orders.
func (w *whole) testCatalog(t *testing.T) {
	if _, err := w.jmx.read("org.apache.cassandra.db:type=StorageService",
		"forceKeyspaceFlush(shop)"); err != nil {
		t.Fatal(err) // partitions and SSTables are on disk only after it
	}
	ctx, cancel := context.WithCancel(t.Context())
	busy := make(chan error, 1)
	go func() { busy <- w.keepBusy(ctx) }()
	defer func() {
		cancel()
		if err := <-busy; err != nil {
			t.Error(err)
		}
	}()
	shipped, err := catalog.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	waiting := map[string]string{} // what is asked, by entry and type
	for _, e := range shipped.All() {
		if e.Group == "kafka" || e.Group == "redis" {
			continue // a Cassandra node has none of it
		}
		for _, v := range e.Values {
			waiting[e.Name+" "+v.Type] = strings.NewReplacer(
				"{keyspace}",
				"shop",
				"{table}",
				"orders",
			).Replace(
				e.Name,
			) + "::" + v.Type
		}
	}
	total := len(waiting)
	defer func() {
		if t.Failed() {
			t.Logf("without a number are %q", slices.Sorted(maps.Keys(waiting)))
		}
	}()
	eventually(t, "a number of each", func(ctx context.Context) error {
		for _, key := range slices.Sorted(maps.Keys(waiting)) {
			var answer []struct {
				Partial []string
				Payload []fleet.Payload
			}
			if err := w.Get(ctx,
				"/v1/nodes/"+w.node+"/metrics?metrics="+url.QueryEscape(waiting[key]),
				&answer); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			if len(answer) == 1 && len(answer[0].Payload) == 1 &&
				len(answer[0].Payload[0].Values) == 1 &&
				screen.Number(answer[0].Payload[0].Values[0].Value) >= 0 {
				delete(waiting, key)
			}
		}
		for key := range waiting {
			if name, _, _ := strings.Cut(key, " "); mayBeUnknown[name] == "" {
				return fmt.Errorf(
					"%d have no number: %q",
					len(waiting),
					slices.Sorted(maps.Keys(waiting)),
				)
			}
		}
		return nil
	})
	t.Logf(
		"%d values, of which a healthy node has no number of %q",
		total,
		slices.Sorted(maps.Keys(waiting)),
	)

	var out bytes.Buffer
	flags := client.Flags{API: w.API, Key: w.Key}
	if err := (&promql.CatalogCmd{Flags: flags}).RunTo(t.Context(), &out); err != nil ||
		!strings.Contains(out.String(), "\n  n::cpuUtilization ") {
		t.Errorf("%v: %s", err, out.String())
	}
}

func TestCatalogCommand(t *testing.T) {
	show := func(c promql.CatalogCmd) string {
		t.Helper()
		var out bytes.Buffer
		c.Shipped = true
		if err := c.RunTo(t.Context(), &out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if text := show(promql.CatalogCmd{Name: "N::CPUutilization"}); !strings.Contains(
		text,
		"rate(os_cpu_seconds_total{$scope",
	) ||
		!strings.Contains(text, "percentage in percent, healthy ≤ 90\n") {
		t.Error(text)
	}
	text := show(promql.CatalogCmd{Name: "latency"})
	if !strings.Contains(text, "n::diskReadLatency") ||
		!strings.Contains(text, "cf::{keyspace}::{table}::readLatency") ||
		strings.Contains(text, "n::reads") {
		t.Error(text)
	}
	var groups []catalog.Group
	if err := json.Unmarshal([]byte(show(promql.CatalogCmd{Name: "n::reads", JSON: true})),
		&groups); err != nil ||
		len(groups) != 1 ||
		groups[0].Entries[0].Name != "n::reads" {
		t.Errorf("%v %+v", err, groups)
	}
	if err := (&promql.CatalogCmd{Shipped: true, Name: "nosuch"}).RunTo(t.Context(),
		&bytes.Buffer{}); err == nil {
		t.Error("nothing is found, and that is no error")
	}
}

// TestAccountsCatalogs: an account's own entries are its alone, and a wrong file is said with the
// entry.
func TestAccountsCatalogs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "acme.yaml")
	promql := "sum by ($by) (orders{$scope})"
	write := func(name string) {
		text := "groups: [{name: shop, title: The shop, entries: [{name: '" + name +
			"', description: Orders., type: count, unit: count, promql: '" + promql + "'}]}]"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := settings.Default()
	if _, err := settings.Decode(
		[]byte("accounts: [{name: acme, catalog: "+path+"}, {name: other}]"),
		&c); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Catalogs(); c.ValidateCatalogs() != nil || err == nil {
		t.Errorf("a file that is not there: %v", err)
	}
	write("n::orders")
	list, err := c.Catalogs()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := list.For("acme").Lookup("n::orders"); err != nil {
		t.Error(err)
	}
	if _, err := list.For("other").Lookup("n::orders"); err == nil {
		t.Error("another account has the entry")
	}
	write("n::reads")
	if err := c.ValidateCatalogs(); err == nil ||
		!strings.Contains(
			err.Error(),
			"account acme: "+path+": entry n::reads: the name n::reads is entry n::reads's already",
		) {
		t.Error(err)
	}
	promql = "sum by ($by) (orders{$scope})"
	for range 15 {
		promql = `label_join(` + promql + `, "node", "", "node", "node")`
	}
	write("n::orders")
	if err := c.ValidateCatalogs(); err == nil ||
		!strings.Contains(err.Error(), "max_label_bytes") {
		t.Errorf("labels that grow: %v", err)
	}
}
