package agent_test

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/dev/eventually"
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

// running is a task that Cassandra is told to do with a table of keyspace watched.
type running struct {
	task, table string
	command     []string
}

// testTasks sees tasks that Cassandra is told to do, with what they have done, and their ends.
func (n *node) testTasks(t *testing.T) {
	n.fillBig(t, "big", 2, 64)
	n.fillBig(t, "old", 1, 130) // long enough to be seen on a busy machine
	n.nodetool(t, "setcompactionthroughput", "1")
	n.testRunning(t, false,
		running{"compaction", "big", []string{"compact", "watched", "big"}},
		running{"upgrade_sstables", "old", []string{"upgradesstables", "-a", "watched", "old"}})
	// no throttle slows a scrub down, but it can compress hard, for some 3 s of a core
	n.exec(t, "ALTER TABLE watched.old WITH compression = {'class': 'ZstdCompressor', "+
		"'compression_level': 22, 'chunk_length_in_kb': 1024}")
	scrubbed := n.begin(t, "scrub", "-ns", "watched", "old")
	n.testRunning(t, true,
		running{"garbage_collect", "big", []string{"garbagecollect", "watched", "big"}})
	if err := <-scrubbed; err != nil {
		t.Fatal(err)
	}
	n.wasSeen(t, "scrub")
	n.testIndexBuild(t)
	n.exec(t, "DROP TABLE watched.big")
	n.exec(t, "DROP TABLE watched.old")
}

// fillBig makes a table of as many files, each of so many rows of 64 KiB.
func (n *node) fillBig(t *testing.T, table string, files, rows int) {
	n.exec(t, "CREATE TABLE watched."+table+" (k int, c int, v blob, PRIMARY KEY (k, c)) WITH "+
		"compaction = {'class': 'SizeTieredCompactionStrategy', 'enabled': false}")
	// it hardly compresses, and Zstd tries for long
	noise := make([]byte, 64<<10)
	for file := range files {
		for i := range rows {
			if _, err := rand.Read(noise); err != nil {
				t.Fatal(err)
			}
			for b := range noise {
				noise[b] &= 15
			}
			n.exec(t, "INSERT INTO watched."+table+" (k, c, v) VALUES (?, ?, ?)", i, file, noise)
		}
		n.flush(t, "watched")
	}
}

// testRunning sees tasks beside each other. They run throttled, to their ends unless the throttle
// is to be turned off.
func (n *node) testRunning(t *testing.T, unthrottle bool, all ...running) {
	var ended []<-chan error
	for _, c := range all {
		ended = append(ended, n.begin(t, c.command...))
	}
	open := slices.Clone(all)
	n.until(t, "what it is told to do", func(s *state) (wrong error) {
		open = slices.DeleteFunc(open, func(c running) bool {
			err := n.seesRunning(t, s, c)
			if err != nil {
				wrong = fmt.Errorf("%s: %w", c.task, err)
			}
			return err == nil
		})
		return wrong
	})
	if unthrottle {
		n.nodetool(t, "setcompactionthroughput", "0")
	}
	for i, c := range all {
		if err := <-ended[i]; err != nil {
			t.Fatal(err)
		}
		n.until(t, "the end of the "+c.task, func(s *state) error {
			if keys := s.with("cassandra_task_done_ratio", "watched|0|"+c.table); len(keys) > 0 {
				return fmt.Errorf("%q are there", keys)
			}
			if running := s.text("cassandra_tasks_running|" + c.task); running != "0" {
				return fmt.Errorf("%s run", running)
			}
			return nil
		})
	}
}

// seesRunning is nil if the frame has all of the task, and Cassandra's own table has it, too.
func (n *node) seesRunning(t *testing.T, s *state, c running) error {
	// labels by name: keyspace, slot, table, task
	labels := "watched|0|" + c.table + "|" + c.task
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
	its := n.cql.Query("SELECT task_id, progress FROM system_views.sstable_tasks WHERE "+
		"keyspace_name = 'watched' AND table_name = ?", c.table).Iter()
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
}

// wasSeen waits until a task of that kind was in a frame, and runs in it no more.
func (n *node) wasSeen(t *testing.T, task string) {
	t.Helper()
	n.until(t, "the end of a "+task, func(s *state) error {
		if s.series["cassandra_tasks_running|"+task] == nil {
			return errors.New("none was seen")
		}
		if running := s.text("cassandra_tasks_running|" + task); running != "0" {
			return fmt.Errorf("%s run", running)
		}
		return nil
	})
}

// testIndexBuild makes an index of so many rows that the frames of a second cannot all miss it, nor
// its cleanup when all rows are another node's: no throttle slows that down.
func (n *node) testIndexBuild(t *testing.T) {
	n.exec(t, "CREATE KEYSPACE moved"+replication)
	n.exec(t, "CREATE TABLE moved.rows (k int, c int, v int, PRIMARY KEY (k, c))")
	for k := range 100 {
		batch := n.cql.Batch(gocql.UnloggedBatch)
		for c := range 1000 {
			batch.Query(fmt.Sprintf("INSERT INTO moved.rows (k, c, v) VALUES (%d, %d, %d)", k, c,
				k*1000+c))
		}
		// A busy machine may take longer than Cassandra waits; writing it again changes nothing.
		eventually.Nil(t, "a thousand rows are written", batch.Exec)
	}
	n.flush(t, "moved")
	n.exec(t, "CREATE INDEX by_v ON moved.rows (v)")
	n.wasSeen(t, "index_build")
	n.exec(t, "ALTER KEYSPACE moved"+strings.Replace(replication, "1}", "0}", 1))
	n.nodetool(t, "cleanup", "moved", "rows")
	n.wasSeen(t, "cleanup")
	n.exec(t, "DROP KEYSPACE moved")
}

