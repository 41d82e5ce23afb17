package ring

import (
	"errors"
	"fmt"
	"unicode/utf8"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// maxKeyBytes is the longest partition key, and the longest part of one.
const maxKeyBytes = 65535

// keySet is the keys of a read in Cassandra's form, each once.
type keySet struct {
	// the different ones: a value for one column, the parts with their lengths for more
	routing []string
	index   map[string]int32 // of each in routing
	first   []int32          // by routing: the first of the caller's keys that is this one
	next    []int32          // by caller's key: the next one that is the same; -1: none
}

// encode converts a caller's keys; those that are none of the table's are told to fail at once,
// by index.
func (t *table) encode(keys []Key, fail func(i int, err error)) *keySet {
	s := &keySet{
		routing: make([]string, 0, len(keys)), index: make(map[string]int32, len(keys)),
		first: make([]int32, 0, len(keys)), next: make([]int32, len(keys)),
	}
	ends := make([]int, len(keys)) // of each key's bytes in all; 0: the key failed
	all := make([]byte, 0, 24*len(keys))
	for i, key := range keys {
		from := len(all)
		var err error
		if all, err = t.appendKey(all, i, key); err != nil {
			all = all[:from]
			fail(i, err)
			continue
		}
		ends[i] = len(all)
	}
	text, from := string(all), 0
	// by routing: the last of the caller's keys that is this one
	last := make([]int32, 0, len(keys))
	for i, end := range ends {
		s.next[i] = -1
		if end == 0 {
			continue
		}
		key := text[from:end]
		from = end
		n, known := s.index[key]
		if known {
			s.next[last[n]] = int32(i)
			last[n] = int32(i)
			continue
		}
		s.index[key] = int32(len(s.routing))
		s.routing, s.first, last = append(s.routing, key), append(s.first, int32(i)), append(last,
			int32(i))
	}
	return s
}

// appendKey appends a key's routing form: never nothing.
func (t *table) appendKey(dst []byte, index int, key Key) ([]byte, error) {
	if len(key) != len(t.Key) {
		return dst, &KeyError{Index: index,
			Err: fmt.Errorf("it has %d values, but the partition key of %s.%s has %d columns",
				len(key), t.Keyspace, t.Name, len(t.Key))}
	}
	for i, c := range t.Key {
		data, err := marshal(c.Type, key[i])
		if err == nil {
			switch typ := c.Type.Type(); {
			case data == nil:
				err = errors.New("it is null, and no part of a partition key may be null")
			case len(data) > maxKeyBytes:
				err = fmt.Errorf("it has %d bytes, and at most %d are allowed", len(data),
					maxKeyBytes)
			case len(data) == 0 && len(t.Key) == 1:
				err = errors.New("it is empty, and a partition key of one column may not be empty")
			case (typ == gocql.TypeText || typ == gocql.TypeVarchar) && !utf8.Valid(data):
				err = errors.New("it is not UTF-8")
			case typ == gocql.TypeAscii && !ascii(data):
				err = errors.New("it is not ASCII")
			}
		}
		if err != nil {
			return dst, &KeyError{Index: index, Column: c.Name, Err: err}
		}
		if len(t.Key) == 1 {
			return append(dst, data...), nil
		}
		dst = appendPart(dst, data)
	}
	return dst, nil
}

// marshal is the driver's, which panics for some values that do not fit, and then Cassandra's own
// form.
func marshal(typ gocql.TypeInfo, value any) (data []byte, err error) {
	if value == nil {
		return nil, nil
	}
	if value == any(gocql.UnsetValue) {
		return nil, errors.New("it is unset")
	}
	defer func() {
		if p := recover(); p != nil {
			data, err = nil, fmt.Errorf("a %T cannot be its value: %v", value, p)
		}
	}()
	if data, err = gocql.Marshal(typ, value); err != nil || data == nil {
		return nil, err
	}
	return canonical(typ, data), nil
}

func ascii(data []byte) bool {
	for _, c := range data {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// list is many values of one type as one value of an IN: raw, as it goes over the wire.
type list struct {
	keys  []string // routing keys
	part  int      // which part of them
	parts int      // of how many
}

func (l list) MarshalCQL(gocql.TypeInfo) ([]byte, error) {
	size := 4
	for _, k := range l.keys {
		size += 4 + len(k)
	}
	b := make([]byte, 4, size)
	putInt(b, len(l.keys))
	var scratch [8]string
	for _, k := range l.keys {
		value := parts(scratch[:0], k, l.parts)[l.part]
		b = append(b, 0, 0, 0, 0)
		putInt(b[len(b)-4:], len(value))
		b = append(b, value...)
	}
	return b, nil
}

func putInt(b []byte, n int) {
	b[0], b[1], b[2], b[3] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
}

// text is one part of a routing key as a value.
type text string

func (t text) MarshalCQL(gocql.TypeInfo) ([]byte, error) { return []byte(t), nil }
