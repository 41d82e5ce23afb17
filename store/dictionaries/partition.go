package dictionaries

import (
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/window"
)

// partitionKey names a partition that has dictionaries.
type partitionKey struct {
	table, account string
	node           uuid.UUID
	start          int64 // of its day or bucket
}

// Partition is one partition that has dictionaries, and how to write and read there.
type Partition struct {
	partitionKey
	ttl          time.Duration
	rows         *rows.Table
	row          func(key string, hash window.Hash, b []byte) rows.Row // a dictionary
	receipt      func(b []byte) rows.Row
	receiptQuery rows.Query // reads the receipt
}

// receiptName is the receipt's hash, which no dictionary has: theirs are 8 bytes long.
var receiptName = []byte("receipt")

func (s *Table) dayPartition(account string, node uuid.UUID,
	day int64) Partition {
	row := func(key string, hash, b []byte) rows.Row {
		return rows.Row{Key: []any{account, node, day, key, hash}, Values: []any{b}}
	}
	return Partition{
		partitionKey: partitionKey{TableName, account, node, day},
		ttl:          s.series.TTL,
		rows:         s.series,
		row: func(key string, hash window.Hash, b []byte) rows.Row {
			return row(key, hash[:], b)
		},
		receipt: func(b []byte) rows.Row { return row("", receiptName, b) },
		receiptQuery: rows.Query{Table: s.series, Key: []any{account, node},
			Equal: []any{day, "", receiptName}, Columns: []string{"blob"}},
	}
}

// InRollups is a partition of rollups, whose rows live for ttl, for the dictionaries in it.
func InRollups(table *rows.Table, account string, node uuid.UUID, bucket int64,
	ttl time.Duration) Partition {
	row := func(metric string, b []byte) rows.Row {
		return rows.Row{Key: []any{account, node, bucket, "", metric, bucket}, Values: []any{b},
			TTL: ttl}
	}
	return Partition{
		partitionKey: partitionKey{table.Name, account, node, bucket},
		ttl:          ttl,
		rows:         table,
		row: func(_ string, hash window.Hash, b []byte) rows.Row {
			return row(hash.String(), b)
		},
		receipt: func(b []byte) rows.Row { return row(string(receiptName), b) },
		receiptQuery: rows.Query{Table: table, Key: []any{account, node, bucket},
			Equal: []any{"", string(receiptName), bucket}, Columns: []string{"blob"}},
	}
}
