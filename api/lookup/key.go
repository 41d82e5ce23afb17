package lookup

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/api/refusal"
	"github.com/ringwatch/ringwatch/ring"
)

// maxKeyBytes is the longest partition key that Cassandra has.
const maxKeyBytes = 65535

// parseKey reads a partition key: a bare value if the key is one column, a list in the table's
// order, or an object by column. field names it in errors, which are *Error-s.
func parseKey(columns []ring.Column, raw json.RawMessage, field string) (ring.Key, error) {
	raw = bytes.TrimSpace(raw)
	parts, err := keyParts(columns, raw, field)
	if err != nil {
		return nil, err
	}
	key, size := make(ring.Key, len(columns)), 0
	for i, c := range columns {
		at := field
		if len(columns) > 1 {
			at += "." + c.Name
		}
		v, err := parseValue(c.Type, parts[i])
		if err == nil && v == nil {
			err = fmt.Errorf("is null, and no part of a partition key can be")
		}
		if err != nil {
			return nil, refusal.Bad("bad_key", at, "%s %s", at, err)
		}
		b, err := gocql.Marshal(c.Type, v)
		if err != nil {
			return nil, refusal.Bad("bad_key", at, "%s is nothing that %s %s can be", at, c.Name,
				typeName(c.Type))
		}
		size += len(b)
		key[i] = v
	}
	if size == 0 && len(columns) == 1 || size > maxKeyBytes {
		return nil, refusal.Bad("bad_key", field,
			"%s has %d bytes, a partition key has 1 to %d", field,
			size, maxKeyBytes)
	}
	return key, nil
}

// keyParts returns the value of each column.
func keyParts(columns []ring.Column, raw json.RawMessage, field string) ([]json.RawMessage, error) {
	single := len(columns) == 1
	switch {
	case len(raw) == 0:
		return nil, refusal.Bad("bad_key", field, "%s is empty", field)
	case raw[0] == '{' && !(single && isObject(columns[0].Type)):
		var named map[string]json.RawMessage
		if err := json.Unmarshal(raw, &named); err != nil {
			return nil, refusal.Bad("bad_key", field, "%s is no JSON", field)
		}
		parts := make([]json.RawMessage, len(columns))
		for i, c := range columns {
			part, found := named[c.Name]
			if !found {
				return nil, refusal.Bad("bad_key", field,
					"%s has no %s: the partition key is %s", field,
					c.Name, describe(columns))
			}
			parts[i] = part
		}
		if len(named) != len(columns) {
			return nil, refusal.Bad("bad_key", field,
				"%s names other columns than the partition key's, which is %s", field,
				describe(columns))
		}
		return parts, nil
	case single:
		return []json.RawMessage{raw}, nil
	case raw[0] == '[':
		var parts []json.RawMessage
		if err := json.Unmarshal(raw, &parts); err != nil {
			return nil, refusal.Bad("bad_key", field, "%s is no JSON", field)
		}
		if len(parts) != len(columns) {
			return nil, refusal.Bad("bad_key", field,
				"%s has %d values, the partition key is %s", field,
				len(parts), describe(columns))
		}
		return parts, nil
	}
	return nil, refusal.Bad("bad_key", field,
		"%s is one value, the partition key is %s: write a list or an object", field,
		describe(columns))
}

// isObject reports whether a value of the type is itself a JSON object.
func isObject(t gocql.TypeInfo) bool {
	return t.Type() == gocql.TypeUDT || t.Type() == gocql.TypeMap
}

// describe is a partition key for people: (tenant text, day date).
func describe(columns []ring.Column) string {
	var list []string
	for _, c := range columns {
		list = append(list, c.Name+" "+typeName(c.Type))
	}
	return "(" + strings.Join(list, ", ") + ")"
}
