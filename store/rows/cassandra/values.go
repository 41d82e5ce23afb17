package cassandra

import (
	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/store/rows"
)

// kinds are Cassandra's names of rows' kinds. Times are its timestamps, so that a person at cqlsh
// can read them.
var kinds = map[rows.Kind]string{
	rows.Text: "text", rows.UUID: "uuid", rows.Time: "timestamp", rows.Int32: "int",
	rows.Int64: "bigint", rows.Double: "double", rows.Blob: "blob",
	rows.Texts: "frozen<list<text>>", rows.TextMap: "frozen<map<text, text>>",
	rows.BlobMap: "frozen<map<text, blob>>",
}

// driverValue returns a value as the driver takes it.
func driverValue(v any) any {
	switch v := v.(type) {
	case uuid.UUID:
		return gocql.UUID(v)
	case []uuid.UUID:
		list := make([]gocql.UUID, len(v))
		for i, id := range v {
			list[i] = gocql.UUID(id)
		}
		return list
	}
	return v
}

func driverValues(list []any) []any {
	out := make([]any, len(list), len(list)+4)
	for i, v := range list {
		out[i] = driverValue(v)
	}
	return out
}

// driverTargets returns where values are scanned to, as the driver takes it. It changes the list.
func driverTargets(into []any) []any {
	for i, p := range into {
		if id, is := p.(*uuid.UUID); is {
			into[i] = (*gocql.UUID)(id)
		}
	}
	return into
}
