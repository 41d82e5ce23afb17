package cassandra

import (
	"context"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/store/rows"
)

// Use asks all nodes how much there is. One that does not answer is left out and counted.
func (s *Session) Use(ctx context.Context) (rows.Use, error) {
	var u rows.Use
	err := s.systemQuery(ctx, func(scan func(...any) bool) bool {
		var name string
		var ttl int64
		if !scan(&name, &ttl) {
			return false
		}
		u.Tables = append(u.Tables,
			rows.TableUse{Name: name, TTL: time.Duration(ttl) * time.Second})
		return true
	}, "SELECT table_name, default_time_to_live FROM system_schema.tables WHERE keyspace_name = ?",
		s.config.Keyspace)
	if err != nil {
		return u, err
	}
	session, err := s.CQL()
	if err != nil {
		return u, err
	}
	for _, h := range session.GetHosts() {
		if err := sizesAt(ctx, session, h.HostID(), s.config.Keyspace, u.Tables); err != nil {
			u.Away, u.Why = u.Away+1, err
			continue
		}
		u.Nodes++
	}
	return u, nil
}

// sizesAt adds what one node has.
func sizesAt(ctx context.Context, session *gocql.Session, host, keyspace string,
	tables []rows.TableUse) error {
	disk, partition := make([]int64, len(tables)), make([]int64, len(tables))
	for i, t := range tables {
		for view, into := range map[string]*int64{"disk_usage": &disk[i],
			"max_partition_size": &partition[i]} {
			iter := session.Query("SELECT mebibytes FROM system_views."+view+
				" WHERE keyspace_name = ? AND table_name = ?", keyspace, t.Name).
				SetHostID(host).Consistency(gocql.One).IterContext(ctx)
			for iter.Scan(into) {
			}
			if err := iter.Close(); err != nil {
				return asRowsError(err)
			}
		}
	}
	for i := range tables {
		tables[i].DiskMiB += disk[i]
		tables[i].PartitionMiB = max(tables[i].PartitionMiB, partition[i])
	}
	return nil
}

// TTL returns how long a table keeps its rows; 0: for ever.
func (s *Session) TTL(ctx context.Context,
	table string) (ttl time.Duration, found bool, err error) {
	var n int64
	err = s.systemQuery(ctx, func(scan func(...any) bool) bool {
		more := scan(&n)
		found = found || more
		return more
	}, "SELECT default_time_to_live FROM system_schema.tables WHERE keyspace_name = ? AND "+
		"table_name = ?", s.config.Keyspace, table)
	return time.Duration(n) * time.Second, found, err
}

// ClockOff returns by how much a Cassandra node's clock is ahead of ours, as well as one exchange
// can tell.
func (s *Session) ClockOff(ctx context.Context) (time.Duration, error) {
	var id gocql.UUID
	err := s.systemQuery(ctx, func(scan func(...any) bool) bool { return scan(&id) },
		"SELECT now() FROM system.local")
	return time.Until(id.Time()), err
}
