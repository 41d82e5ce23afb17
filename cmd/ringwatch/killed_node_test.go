package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/fleet"
	"github.com/ringwatch/ringwatch/dev/engines"
)

// TestKilledNode: of two Cassandras one is killed and comes back. By the shipped rules, and by the
// default for receivers with one that listens, people are told of that once, and once of its end.
func TestKilledNode(t *testing.T) {
	var mu sync.Mutex
	var told []string // messages: the state, and the alerts
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m struct {
			Status      string
			GroupLabels map[string]string
			Alerts      []struct{ Labels map[string]string }
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		var names []string
		for _, a := range m.Alerts {
			names = append(names, a.Labels["alertname"])
		}
		slices.Sort(names)
		mu.Lock()
		defer mu.Unlock()
		told = append(told, m.Status+" "+strings.Join(names, " "))
	}))
	t.Cleanup(hook.Close)
	said := func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(told, ", ")
	}

	d := newDirectory(t)
	shipped, err := os.ReadFile("../../notify/default.yml")
	if err != nil {
		t.Fatal(err)
	}
	receivers := filepath.Join(t.TempDir(), "receivers.yml")
	text := strings.NewReplacer(
		"  - name: console\n", fmt.Sprintf(
			"  - name: console\n    webhook_configs: [{url: %q}]\n", hook.URL),
		"group_wait: 30s", "group_wait: 10s", "group_interval: 5m", "group_interval: 15s").
		Replace(string(shipped))
	if err := os.WriteFile(receivers, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d.configure(t, fmt.Sprintf("notify: {config_file: %q}\n", receivers))
	d.begin(t)
	key := d.key(t, "all", account.Operator)
	jar, err := filepath.Abs("../../agent/target/ringwatch-agent.jar")
	if err != nil {
		t.Fatal(err)
	}
	agent := filepath.Join(t.TempDir(), "agent.yaml")
	if err := os.WriteFile(agent, fmt.Appendf(nil, "ingest:\n  urls: [%q]\n  key: %s\n", d.ingest,
		key), 0o600); err != nil {
		t.Fatal(err)
	}
	var nodes []*engines.Cassandra
	for i := range 2 {
		nodes = append(nodes, engines.MustCassandra(t, func(c *engines.CassandraConfig) {
			c.ClusterName, c.ListenAddress = "killed", fmt.Sprintf("127.0.0.%d", i+1)
			c.JVMArgs = []string{"-javaagent:" + jar + "=" + agent}
			if i > 0 {
				c.StoragePort, c.NativePort = nodes[0].StoragePort, nodes[0].NativePort
				c.Seeds = []string{net.JoinHostPort(nodes[0].Host,
					strconv.Itoa(nodes[0].StoragePort))}
			}
		}))
	}
	states := func(want ...string) {
		t.Helper()
		eventually(t, fmt.Sprint("nodes that are ", want), func(ctx context.Context) error {
			text, err := d.get(ctx, key, "/v1/nodes?cluster=killed")
			if err != nil {
				return err
			}
			var list []fleet.NodeInfo
			if err := json.Unmarshal([]byte(text), &list); err != nil {
				return err
			}
			var got []string
			for i := range list {
				got = append(got, list[i].State)
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				return fmt.Errorf("they are %v", got)
			}
			return nil
		})
	}
	hears := func(want string) {
		t.Helper()
		eventually(t, want, func(context.Context) error {
			if got := said(); got != want {
				return fmt.Errorf("told %q", got)
			}
			return nil
		})
	}
	states("up", "up")
	if err := nodes[1].Kill(); err != nil {
		t.Fatal(err)
	}
	states("down", "up")
	hears("firing CassandraNodeDown")
	if err := nodes[1].Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	states("up", "up")
	hears("firing CassandraNodeDown, resolved CassandraNodeDown")
}