// client speaks as much of CQL's protocol 4 as to say which driver it is, and to ask.
type client struct{ net.Conn }

func (n *node) client(t *testing.T, driver, version string) client {
	t.Helper()
	conn, err := net.Dial("tcp", net.JoinHostPort(n.Host, strconv.Itoa(n.NativePort)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	c := client{conn}
	options := []string{"CQL_VERSION", "3.0.0", "DRIVER_NAME", driver, "DRIVER_VERSION", version}
	body := []byte{0, byte(len(options) / 2)}
	for _, text := range options {
		body = append(binary.BigEndian.AppendUint16(body, uint16(len(text))), text...)
	}
	if opcode := c.call(t, 1, body); opcode != 2 {
		t.Fatalf("no READY to STARTUP but %d", opcode)
	}
	return c
}

// call sends a message and returns the answer's opcode.
func (c client) call(t *testing.T, opcode byte, body []byte) byte {
	t.Helper()
	if _, err := c.Write(append(binary.BigEndian.AppendUint32([]byte{4, 0, 0, 0, opcode},
		uint32(len(body))), body...)); err != nil {
		t.Fatal(err)
	}
	var header [9]byte
	_, err := io.ReadFull(c, header[:])
	if err == nil {
		_, err = io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(header[5:])))
	}
	if err != nil {
		t.Fatal(err)
	}
	return header[4]
}

func (c client) query(t *testing.T, text string) {
	t.Helper()
	body := append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
	if opcode := c.call(t, 7, append(body, 0, 1, 0)); opcode != 8 {
		t.Fatalf("no RESULT to %s but %d", text, opcode)
	}
}

// testDriver finds a driver among the clients, and what it has asked after it has gone.
func (n *node) testDriver(t *testing.T) {
	const (
		labels   = "|A driver|1.2.3|4|false|anonymous"
		requests = "cassandra_driver_requests_total" + labels
	)
	clients := []client{n.client(t, "A driver", "1.2.3"), n.client(t, "A driver", "1.2.3")}
	n.client(t, "A \x00\x1b[31m"+strings.Repeat("Ü", 2000), "\n") // frames with it are good, too
	asked := func(want float64) func(s *state) error {
		return func(s *state) error {
			connections := s.text("cassandra_driver_connections" + labels)
			if now := s.number(requests); connections != "2" || now < want || now > want+10 {
				return fmt.Errorf("%s connections, %g requests; there are %q; %s reads failed",
					connections, now, s.with("cassandra_driver_requests_total", ""),
					s.text("ringwatch_agent_read_errors_total"))
			}
			addresses := strings.Split(s.text("cassandra_driver_addresses_info"+labels), ",")
			for _, c := range clients {
				if !slices.Contains(addresses, c.LocalAddr().String()) {
					return fmt.Errorf("%s is not in %q", c.LocalAddr(), addresses)
				}
			}
			return nil
		}
	}
	n.until(t, "this driver", asked(0))
	for range 100 {
		clients[1].query(t, "SELECT key FROM system.local")
	}
	before := n.until(t, "its requests", asked(100)).number(requests)
	clients[1].Close()
	n.until(t, "the end of one connection", func(s *state) error {
		if got := s.text("cassandra_driver_connections" + labels); got != "1" {
			return fmt.Errorf("there are %s", got)
		}
		return nil
	})
	clients[0].query(t, "SELECT key FROM system.local")
	clients[0].Close()
	s := n.until(t, "the end of all", func(s *state) error {
		if got := s.text("cassandra_driver_connections" + labels); got != "0" {
			return fmt.Errorf("there are %s", got)
		}
		return nil
	})
	if now := s.number(requests); now < before {
		t.Errorf("%g requests after %g", now, before)
	}
}

// takeSnapshot returns when it was taken. Which there are is looked for once a minute, so it is
// taken early, and its end is waited for late.
func (n *node) takeSnapshot(t *testing.T) int64 {
	t.Helper()
	at := time.Now().Unix()
	n.nodetool(t, "snapshot", "-t", "of_this_test", "-cf", "t", "watched")
	return at
}

func (n *node) testSnapshot(t *testing.T, taken int64) {
	const of = "|watched|t"
	if got := n.next(t).text("cassandra_node_incremental_backups_enabled"); got != "0" {
		t.Errorf("incremental backups are %q", got)
	}
	n.nodetool(t, "enablebackup")
	n.until(t, "a snapshot", func(s *state) error {
		if got := s.text("cassandra_node_incremental_backups_enabled"); got != "1" {
			return fmt.Errorf("incremental backups are %q", got)
		}
		if got := s.text("cassandra_snapshots" + of); got != "1" {
			return fmt.Errorf("there are %q", got)
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
}

// testSnapshotGone waits for what testSnapshot has left.
func (n *node) testSnapshotGone(t *testing.T) {
	n.until(t, "no snapshot", func(s *state) error {
		if keys := s.with("cassandra_snapshots", "watched|t"); len(keys) > 0 {
			return fmt.Errorf("%q are there", keys)
		}
		return nil
	})
}
