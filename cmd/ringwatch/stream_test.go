package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame/frametest"
)

// TestStreamInFiles runs all roles without Kafka: what ingest has acknowledged is answered, after a
// kill and after a restart, and each sample once.
func TestStreamInFiles(t *testing.T) {
	engines.Needed(t, "Cassandra and Redis")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ports, data := engines.FreePorts(t, 2), filepath.Join(t.TempDir(), "data")
	line := &promLine{ingest: fmt.Sprintf("http://127.0.0.1:%d", ports[0]),
		api: fmt.Sprintf("http://127.0.0.1:%d", ports[1])}
	f := &promFleet{cluster: "files-prod", key: account.NewKey(), load: map[int64][]float64{}}
	for n := range 3 {
		f.nodes = append(f.nodes, frametest.New(f.cluster, uint64(7000+n), 2))
		f.nodes[n].Interval = pastEvery
	}
	config := configFile(t, fmt.Sprintf(`
accounts:
  - {name: files, clusters: [files-prod], keys: [{name: all, sha256: %s, scopes: [read, write]}]}
cassandra: {hosts: [%q], keyspace: stream_in_files, grace: 1s, timeout: 30s}
redis: {addresses: [%q], read_timeout: 10s, dial_timeout: 10s}
ingest: {listen: "127.0.0.1:%d"}
api: {listen: "127.0.0.1:%d"}
`, account.Hash(f.key), engines.SharedCassandra(t).Addr(), engines.SharedRedis(t).Addr(),
		ports[0], ports[1]))
	log := filepath.Join(t.TempDir(), "all.log")
	begin := func() *engines.Process {
		t.Helper()
		p, err := engines.StartProcess(engines.ProcessConfig{Name: "ringwatch all", Path: self,
			Args: []string{"all", "--config", config, "--data", data, "--wait", "3m"},
			Env:  []string{asRingwatch}, Log: log})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			p.Kill()
			if b, err := os.ReadFile(log); t.Failed() && err == nil {
				t.Logf("the end of the log:\n%s", b[max(0, len(b)-8<<10):])
			}
		})
		return p
	}
	base := time.Now().UnixMilli() / pastEvery * pastEvery
	at := base - pastSpan
	send := func(until int64) {
		t.Helper()
		eventually(t, line.ingest, func(ctx context.Context) error {
			return ready(ctx, line.ingest)
		})
		for ; at <= until; at += pastEvery {
			f.send(t, line.ingest, at)
		}
	}
	p := begin()
	send(base - pastSpan*2/3) // Cassandra's tables may not be there yet
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	p = begin()
	send(base - pastSpan/3)
	code, stderr := start(t, "all", "--config", config, "--data", data)
	if code != 2 ||
		!strings.Contains(stderr, filepath.Join(data, "stream")+" is used by process ") {
		t.Errorf("a second process: exit code %d, %s", code, stderr)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	if err := p.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	begin()
	send(base)
	eventually(t, line.api, func(ctx context.Context) error { return ready(ctx, line.api) })
	for query, want := range map[string]string{
		"count_over_time(node_load1[11m])": `"66"`, "count_over_time(node_load1[8m])": `"48"`,
	} {
		ask := url.Values{"query": {query}, "time": {fmt.Sprint(base / 1000)}}.Encode()
		eventually(t, "all frames", func(ctx context.Context) error {
			text, err := line.get(ctx, f.key, "/api/v1/query?"+ask)
			if err == nil && strings.Count(text, want) != len(f.nodes) {
				err = fmt.Errorf("%s: %s", query, text)
			}
			return err
		})
	}
}

// TestRolesAloneNeedKafka: a role that is not beside the others says which key to set, and ends.
func TestRolesAloneNeedKafka(t *testing.T) {
	config := configFile(t, `accounts: [{name: default, clusters: ["*"]}]`)
	for _, role := range []string{"ingest", "store", "recent", "rules"} {
		code, stderr := start(t, role, "--config", config)
		if code != 2 || !strings.Contains(stderr, "kafka.brokers is empty: name Kafka's brokers") {
			t.Errorf("%s: exit code %d, %s", role, code, stderr)
		}
	}
}
