package engines

import (
	"errors"
	"net"
	"strconv"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

func itoa(n int) string { return strconv.Itoa(n) }

func cqlSession(t *testing.T, addr string) *gocql.Session {
	t.Helper()
	host, port, _ := net.SplitHostPort(addr)
	cluster := gocql.NewCluster(host)
	cluster.Port, _ = strconv.Atoi(port)
	cluster.Timeout, cluster.ConnectTimeout = Patience, Patience
	session, err := cluster.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return session
}

// One node goes through its whole life here: a start costs seconds.
func TestCassandra(t *testing.T) {
	node := MustCassandra(t, func(c *CassandraConfig) {
		c.Datacenter, c.Rack, c.ClusterName = "north", "r7", "its life"
	})

	session := cqlSession(t, node.Addr())
	var cluster, dc, rack, version string
	if err := session.Query("SELECT cluster_name, data_center, rack, release_version FROM "+
		"system.local").Scan(&cluster, &dc, &rack, &version); err != nil {
		t.Fatal(err)
	}
	if cluster != "its life" || dc != "north" || rack != "r7" || version != CassandraVersion {
		t.Errorf("the node is %q %q %q %q", cluster, dc, rack, version)
	}
	for _, statement := range []string{
		"CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
		"CREATE TABLE k.t (id int PRIMARY KEY, v text)",
		"INSERT INTO k.t (id, v) VALUES (1, 'kept')",
	} {
		if err := session.Query(statement).Exec(); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	if got := slackOf(t, node.proc.Pid()); got != timerSlack {
		t.Errorf("its timer slack is %v", got)
	}
	if conn, err := net.Dial("tcp", "127.0.0.1:"+itoa(node.JMXPort)); err != nil {
		t.Errorf("JMX does not listen: %v", err)
	} else {
		conn.Close()
	}

	t.Run("port taken", func(t *testing.T) {
		_, err := StartCassandra(t.Context(),
			CassandraConfig{Dir: t.TempDir(), NativePort: node.NativePort})
		if !errors.Is(err, ErrPortTaken) {
			t.Errorf("the error is not ErrPortTaken")
		}
		oneSentence(t, err, itoa(node.NativePort), "Cassandra's CQL", "choose another port")
	})
	t.Run("pause and resume", func(t *testing.T) {
		if err := node.Pause(); err != nil {
			t.Fatal(err)
		}
		if stat, _ := readStat(node.Pid()); stat.state != "T" {
			t.Errorf("a paused process has the state %s", stat.state)
		}
		if err := node.Resume(); err != nil {
			t.Fatal(err)
		}
		if err := node.Ready(t.Context()); err != nil {
			t.Error(err)
		}
	})

	session.Close()
	pid := node.Pid()
	if err := node.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	gone(t, pid)
	if err := node.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if node.Pid() == pid {
		t.Error("a restarted node has the old process")
	}
	var v string
	if err := cqlSession(t, node.Addr()).Query("SELECT v FROM k.t WHERE id = 1").Scan(
		&v); err != nil || v != "kept" {
		t.Errorf("after a restart the row is %q, %v", v, err)
	}
}

func TestCassandraThatCannotStart(t *testing.T) {
	Needed(t, "Cassandra")
	t.Run("bad setting", func(t *testing.T) {
		_, err := StartCassandra(t.Context(),
			CassandraConfig{Dir: t.TempDir(), Extra: map[string]any{"no_such_setting": 1}})
		oneSentence(t, err, "Cassandra ended while starting", "no_such_setting", "cassandra.log")
	})
	t.Run("missing agent", func(t *testing.T) {
		_, err := StartCassandra(t.Context(),
			CassandraConfig{Dir: t.TempDir(), JVMArgs: []string{"-javaagent:/nowhere/agent.jar=x"}})
		oneSentence(t, err, "/nowhere/agent.jar", "make build")
	})
}

// Two nodes on one machine see each other, as tests of clusters need it.
func TestCassandraCluster(t *testing.T) {
	first := MustCassandra(t)
	second := MustCassandra(t, func(c *CassandraConfig) {
		c.ListenAddress, c.StoragePort, c.Rack = "127.0.0.2", first.StoragePort, "rack2"
		c.Seeds = []string{net.JoinHostPort(first.Host, itoa(first.StoragePort))}
		c.Extra = map[string]any{"auto_bootstrap": false}
	})
	for _, node := range []*Cassandra{first, second} {
		session := cqlSession(t, node.Addr())
		for began := time.Now(); ; {
			var peers int
			err := session.Query("SELECT count(*) FROM system.peers_v2").Scan(&peers)
			if err == nil && peers == 1 {
				break
			}
			if time.Since(began) > Patience {
				t.Fatalf("%s sees %d peers, %v", node.Addr(), peers, err)
			}
		}
	}
}
