package agent_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// begin runs a command of nodetool beside the test. The channel has its error when it ends, which
// it does with the test at the latest.
func (n *node) begin(t *testing.T, words ...string) <-chan error {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, err := n.Nodetool(ctx, words...)
		ended <- err
		close(ended)
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return ended
}

func (n *node) nodetool(t *testing.T, words ...string) {
	t.Helper()
	if _, err := n.Nodetool(t.Context(), words...); err != nil {
		t.Fatal(err)
	}
}

// with returns the series of that name whose labels, as keyOf has them, begin so.
func (s *state) with(name, labels string) (keys []string) {
	for key := range s.series {
		if strings.HasPrefix(key, name+"|"+labels) {
			keys = append(keys, key)
		}
	}
	return keys
}

// number is a series' value in its unit.
func (s *state) number(key string) float64 {
	of := s.series[key]
	switch {
	case of == nil:
		return 0
	case of.Doubles != nil:
		return of.Doubles[0]
	}
	return scaled(of.Ints[0], of.Metric.Exponent)
}

// testTasks sees a task that Cassandra is told to do, with what it has done, and its end.
func (n *node) testTasks(t *testing.T) {
	n.exec(t, "CREATE TABLE watched.big (k int, c int, v blob, PRIMARY KEY (k, c)) WITH "+
		"compaction = {'class': 'SizeTieredCompactionStrategy', 'enabled': false}")
	noise := make([]byte, 64<<10) // it does not compress
	for part := range 2 {
		for i := range 64 {
			if _, err := rand.Read(noise); err != nil {
				t.Fatal(err)
			}
			n.exec(t, "INSERT INTO watched.big (k, c, v) VALUES (?, ?, ?)", i, part, noise)
		}
		n.flush(t, "watched")
	}
	n.nodetool(t, "setcompactionthroughput", "1")
	for _, c := range []struct {
		task    string
		command []string
	}{
		{"compaction", []string{"compact", "watched", "big"}},
		{"garbage_collect", []string{"garbagecollect", "watched", "big"}},
	} {
		// labels by name: keyspace, slot, table, task
		labels := "watched|0|big|" + c.task
		ended := n.begin(t, c.command...)
		n.until(t, "a "+c.task, func(s *state) error {
			key := func(metric string) string { return "cassandra_task_" + metric + "|" + labels }
			done, size := s.number(key("done_bytes")), s.number(key("size_bytes"))
			switch ratio := s.number(key("done_ratio")); {
			case done <= 0 || done >= size || size < 4<<20:
				return fmt.Errorf("%g bytes of %g", done, size)
			case ratio != done/size:
				return fmt.Errorf("a ratio of %g for %g bytes of %g", ratio, done, size)
			case s.series[key("remaining_seconds")] == nil:
				return errors.New("its end is not known")
			case s.number("cassandra_tasks_running|"+c.task) < 1:
				return errors.New("none of its kind runs")
			}
			started := s.number(key("started_timestamp_seconds"))
			if ago := float64(s.at)/1e3 - started; ago < 0 || ago > patience.Seconds() {
				t.Errorf("it began %g s ago", ago)
			}
			id, found := s.text(key("id_info")), false
			its := n.cql.Query("SELECT task_id, progress FROM system_views.sstable_tasks " +
				"WHERE keyspace_name = 'watched' AND table_name = 'big'").Iter()
			for row := map[string]any{}; its.MapScan(row); row = map[string]any{} {
				found = found || fmt.Sprint(row["task_id"]) == id
			}
			if err := its.Close(); err != nil {
				return err
			}
			if !found {
				return fmt.Errorf("Cassandra knows no task %s", id)
			}
			return nil
		})
		if c.task == "garbage_collect" { // a throttle that is turned off lets it end
			n.nodetool(t, "setcompactionthroughput", "0")
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		n.until(t, "the end of the "+c.task, func(s *state) error {
			if keys := s.with("cassandra_task_done_ratio", "watched|0|big"); len(keys) > 0 {
				return fmt.Errorf("%q are there", keys)
			}
			if running := s.text("cassandra_tasks_running|" + c.task); running != "0" {
				return fmt.Errorf("%s run", running)
			}
			return nil
		})
	}
	n.testIndexBuild(t)
	n.exec(t, "DROP TABLE watched.big")
}

// testIndexBuild makes an index of so many rows that the frames of a second cannot all miss it.
func (n *node) testIndexBuild(t *testing.T) {
	n.exec(t, "CREATE TABLE watched.rows (k int, c int, v int, PRIMARY KEY (k, c))")
	for k := range 100 {
		batch := n.cql.Batch(gocql.UnloggedBatch)
		for c := range 1000 {
			batch.Query(fmt.Sprintf("INSERT INTO watched.rows (k, c, v) VALUES (%d, %d, %d)", k, c,
				k*1000+c))
		}
		if err := batch.Exec(); err != nil {
			t.Fatal(err)
		}
	}
	n.flush(t, "watched")
	at := time.Now().UnixMilli()
	n.exec(t, "CREATE INDEX by_v ON watched.rows (v)")
	n.until(t, "an index that was built", func(s *state) error {
		if s.at > at && s.series["cassandra_tasks_running|index_build"] == nil {
			return errors.New("no index build was seen")
		}
		if running := s.text("cassandra_tasks_running|index_build"); running != "0" {
			return fmt.Errorf("%s run", running)
		}
		return nil
	})
	n.exec(t, "DROP TABLE watched.rows")
}

// testDriver finds this test among the clients, and what it has asked after it has gone.
func (n *node) testDriver(t *testing.T) {
	cluster := n.cluster()
	cluster.ProtoVersion, cluster.NumConns, cluster.DisableInitialHostLookup = 4, 3, true
	cluster.Authenticator = gocql.PasswordAuthenticator{Username: "cassandra",
		Password: "cassandra"}
	const requests = "cassandra_driver_requests_total"
	of := func(s *state, metric string) (string, float64) {
		for _, key := range s.with(metric, "") {
			// by name: driver_name, driver_version, protocol_version, tls, username
			if l := strings.Split(key, "|"); strings.Contains(l[1], "gocql") && l[2] != "" &&
				l[4] == "false" && l[5] != "" && l[3] == "4" {
				return key, s.number(key)
			}
		}
		return "", 0
	}
	_, before := of(n.next(t), "cassandra_driver_connections")
	_, asked := of(n.next(t), requests)
	session, err := cluster.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if err := session.Query("SELECT key FROM system.local").Exec(); err != nil {
			t.Fatal(err)
		}
	}
	n.until(t, "this driver", func(s *state) error {
		key, connections := of(s, "cassandra_driver_connections")
		_, now := of(s, requests)
		if connections < before+3 || now < asked+100 {
			return fmt.Errorf("%s: %g connections after %g, %g requests after %g", key, connections,
				before, now, asked)
		}
		name := strings.Replace(key, "_connections|", "_addresses_info|", 1)
		if text := s.text(name); strings.Count(text, ":") != int(connections) {
			return fmt.Errorf("%g connections from %q", connections, text)
		}
		asked = now
		return nil
	})
	session.Close()
	n.until(t, "its end", func(s *state) error {
		_, connections := of(s, "cassandra_driver_connections")
		_, now := of(s, requests)
		if now < asked {
			t.Fatalf("%g requests after %g", now, asked)
		}
		if connections > before {
			return fmt.Errorf("%g connections", connections)
		}
		return nil
	})
}

