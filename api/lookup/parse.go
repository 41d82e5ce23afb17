package lookup

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// parseValue reads a JSON value as a value that gocql takes for the type; nil is null. Every
// scalar may also be a string. Errors go on from the name of the value.
func parseValue(t gocql.TypeInfo, raw json.RawMessage) (any, error) {
	raw = bytes.TrimSpace(raw)
	if string(raw) == "null" {
		return nil, nil
	}
	switch t := t.(type) {
	case gocql.CollectionType:
		return parseCollection(t, raw)
	case gocql.TupleTypeInfo:
		parts, err := list(raw)
		if err == nil && len(parts) != len(t.Elems) {
			err = fmt.Errorf("has %d values, %s has %d", len(parts), typeName(t), len(t.Elems))
		}
		if err != nil {
			return nil, err
		}
		return parseEach(parts, func(i int) gocql.TypeInfo { return t.Elems[i] })
	case gocql.VectorType:
		parts, err := list(raw)
		if err == nil && len(parts) != t.Dimensions {
			err = fmt.Errorf("has %d values, %s has %d", len(parts), typeName(t), t.Dimensions)
		}
		if err != nil {
			return nil, err
		}
		return parseEach(parts, func(int) gocql.TypeInfo { return t.SubType })
	case gocql.UDTTypeInfo:
		return parseUDT(t, raw)
	}
	return parseScalar(t.Type(), raw)
}

// list returns the values of a JSON list.
func list(raw json.RawMessage) ([]json.RawMessage, error) {
	var parts []json.RawMessage
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &parts) != nil {
		return nil, errors.New("is no list")
	}
	return parts, nil
}

func parseEach(parts []json.RawMessage, typeOf func(i int) gocql.TypeInfo) (any, error) {
	values := make([]any, len(parts))
	for i, raw := range parts {
		v, err := parseValue(typeOf(i), raw)
		if err != nil {
			return nil, fmt.Errorf("has a value, number %d, that %w", i, err)
		}
		values[i] = v
	}
	return values, nil
}

// parseCollection reads a frozen list, set or map. Their order, and that each is there once, is
// ring's.
func parseCollection(t gocql.CollectionType, raw json.RawMessage) (any, error) {
	if t.Type() == gocql.TypeMap {
		return parseMap(t, raw)
	}
	parts, err := list(raw)
	if err != nil {
		return nil, err
	}
	some, err := parseEach(parts, func(int) gocql.TypeInfo { return t.Elem })
	if err != nil {
		return nil, err
	}
	if slices.Contains(some.([]any), nil) {
		return nil, fmt.Errorf("has a null, which no %s has", typeName(t))
	}
	return some, nil
}

// entries are a map's, keys and values in turn: some keys are nothing that a Go map can have.
type entries []any

// MarshalCQL implements gocql.Marshaler.
func (e entries) MarshalCQL(info gocql.TypeInfo) ([]byte, error) {
	t, ok := info.(gocql.CollectionType)
	if !ok {
		return nil, errors.New("it is no map")
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(len(e)/2))
	for i, v := range e {
		kind := t.Key
		if i%2 == 1 {
			kind = t.Elem
		}
		part, err := gocql.Marshal(kind, v)
		if err != nil {
			return nil, err
		}
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(part))), part...)
	}
	return b, nil
}

// parseMap reads an object, whose names are its keys as answers have them: a scalar's text, or
// the JSON of what is made of parts.
func parseMap(t gocql.CollectionType, raw json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if len(raw) == 0 || raw[0] != '{' {
		return nil, fmt.Errorf("is no object, as %s is", typeName(t))
	}
	_, _ = d.Token() // the bracket
	e := entries{}
	for d.More() {
		var value json.RawMessage
		token, err := d.Token()
		if err == nil {
			err = d.Decode(&value)
		}
		name, isText := token.(string)
		if err != nil || !isText {
			return nil, errors.New("is no JSON")
		}
		if strings.ContainsRune(name, utf8.RuneError) {
			return nil, errors.New("has a key with a character that cannot be told from " +
				"half of one")
		}
		text, _ := json.Marshal(name) // no string fails
		if simpleNames[t.Key.Type()] == "" {
			text = []byte(name)
		}
		k, err := parseValue(t.Key, text)
		if err != nil {
			return nil, fmt.Errorf("has a key %q that %w", name, err)
		}
		v, err := parseValue(t.Elem, value)
		if err != nil {
			return nil, fmt.Errorf("has a value of %q that %w", name, err)
		}
		if k == nil || v == nil {
			return nil, fmt.Errorf("has a null, which no %s has", typeName(t))
		}
		e = append(e, k, v)
	}
	return e, nil
}

func parseUDT(t gocql.UDTTypeInfo, raw json.RawMessage) (any, error) {
	var named map[string]json.RawMessage
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &named) != nil {
		return nil, fmt.Errorf("is no object, as %s is", typeName(t))
	}
	values := map[string]any{}
	for _, e := range t.Elements {
		part, found := named[e.Name]
		if !found {
			continue // null
		}
		v, err := parseValue(e.Type, part)
		if err != nil {
			return nil, fmt.Errorf("has a %s that %w", e.Name, err)
		}
		values[e.Name] = v
		delete(named, e.Name)
	}
	for name := range named {
		return nil, fmt.Errorf("has a field %q, which %s has not", name, typeName(t))
	}
	return values, nil
}
