package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/fleet"
	"github.com/ringwatch/ringwatch/dev/engines"
)

// TestPreviousVersion holds this version and the one before against each other: agents of either
// send to a process of the other, and this program goes on with the directory that the one before
// has written, while commands of this one ask it.
func TestPreviousVersion(t *testing.T) {
	previous := engines.MustPrevious(t)
	before, now := newDirectory(t), newDirectory(t)
	before.program = previous.MustProgram(t)
	before.begin(t)
	now.begin(t)
	base := before.fill(t) // with a key that a command of this version makes
	before.has(t, base, 30, 30)
	now.fleet = &promFleet{key: now.key(t, "all", account.Read, account.Write)}

	ours, err := filepath.Abs("../../agent/target/ringwatch-agent.jar")
	if err != nil {
		t.Fatal(err)
	}
	// Kafka is ready in half of Cassandra's time.
	nodes := []string{"kafka"}
	if os.Getenv("RINGWATCH_TEST_FULL") != "" {
		nodes = append(nodes, "cassandra")
	}
	for _, kind := range nodes {
		before.hears(t, kind, ours)
		now.hears(t, kind, previous.MustAgent(t))
	}

	if err := before.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	before.program = ""
	before.begin(t)
	before.has(t, base, 30, 30)
	for _, kind := range nodes {
		before.hasPasses(t, kind)
	}
}

// hears starts a node with an agent, and waits until what that sends is answered.
func (d *directory) hears(t *testing.T, kind, jar string) {
	t.Helper()
	config := filepath.Join(t.TempDir(), "agent.yaml")
	text := fmt.Sprintf("ingest:\n  urls: [%q]\n  key: %s\ninterval: 1s\n", d.ingest, d.fleet.key)
	if kind == "kafka" {
		text += "cluster: of-kafka\n"
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	agent := []string{"-javaagent:" + jar + "=" + config}
	if kind == "kafka" {
		engines.MustKafka(t, func(c *engines.KafkaConfig) { c.JVMArgs = agent })
	} else {
		engines.MustCassandra(t, func(c *engines.CassandraConfig) { c.JVMArgs = agent })
	}
	d.hasPasses(t, kind)
}

// hasPasses waits until some passes of an agent in such a node are there, each once.
func (d *directory) hasPasses(t *testing.T, kind string) {
	t.Helper()
	const passes = "ringwatch_agent_passes_total"
	ask := "/api/v1/query?" + url.Values{"query": {passes + `[5m]`}}.Encode()
	eventually(t, "passes of an agent in "+kind, func(ctx context.Context) error {
		text, err := d.get(ctx, d.fleet.key, "/v1/nodes?kind="+kind)
		if err != nil {
			return err
		}
		var nodes []fleet.NodeInfo
		if err := json.Unmarshal([]byte(text), &nodes); err != nil {
			return err
		}
		nodes = slices.DeleteFunc(nodes,
			func(n fleet.NodeInfo) bool { return n.Facts["agent_version"] == "" })
		if len(nodes) != 1 {
			return fmt.Errorf("the nodes are %s", text)
		}
		if text, err = d.get(ctx, d.fleet.key, ask); err != nil {
			return err
		}
		var answer struct {
			Data struct {
				Result []struct {
					Metric map[string]string
					Values [][2]any
				}
			}
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			return err
		}
		for _, s := range answer.Data.Result {
			if s.Metric["node"] != nodes[0].ID || len(s.Values) < 3 {
				continue
			}
			for i, v := range s.Values[1:] { // a pass a value
				if v[1] == s.Values[i][1] {
					return fmt.Errorf("a pass is there twice: %s", text)
				}
			}
			return nil
		}
		return fmt.Errorf("there are %s", strings.TrimSpace(text))
	})
}