// testSnapshot takes a snapshot and clears it again.
func (n *node) testSnapshot(t *testing.T) {
	const of = "|watched|t"
	if got := n.next(t).text("cassandra_node_incremental_backups_enabled"); got != "0" {
		t.Errorf("incremental backups are %q", got)
	}
	taken := time.Now().Unix()
	n.nodetool(t, "snapshot", "-t", "of_this_test", "-cf", "t", "watched")
	n.nodetool(t, "enablebackup")
	n.until(t, "a snapshot", func(s *state) error {
		if got := s.text("cassandra_snapshots" + of); got != "1" {
			return fmt.Errorf("there are %q", got)
		}
		if got := s.text("cassandra_node_incremental_backups_enabled"); got != "1" {
			return fmt.Errorf("incremental backups are %q", got)
		}
		oldest := s.number("cassandra_snapshot_oldest_timestamp_seconds" + of)
		newest := s.number("cassandra_snapshot_newest_timestamp_seconds" + of)
		size := s.number("cassandra_snapshot_size_bytes" + of)
		if oldest != newest || oldest < float64(taken-2) || oldest > float64(s.at)/1e3 ||
			size < 1000 {
			return fmt.Errorf("from %g to %g of %g bytes", oldest, newest, size)
		}
		return nil
	})
	n.nodetool(t, "clearsnapshot", "-t", "of_this_test", "watched")
	n.nodetool(t, "disablebackup")
	n.until(t, "no snapshot", func(s *state) error {
		if keys := s.with("cassandra_snapshots", "watched|t"); len(keys) > 0 {
			return fmt.Errorf("%q are there", keys)
		}
		return nil
	})
}
