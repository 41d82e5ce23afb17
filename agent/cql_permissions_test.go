package agent_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/dev/engines"
)

// TestSystemMetricsPermissions: a role reads what it was granted, as of any table.
func TestSystemMetricsPermissions(t *testing.T) {
	n := mustNode(t, engines.Cassandra50, func(c *engines.CassandraConfig) {
		c.JVMArgs = append(c.JVMArgs, "-Dcassandra.superuser_setup_delay_ms=0")
		c.Extra = map[string]any{"authenticator": "PasswordAuthenticator",
			"authorizer": "CassandraAuthorizer", "permissions_validity": "0ms",
			"roles_validity": "0ms"}
	})
	n.exec(t, "CREATE ROLE reader WITH PASSWORD = 'reader' AND LOGIN = true")
	cluster := n.cluster()
	cluster.Authenticator = gocql.PasswordAuthenticator{Username: "reader", Password: "reader"}
	reader, err := cluster.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reader.Close)
	may := func(statement string) bool {
		t.Helper()
		err := reader.Query(statement).ExecContext(t.Context())
		if err != nil && !strings.Contains(err.Error(), "no SELECT permission") {
			t.Fatalf("%s: %v", statement, err)
		}
		return err == nil
	}
	const timers, counters, state = "SELECT * FROM system_metrics.type_timer", "SELECT * FROM " +
		"system_metrics.type_counter", "SELECT * FROM system_ringwatch.agent"
	if may(timers) || may(counters) || may(state) {
		t.Error("read without permission")
	}
	n.exec(t, "GRANT SELECT ON system_metrics.type_timer TO reader")
	if !may(timers) || may(counters) {
		t.Error("one table was granted")
	}
	if err := n.cql.Query("GRANT SELECT ON KEYSPACE system_metrics TO reader").ExecContext(
		t.Context()); err == nil {
		t.Error("the keyspace can be granted as a whole: say so in the package's page")
	}
	n.exec(t, "REVOKE SELECT ON system_metrics.type_timer FROM reader")
	if may(timers) {
		t.Error("it was revoked")
	}
	n.exec(t, "GRANT SELECT ON ALL KEYSPACES TO reader")
	if !may(timers) || !may(counters) || !may(state) {
		t.Error("all was granted")
	}
}

// TestSystemMetricsOff: cql: false, and later a keyspace of that name that is somebody's: one
// line, and the agent goes on.
func TestSystemMetricsOff(t *testing.T) {
	dir := t.TempDir()
	in := func(c *engines.CassandraConfig) { c.Dir = dir }
	keyspaces := func(n *node) (names []string) {
		iter := n.cql.Query("SELECT keyspace_name FROM system_virtual_schema.keyspaces").
			IterContext(t.Context())
		for name := ""; iter.Scan(&name); {
			names = append(names, name)
		}
		if err := iter.Close(); err != nil {
			t.Fatal(err)
		}
		return names
	}
	t.Run("Off", func(t *testing.T) {
		n := mustNodeWith(t, engines.Cassandra50, "cql: false\n", in)
		n.next(t)
		if got := keyspaces(n); slices.Contains(got, "system_metrics") ||
			slices.Contains(got, "system_ringwatch") || len(got) == 0 {
			t.Errorf("it is off and there are %v", got)
		}
		n.exec(t, "CREATE KEYSPACE system_metrics"+replication)
		n.fill(t, "system_metrics.mine", 3)
		if err := n.Stop(t.Context()); err != nil { // not killed: what was written is kept
			t.Fatal(err)
		}
	})
	n := mustNode(t, engines.Cassandra50, in)
	n.testState(t)
	if got := keyspaces(n); slices.Contains(got, "system_metrics") ||
		!slices.Contains(got, "system_ringwatch") {
		t.Errorf("there are %v", got)
	}
	var rows int
	if err := n.cql.Query("SELECT COUNT(*) FROM system_metrics.mine").ScanContext(t.Context(),
		&rows); err != nil || rows != 3 {
		t.Errorf("somebody's own keyspace has %d rows and not 3: %v", rows, err)
	}
	log, err := os.ReadFile(filepath.Join(dir, "cassandra.log"))
	if err != nil {
		t.Fatal(err)
	}
	const line = "ringwatch-agent: there are no tables in CQL: there is a keyspace " +
		"system_metrics already; set cql: false, or rename yours\n"
	if strings.Count(string(log), line) != 1 {
		t.Errorf("Cassandra's log lacks the line %q", line)
	}
}
