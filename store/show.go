package store

import (
	"context"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// Overview is what ringwatch schema show prints.
type Overview struct {
	Ranges []Range
	Tables []TableUse
	Nodes  int // of Cassandra, that were asked for sizes
	Away   int // of Cassandra, that did not answer
	Why    error
}

// Range is a range of time and the generation that serves it.
type Range struct {
	Cutover
	Until   int64 // the next cutover; 0: none
	Expires int64 // when its last data has expired; 0: it goes on
}

// TableUse is how much of a table there is. Sizes are those of Cassandra's own virtual tables system_views.disk_usage and max_partition_size, which each node
// knows of itself only: SSTables on disk, compressed, all replicas, without what is still in memory; whole MiB, rounded up at each node.
type TableUse struct {
	Name         string
	TTL          time.Duration // 0: for ever
	DiskMiB      int64         // of all nodes together
	PartitionMiB int64         // its largest partition, before compression
}

// Show describes the schema as it is. A node that does not answer is left out and counted.
func (s *Store) Show(ctx context.Context) (Overview, error) {
	var o Overview
	list, err := s.readCutovers(ctx)
	if err != nil {
		return o, err
	}
	for i, c := range list {
		r := Range{Cutover: c}
		if until, ends := s.servesUntil(list, i); ends {
			r.Until, r.Expires = list[i+1].At, until
		}
		o.Ranges = append(o.Ranges, r)
	}
	err = s.each(ctx, func(scan func(...any) bool) bool {
		var name string
		var ttl int64
		if !scan(&name, &ttl) {
			return false
		}
		o.Tables = append(o.Tables, TableUse{Name: name, TTL: time.Duration(ttl) * time.Second})
		return true
	}, "SELECT table_name, default_time_to_live FROM system_schema.tables WHERE keyspace_name = ?", s.config.Keyspace)
	if err != nil {
		return o, err
	}
	session, err := s.cql()
	if err != nil {
		return o, err
	}
	for _, h := range session.GetHosts() {
		if err := s.sizesAt(ctx, session, h.HostID(), o.Tables); err != nil {
			o.Away, o.Why = o.Away+1, err
			continue
		}
		o.Nodes++
	}
	return o, nil
}

// sizesAt adds what one node has.
func (s *Store) sizesAt(ctx context.Context, session *gocql.Session, host string, tables []TableUse) error {
	disk, partition := make([]int64, len(tables)), make([]int64, len(tables))
	for i, t := range tables {
		for view, into := range map[string]*int64{"disk_usage": &disk[i], "max_partition_size": &partition[i]} {
			iter := session.Query("SELECT mebibytes FROM system_views."+view+" WHERE keyspace_name = ? AND table_name = ?", s.config.Keyspace, t.Name).
				SetHostID(host).Consistency(gocql.One).IterContext(ctx)
			for iter.Scan(into) {
			}
			if err := iter.Close(); err != nil {
				return err
			}
		}
	}
	for i := range tables {
		tables[i].DiskMiB += disk[i]
		tables[i].PartitionMiB = max(tables[i].PartitionMiB, partition[i])
	}
	return nil
}

// ClockOff returns by how much a Cassandra node's clock is ahead of ours, as well as one exchange can tell. Cutovers and write times need clocks that agree.
func (s *Store) ClockOff(ctx context.Context) (time.Duration, error) {
	var id gocql.UUID
	err := s.each(ctx, func(scan func(...any) bool) bool { return scan(&id) }, "SELECT now() FROM system.local")
	return time.Until(id.Time()), err
}
