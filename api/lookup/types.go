package lookup

import (
	"fmt"
	"strings"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

var simpleNames = map[gocql.Type]string{
	gocql.TypeAscii: "ascii", gocql.TypeBigInt: "bigint", gocql.TypeBlob: "blob",
	gocql.TypeBoolean: "boolean", gocql.TypeCounter: "counter", gocql.TypeDecimal: "decimal",
	gocql.TypeDouble: "double", gocql.TypeFloat: "float", gocql.TypeInt: "int",
	gocql.TypeText: "text", gocql.TypeVarchar: "text", gocql.TypeTimestamp: "timestamp",
	gocql.TypeUUID: "uuid", gocql.TypeVarint: "varint", gocql.TypeTimeUUID: "timeuuid",
	gocql.TypeInet: "inet", gocql.TypeDate: "date", gocql.TypeTime: "time",
	gocql.TypeSmallInt: "smallint", gocql.TypeTinyInt: "tinyint", gocql.TypeDuration: "duration",
}

// typeName is a type as CQL writes it.
func typeName(t gocql.TypeInfo) string {
	switch t := t.(type) {
	case gocql.CollectionType:
		switch t.Type() {
		case gocql.TypeMap:
			return "map<" + typeName(t.Key) + ", " + typeName(t.Elem) + ">"
		case gocql.TypeSet:
			return "set<" + typeName(t.Elem) + ">"
		}
		return "list<" + typeName(t.Elem) + ">"
	case gocql.TupleTypeInfo:
		var list []string
		for _, e := range t.Elems {
			list = append(list, typeName(e))
		}
		return "tuple<" + strings.Join(list, ", ") + ">"
	case gocql.UDTTypeInfo:
		return t.Name
	case gocql.VectorType:
		return fmt.Sprintf("vector<%s, %d>", typeName(t.SubType), t.Dimensions)
	}
	if name := simpleNames[t.Type()]; name != "" {
		return name
	}
	return "custom"
}

// sizes are the types with one size.
var sizes = map[gocql.Type]int{
	gocql.TypeTinyInt: 1, gocql.TypeSmallInt: 2, gocql.TypeInt: 4, gocql.TypeBigInt: 8,
	gocql.TypeCounter: 8, gocql.TypeBoolean: 1, gocql.TypeFloat: 4, gocql.TypeDouble: 8,
	gocql.TypeUUID: 16, gocql.TypeTimeUUID: 16, gocql.TypeTimestamp: 8, gocql.TypeDate: 4,
	gocql.TypeTime: 8,
}
