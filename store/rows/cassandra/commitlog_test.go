package cassandra

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/dev/engines"
)

// TestWarning: a Cassandra with one replica whose commit log is synced periodically is named, in
// one line and with the remedy; others are not.
func TestWarning(t *testing.T) {
	open := func(t *testing.T, node *engines.Cassandra, log *bytes.Buffer,
		change ...func(*Config)) *Session {
		config := testConfig(t, node.Addr())
		for _, f := range change {
			f(&config)
		}
		config.Log = slog.New(slog.NewTextHandler(log, nil))
		s := mustConnect(t, config)
		// Only the keyspace: the tables are nobody's business here.
		if err := execute(t, s, "CREATE KEYSPACE IF NOT EXISTS "+config.Keyspace+
			" WITH replication = "+mapLiteral(config.replication())); err != nil {
			t.Fatal(err)
		}
		return s
	}
	periodic := func(c *engines.CassandraConfig) {
		c.Extra = map[string]any{"commitlog_sync": "periodic", "commitlog_sync_period": "10000ms"}
	}
	t.Run("group", func(t *testing.T) {
		var log bytes.Buffer
		s := open(t, engines.SharedCassandra(t), &log)
		c, err := s.CommitLog(t.Context())
		if err != nil || c.Replicas != 1 || len(c.Sync) != 1 ||
			c.Sync[engines.SharedCassandra(t).Addr()] != "group" {
			t.Errorf("the engines' Cassandra is %+v, %v", c, err)
		}
		if text := s.Warning(t.Context()); text != "" || strings.Contains(log.String(), "lost") {
			t.Errorf("it warns: %s %s", text, &log)
		}
	})
	versions := []string{engines.CassandraVersion}
	if os.Getenv("RINGWATCH_TEST_FULL") != "" {
		versions = append(versions, engines.Cassandra40) // where settings have other names
	}
	for _, version := range versions {
		t.Run("periodic "+version, func(t *testing.T) {
			node := engines.MustCassandra(t, periodic, func(c *engines.CassandraConfig) {
				if c.Version = version; version == engines.Cassandra40 {
					c.Extra = map[string]any{"commitlog_sync": "periodic",
						"commitlog_sync_period_in_ms": 10_000}
				}
			})
			var log bytes.Buffer
			s := open(t, node, &log)
			for range 3 {
				text := s.Warning(t.Context())
				for _, part := range []string{"one replica", node.Addr(), "periodic",
					"commitlog_sync: group", "three replicas", s.config.Keyspace} {
					if !strings.Contains(text, part) {
						t.Errorf("it does not say %q: %s", part, text)
					}
				}
			}
			if n := strings.Count(log.String(), "can be lost"); n != 1 {
				t.Errorf("%d lines in the log:\n%s", n, &log)
			}
			log.Reset()
			three := open(t, node, &log, func(c *Config) {
				c.ReplicationFactor = 3
				c.Consistency = "QUORUM"
			})
			if text := three.Warning(t.Context()); text != "" {
				t.Errorf("three replicas: %s", text)
			}
			if err := s.Failing(); err != nil {
				t.Errorf("it fails: %v", err)
			}
		})
	}
	t.Run("no rights", func(t *testing.T) {
		node := engines.MustCassandra(t, periodic, func(c *engines.CassandraConfig) {
			c.Extra["authenticator"], c.Extra["authorizer"] = "PasswordAuthenticator",
				"CassandraAuthorizer"
		})
		config := testConfig(t, node.Addr())
		config.Username, config.Password = "cassandra", "cassandra"
		admin := mustConnect(t, config)
		for _, statement := range []string{"CREATE KEYSPACE " + config.Keyspace +
			" WITH replication = " + mapLiteral(config.replication()),
			"CREATE ROLE service WITH LOGIN = true AND PASSWORD = 'service'",
			fmt.Sprintf("GRANT SELECT ON KEYSPACE %s TO service", config.Keyspace)} {
			if err := execute(t, admin, statement); err != nil {
				t.Fatal(err)
			}
		}
		config.Username, config.Password = "service", "service"
		var log bytes.Buffer
		config.Log = slog.New(slog.NewTextHandler(&log, nil))
		s := mustConnect(t, config)
		if _, err := s.CommitLog(t.Context()); err == nil {
			t.Error("a role without rights on system_views reads it")
		}
		if text := s.Warning(t.Context()); text != "" || log.Len() > 0 {
			t.Errorf("it says %q, %s", text, &log)
		}
	})
}

func TestReplicas(t *testing.T) {
	for _, c := range []struct {
		replication map[string]string
		datacenter  string
		want        int
	}{
		{nil, "", 0},
		{map[string]string{"class": "org.apache.cassandra.locator.SimpleStrategy",
			"replication_factor": "1"}, "", 1},
		{map[string]string{"class": "org.apache.cassandra.locator.SimpleStrategy",
			"replication_factor": "1"}, "dc1", 1},
		{map[string]string{"class": "org.apache.cassandra.locator.NetworkTopologyStrategy",
			"dc1": "3", "dc2": "1"}, "dc1", 3},
		{map[string]string{"class": "org.apache.cassandra.locator.NetworkTopologyStrategy",
			"dc1": "3", "dc2": "1"}, "dc2", 1},
		{map[string]string{"class": "org.apache.cassandra.locator.NetworkTopologyStrategy",
			"dc1": "3", "dc2": "1"}, "", 1},
		{map[string]string{"class": "org.apache.cassandra.locator.NetworkTopologyStrategy",
			"dc1": "3/1"}, "dc1", 3},
		{map[string]string{"class": "org.apache.cassandra.locator.EverywhereStrategy"}, "", 0},
	} {
		if got := replicas(c.replication, c.datacenter); got != c.want {
			t.Errorf("%v in %q: %d, want %d", c.replication, c.datacenter, got, c.want)
		}
	}
}
