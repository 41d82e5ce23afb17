package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/examine"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/dev/engines"
)

// TestPeriodicIsSaid: with one replica and commitlog_sync periodic, doctor says what can be lost,
// before the keyspace is there and after; a role says it in one line of its log and in /-/ready,
// where it is ready all the same. With the engines' own setting nobody says anything.
func TestPeriodicIsSaid(t *testing.T) {
	kafka := engines.SharedKafka(t)
	periodic := engines.MustCassandra(t, func(c *engines.CassandraConfig) {
		c.Extra = map[string]any{"commitlog_sync": "periodic", "commitlog_sync_period": "10000ms"}
	})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, node := range map[string]*engines.Cassandra{"periodic": periodic,
		"group": engines.SharedCassandra(t)} {
		t.Run(name, func(t *testing.T) {
			risky := name == "periodic"
			keyspace := fmt.Sprintf("said_%d", os.Getpid())
			mustDoctor(t, node.Addr(), keyspace, "not there yet", risky)
			dir, ports := t.TempDir(), engines.FreePorts(t, 2)
			for i, role := range []string{"store", "api"} {
				config := filepath.Join(dir, role+".yaml")
				text := fmt.Sprintf("accounts: [{name: default, clusters: [\"*\"]}]\nkafka: "+
					"{brokers: [%q], topic: %s, instance_id: %s}\ncassandra: {hosts: [%q], "+
					"keyspace: %s, timeout: 1m}\nstore: {listen: \"127.0.0.1:%d\"}\napi: "+
					"{listen: \"127.0.0.1:%d\"}\nredis: {addresses: [%q]}\n",
					kafka.Addr(), keyspace+name, keyspace+name, node.Addr(), keyspace, ports[i],
					ports[i], engines.SharedRedis(t).Addr())
				if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				p, err := engines.StartProcess(engines.ProcessConfig{Name: role, Path: self,
					Args: []string{role, "--config", config}, Env: []string{asRingwatch},
					Log: filepath.Join(dir, role+".log")})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = p.Kill() })
				body := mustReady(t, fmt.Sprintf("http://127.0.0.1:%d/-/ready", ports[i]))
				if strings.Contains(body, "acknowledged frames can be lost") != risky ||
					!strings.Contains(body, "ready") {
					t.Errorf("%s: /-/ready says %s", role, body)
				}
				log, err := os.ReadFile(p.LogFile())
				if n := strings.Count(string(log), "can be lost"); err != nil ||
					risky != (n == 1) || n > 1 {
					t.Errorf("%s says it %d times, %v:\n%s", role, n, err, log)
				}
			}
			mustDoctor(t, node.Addr(), keyspace, "has one", risky)
		})
	}
	var out bytes.Buffer
	if err := (&examine.DoctorCmd{Cassandra: "127.0.0.1:0",
		Keyspace: "ringwatch"}).RunTo(t.Context(),
		&out); !errors.As(err, new(exit.UsageError)) {
		t.Errorf("a wrong address is %v", err)
	}
}

// mustDoctor runs doctor --cassandra.
func mustDoctor(t *testing.T, address, keyspace, replicas string, risky bool) {
	t.Helper()
	var out bytes.Buffer
	if err := (&examine.DoctorCmd{Cassandra: address, Keyspace: keyspace}).RunTo(t.Context(),
		&out); err != nil {
		t.Errorf("doctor: %v\n%s", err, &out)
	}
	want := "ok    commitlog    commitlog_sync is group"
	if risky {
		want = "warn  commitlog    acknowledged frames can be lost: keyspace " + keyspace
	}
	if !strings.Contains(out.String(), want) || !strings.Contains(out.String(), replicas) ||
		strings.Contains(out.String(), "commitlog_sync: group") != risky {
		t.Errorf("doctor says\n%s", &out)
	}
}

// mustReady waits until a role is ready and returns what it says then.
func mustReady(t *testing.T, url string) (body string) {
	t.Helper()
	err := line.Until(t.Context(), url, func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if body = string(text); err == nil && answer.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s", answer.Status, body)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return body
}
