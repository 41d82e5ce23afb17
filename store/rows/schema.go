package rows

import (
	"context"
	"errors"
	"time"
)

// Schema is which tables an engine is to have.
type Schema struct {
	// Tables returns which tables there must be. It may read those that are there.
	Tables func(context.Context) ([]*Table, error)
	// Seed writes the rows that an engine without any begins with.
	Seed func(context.Context) error
}

// Changes is what applying a Schema may do beside creating what is missing.
type Changes struct {
	Alter           bool // set what differs: TTLs, compaction, compression, more replicas
	AllowShorterTTL bool // even if rows will expire earlier than they do now
}

var (
	// ErrLayout is wrapped by errors about a table that is there with other columns than ours.
	ErrLayout = errors.New("store: a table of another layout")
	// ErrLoss is wrapped by errors about changes that would lose data.
	ErrLoss = errors.New("store: refused, because it would lose data")
	// ErrRights is wrapped by the error if we may not change the schema and it has to be changed.
	ErrRights = errors.New("store: this role may not change the schema")
)

// TableUse is how much of a table there is. In Cassandra sizes are those of its own virtual tables
// system_views.disk_usage and max_partition_size, which each node knows of itself only: SSTables on
// disk, compressed, all replicas, without what is still in memory; whole MiB, rounded up at each
// node.
type TableUse struct {
	Name         string
	TTL          time.Duration // 0: for ever
	DiskMiB      int64         // of all nodes together
	PartitionMiB int64         // its largest partition, before compression; 0: nobody knows
}

// Use is how much there is of all tables.
type Use struct {
	Tables []TableUse
	Nodes  int // of Cassandra, that were asked for sizes
	Away   int // of Cassandra, that did not answer
	Why    error
}
