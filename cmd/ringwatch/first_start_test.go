package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/dev/engines"
)

// TestFirstStartOfManyRoles starts several of each role at once where there is neither keyspace
// nor topic. All become ready and none ends.
func TestFirstStartOfManyRoles(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cassandra, kafka, redis := engines.MustCassandra(t), engines.MustKafka(t), engines.MustRedis(t)
	session := mustCQL(t, cassandra.Addr())
	rounds := 1
	if os.Getenv("RINGWATCH_TEST_FULL") != "" {
		rounds = 100
	}
	for round := range rounds {
		keyspace, dir := fmt.Sprintf("first_%d", round), t.TempDir()
		began := time.Now()
		type member struct {
			*engines.Process
			ready string
		}
		var members []member
		for i, role := range []string{"store", "api", "store", "ingest", "recent", "api", "store",
			"ingest"} {
			port := engines.FreePorts(t, 1)[0]
			config := filepath.Join(dir, fmt.Sprintf("%d.yaml", i))
			text := fmt.Sprintf(`accounts: [{name: default, clusters: ["*"]}]
kafka: {brokers: [%q], topic: %s, partitions: 2}
cassandra: {hosts: [%q], keyspace: %s}
redis: {addresses: [%q]}
%s: {listen: "127.0.0.1:%d"}
`, kafka.Addr(), keyspace, cassandra.Addr(), keyspace, redis.Addr(), role, port)
			if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			p, err := engines.StartProcess(engines.ProcessConfig{Name: "ringwatch " + role,
				Path: self, Args: []string{role, "--config", config, "--wait", "5m"},
				Env: []string{asRingwatch},
				Log: filepath.Join(dir, fmt.Sprintf("%d-%s.log", i, role))})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { p.Kill() })
			members = append(members, member{p, fmt.Sprintf("http://127.0.0.1:%d/-/ready", port)})
		}
		for _, m := range members {
			eventually(t, "a role to be ready", func(ctx context.Context) error {
				if !m.Running() { // it does not come back: no need to wait
					said, _ := os.ReadFile(m.LogFile())
					t.Fatalf("round %d: a role ended:\n%s", round, said)
				}
				answer, err := http.Get(m.ready)
				if err != nil {
					return err
				}
				answer.Body.Close()
				if answer.StatusCode != http.StatusOK {
					return fmt.Errorf("%s answers %s", m.LogFile(), answer.Status)
				}
				return nil
			})
		}
		t.Logf("round %d: all are ready after %s", round,
			time.Since(began).Round(100*time.Millisecond))
		for _, m := range members {
			if !m.Running() {
				said, _ := os.ReadFile(m.LogFile())
				t.Errorf("round %d: a role ended after it was ready:\n%s", round, said)
			}
			if err := m.Kill(); err != nil {
				t.Error(err)
			}
		}
		if err := session.Query("DROP KEYSPACE " + keyspace).ExecContext(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
