package cassandra

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// CommitLog is what Cassandra says of how safe a write is that it has acknowledged.
type CommitLog struct {
	Keyspace string
	// of the keyspace where this process writes; 0: the keyspace is not there yet
	Replicas int
	Sync     map[string]string // commitlog_sync (periodic, group or batch) by node
}

// CommitLogRemedy is what to do about CommitLog.Risk.
const CommitLogRemedy = "set commitlog_sync: group and commitlog_sync_group_window: 10ms in " +
	"cassandra.yaml (4.0: commitlog_sync_group_window_in_ms: 10) and " +
	"restart the node, or keep three replicas"

// Risk says in a sentence how an acknowledged frame can be lost, or returns "". With several
// replicas it takes the crash of most of them at once.
func (c CommitLog) Risk() string {
	if c.Replicas != 1 {
		return ""
	}
	for _, node := range slices.Sorted(maps.Keys(c.Sync)) {
		if c.Sync[node] == "periodic" {
			return fmt.Sprintf(
				"acknowledged frames can be lost: keyspace %s has one replica and Cassandra at "+
					"%s has commitlog_sync periodic, so that a crash of it loses up to its last "+
					"commitlog_sync_period (10 s by default)", c.Keyspace, node)
		}
	}
	return ""
}

// CommitLog asks Cassandra. Nodes are asked one after the other until one is periodic; those that
// do not answer are left out. The error is that of the first node if none tells: before 4.0 there
// is no system_views.settings, and a role needs the right to read it.
func (s *Session) CommitLog(ctx context.Context) (CommitLog, error) {
	c := CommitLog{Keyspace: s.config.Keyspace, Sync: map[string]string{}}
	session, err := s.CQL()
	if err != nil {
		return c, err
	}
	var replication map[string]string
	err = session.Query("SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?",
		c.Keyspace).Consistency(gocql.One).ScanContext(ctx, &replication)
	if err != nil && !errors.Is(err, gocql.ErrNotFound) {
		return c, asRowsError(err)
	}
	c.Replicas = replicas(replication, s.config.Datacenter)
	var first error
	for _, h := range session.GetHosts() {
		if s.config.Datacenter != "" && h.DataCenter() != s.config.Datacenter {
			continue
		}
		var sync string
		err := session.Query("SELECT value FROM system_views.settings WHERE name = "+
			"'commitlog_sync'").SetHostID(h.HostID()).Consistency(gocql.One).ScanContext(ctx, &sync)
		if err != nil {
			if first == nil {
				first = asRowsError(err)
			}
			continue
		}
		if c.Sync[h.ConnectAddressAndPort()] = sync; sync == "periodic" {
			break
		}
	}
	if len(c.Sync) == 0 {
		return c, first
	}
	return c, nil
}

// replicas returns how many copies a keyspace keeps in a datacenter, or, where that is "" or not
// among them, where it keeps the fewest.
func replicas(replication map[string]string, datacenter string) int {
	if n := copies(replication[datacenter]); n > 0 {
		return n
	}
	fewest := 0
	for name, value := range replication {
		if n := copies(value); name != "class" && n > 0 && (fewest == 0 || n < fewest) {
			fewest = n
		}
	}
	return fewest
}

// What the warning costs: a readiness probe asks Cassandra once in this time, and no longer than
// that.
const (
	warningAge     = time.Minute
	warningTimeout = 2 * time.Second
)

// warning remembers what CommitLog.Risk said last.
type warning struct {
	mu    sync.Mutex
	asked time.Time
	text  string
}

// Warning returns in a sentence, with the remedy, how acknowledged frames can be lost, or "". It
// logs the sentence when it is new: roles call it when they start. What it cannot learn, for want
// of rights or because Cassandra is away, is no warning, and what it knew before stays.
func (s *Session) Warning(ctx context.Context) string {
	w := &s.warning
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.asked.IsZero() && time.Since(w.asked) < warningAge {
		return w.text
	}
	ctx, cancel := context.WithTimeout(ctx, warningTimeout)
	defer cancel()
	c, err := s.CommitLog(ctx)
	w.asked = time.Now()
	if err != nil {
		s.log.Debug("store: cannot see Cassandra's commitlog_sync", "error", err)
		return w.text
	}
	text := c.Risk()
	if text != "" {
		text += ": " + CommitLogRemedy
	}
	if text != "" && text != w.text {
		s.log.Warn("store: " + text)
	}
	w.text = text
	return text
}
