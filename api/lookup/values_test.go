package lookup

import (
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/ring"
)

const marshal = "org.apache.cassandra.db.marshal."

// nested are types that tests name beside the simple ones.
var nested = map[string]string{
	"list<int>": "ListType(" + marshal + "Int32Type)",
	"set<text>": "SetType(" + marshal + "UTF8Type)",
	"map<tuple>": "MapType(" + marshal + "TupleType(" + marshal + "Int32Type)," + marshal +
		"Int32Type)", "set<uuid>": "SetType(" + marshal + "UUIDType)",
	"map<int, text>":    "MapType(" + marshal + "Int32Type," + marshal + "UTF8Type)",
	"map<text, double>": "MapType(" + marshal + "UTF8Type," + marshal + "DoubleType)",
	"tuple<int, text, boolean>": "TupleType(" + marshal + "Int32Type," + marshal + "UTF8Type," +
		marshal + "BooleanType)",
	"list<tuple>": "ListType(" + marshal + "TupleType(" + marshal + "Int32Type," +
		marshal + "InetAddressType))",
	"vector<float, 2>":    "VectorType(" + marshal + "FloatType , 2)",
	"vector<text, 2>":     "VectorType(" + marshal + "UTF8Type , 2)",
	"vector<smallint, 2>": "VectorType(" + marshal + "ShortType , 2)",
	"udt": "UserType(ks," + hex.EncodeToString([]byte("money")) + "," +
		hex.EncodeToString([]byte("amount")) + ":" + marshal + "DecimalType," +
		hex.EncodeToString([]byte("currency")) + ":" + marshal + "UTF8Type)",
}

func typeOf(t *testing.T, name string) gocql.TypeInfo {
	t.Helper()
	for kind, simple := range simpleNames {
		if simple == name {
			return gocql.NewNativeType(4, kind, "")
		}
	}
	class, found := nested[name]
	if !found {
		t.Fatal("no type", name)
	}
	return gocql.NewNativeType(4, gocql.TypeCustom, marshal+class)
}

// TestKeysMeanWhatTheySay compares what a JSON value is in Cassandra with bytes that were written
// down by hand.
func TestKeysMeanWhatTheySay(t *testing.T) {
	// want begins with "!": refused, and the text says so
	for _, c := range []struct{ kind, text, want string }{
		{"tinyint", `-128`, "80"}, {"tinyint", `"127"`, "7f"}, {"tinyint", `128`, "!beyond"},
		{"tinyint", `1.0`, "!whole"}, {"tinyint", `1e1`, "!whole"}, {"tinyint", `true`, "!nothing"},
		{"smallint", `-2`, "fffe"}, {"int", `2147483647`, "7fffffff"},
		{"int", `2147483648`, "!beyond"}, {"int", `""`, "!whole"}, {"int", `" 1"`, "!whole"},
		{"int", `"0x10"`, "!whole"}, {"int", `"+1"`, "!whole"},
		{"bigint", `9223372036854775807`, "7fffffffffffffff"},
		{"bigint", `"-9223372036854775808"`, "8000000000000000"},
		{"bigint", `9223372036854775808`, "!beyond"},
		{"bigint", `9007199254740993`, "0020000000000001"},
		{"varint", `0`, "00"}, {"varint", `-1`, "ff"}, {"varint", `128`, "0080"},
		{"varint", `-129`, "ff7f"}, {"varint", `"18446744073709551616"`, "010000000000000000"},
		{"varint", `1.5`, "!whole"}, {"varint", strings.Repeat("9", 3000), "!digits"},
		{"decimal", `1.5`, "000000010f"}, {"decimal", `1.50`, "000000020096"},
		{"decimal", `"-0.001"`, "00000003ff"}, {"decimal", `12e3`, "fffffffd0c"},
		{"decimal", `1e-3`, "0000000301"}, {"decimal", `1e2147483647`, "!exponent"},
		{"decimal", `1e99999999999`, "!exponent"}, {"decimal", `1e2147483648`, "!exponent"},
		{"decimal", `1e-2147483648`, "!exponent"}, {"decimal", `".5"`, "!number"},
		{"float", `0.1`, "3dcccccd"}, {"float", `"NaN"`, "7fc00000"}, {"float", `1e39`, "!beyond"},
		{"double", `0.1`, "3fb999999999999a"}, {"double", `-0`, "8000000000000000"},
		{"double", `"-Infinity"`, "fff0000000000000"}, {"double", `"inf"`, "!number"},
		{"double", `"0x1p3"`, "!number"},
		{"boolean", `true`, "01"}, {"boolean", `"false"`, "00"}, {"boolean", `1`, "!neither"},
		{"text", `"a\u0000\"\ud83d\ude00é"`, "610022f09f9880c3a9"}, {"text", `""`, ""},
		{"text", `1`, "!string"}, {"text", `"\ud83d"`, "!surrogate"},
		{"text", `"\ude00\ud83d"`, "!surrogate"}, {"text", `"\ud83d\u0041"`, "!surrogate"},
		{"text", `"\\ud83d"`, hex.EncodeToString([]byte(`\ud83d`))},
		{"text", `"\ufffd"`, "efbfbd"}, {"text", "\"\xff\"", "!UTF-8"}, {"ascii", `"az"`, "617a"},
		{"ascii", `"é"`, "!ASCII"},
		{"blob", `"0xCAfe"`, "cafe"}, {"blob", `"0x"`, ""}, {"blob", `"base64:yv4="`, "cafe"},
		{"blob", `"cafe"`, "!blob"}, {"blob", `"0xc"`, "!blob"}, {"blob", `"base64:yv4"`, "!blob"},
		{"blob", `"base64:yv5="`, "!blob"}, {"blob", `7`, "!blob"},
		{"uuid", `"123E4567-e89b-42d3-a456-426614174000"`, "123e4567e89b42d3a456426614174000"},
		{"uuid", `"123e4567e89b42d3a456426614174000"`, "!UUID"},
		{"uuid", `"{123e4567-e89b-42d3-a456-426614174000}"`, "!UUID"},
		{"timeuuid", `"123e4567-e89b-12d3-a456-426614174000"`, "123e4567e89b12d3a456426614174000"},
		{"timeuuid", `"123e4567-e89b-42d3-a456-426614174000"`, "!version 4"},
		{"inet", `"10.0.0.1"`, "0a000001"}, {"inet", `"::ffff:10.0.0.1"`, "0a000001"},
		{"inet", `"2001:db8::1"`, "20010db8000000000000000000000001"},
		{"inet", `"fe80::1%eth0"`, "!address"}, {"inet", `"10.0.0.1/8"`, "!address"},
		{"inet", `167772161`, "!address"},
		{"timestamp", `"1970-01-01T00:00:01.005Z"`, "00000000000003ed"},
		{"timestamp", `"1970-01-01 01:00:00+01:00"`, "0000000000000000"},
		{"timestamp", `-1`, "ffffffffffffffff"}, {"timestamp", `"1005"`, "00000000000003ed"},
		{"timestamp", `"0001-01-01T00:00:00Z"`, "ffffc77cedd32800"},
		{"timestamp", `"1970-01-01T00:00:00.0001Z"`, "!fraction"},
		{"timestamp", `"1970-01-01"`, "!time"}, {"timestamp", `"1970-01-01T00:00:00"`, "!time"},
		{"timestamp", `1.5`, "!time"},
		{"date", `"1970-01-02"`, "80000001"}, {"date", `"1969-12-31"`, "7fffffff"},
		{"date", `"0001-01-01"`, "7ff506c6"}, {"date", `"-5877641-06-23"`, "00000000"},
		{"date", `"2026-02-30"`, "!date"}, {"date", `"2026-2-3"`, "!date"},
		{"date", `19000`, "!date"}, {"date", `"9999999-01-01"`, "!beyond"},
		{"time", `"00:00:01"`, "000000003b9aca00"},
		{"time", `"23:59:59.999999999"`, "00004e94914effff"},
		{"time", `"00:00:00.5"`, "000000001dcd6500"}, {"time", `5`, "0000000000000005"},
		{"time", `"24:00"`, "!time"}, {"time", `86400000000000`, "!time"},
		{"duration", `"1h"`, "!no key"}, {"counter", `1`, "!no key"},
		{"list<int>", `[1, "2"]`, "00000002000000040000000100000004" + "00000002"},
		{"list<int>", `[1, null]`, "!null"}, {"list<int>", `1`, "!list"},
		{"list<int>", `[1, "x"]`, "!number 1"},
		{"set<text>", `["b", "a", "b"]`, "00000003" + "0000000162" + "0000000161" + "0000000162"},
		{"set<uuid>", `[]`, "00000000"}, {"set<text>", `[null]`, "!null"},
		{"map<int, text>", `{"7": "a", "-1": ""}`, "00000002" + "0000000400000007" + "0000000161" +
			"00000004ffffffff" + "00000000"}, {"map<int, text>", `{"x": "a"}`, "!key \"x\""},
		{"map<int, text>", `{"1": 2}`, "!value of"}, {"map<int, text>", `{"1": null}`, "!null"},
		{"map<int, text>", `[]`, "!object"}, {"map<text, double>", `{"\ud800": 1}`, "!character"},
		{"map<tuple>", `{"[1]": 5}`, "00000001" + "000000080000000400000001" + "0000000400000005"},
		{"tuple<int, text, boolean>", `[1, null, true]`,
			"0000000400000001" + "ffffffff" + "0000000101"},
		{"tuple<int, text, boolean>", `[1]`, "!has 1"},
		{"vector<float, 2>", `[1, 0]`, "3f80000000000000"}, {"vector<float, 2>", `[1]`, "!has 1"},
		{"udt", `{"currency": "EUR", "amount": 1.5}`, "00000005000000010f" + "00000003455552"},
		{"udt", `{"currency": "EUR"}`, "ffffffff" + "00000003455552"},
		{"udt", `{"x": 1}`, "!field"}, {"udt", `[]`, "!object"},
		{"int", `null`, "null"},
	} {
		info := typeOf(t, c.kind)
		v, err := parseValue(info, json.RawMessage(c.text))
		if refused, ok := strings.CutPrefix(c.want, "!"); ok {
			if err == nil || !strings.Contains(err.Error(), refused) {
				t.Errorf("%s %.50s: %v, %v, want it refused for %q", c.kind, c.text, v,
					err, refused)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %s: %v", c.kind, c.text, err)
			continue
		}
		if v == nil || c.want == "null" {
			if v != nil || c.want != "null" {
				t.Errorf("%s %s: %v", c.kind, c.text, v)
			}
			continue
		}
		if b, err := gocql.Marshal(info, v); err != nil || hex.EncodeToString(b) != c.want {
			t.Errorf("%s %s: %x, %v, want %s", c.kind, c.text, b, err, c.want)
		}
	}
}

func TestValuesLoseNothing(t *testing.T) {
	for _, c := range []struct{ kind, bytes, want string }{
		{"tinyint", "80", `-128`}, {"smallint", "fffe", `-2`}, {"int", "80000000", `-2147483648`},
		{"bigint", "8000000000000000", `"-9223372036854775808"`},
		{"counter", "0000000000000005", `"5"`},
		{"varint", "ff7f", `"-129"`}, {"varint", "010000000000000000", `"18446744073709551616"`},
		{"decimal", "000000020096", `"1.50"`}, {"decimal", "00000003ff", `"-0.001"`},
		{"decimal", "fffffffd0c", `"1.2E+4"`}, {"decimal", "000000000c", `"12"`},
		{"decimal", "7fffffff01", `"1E-2147483647"`}, {"decimal", "8000000001", `"1E+2147483648"`},
		{"decimal", "0000000700", `"0E-7"`}, {"decimal", "0000000600", `"0.000000"`},
		{"float", "3dcccccd", `0.1`}, {"double", "3fb999999999999a", `0.1`},
		{"double", "7ff0000000000000", `"Infinity"`},
		{"double", "0010000000000000", `2.2250738585072014e-308`},
		{"double", "8000000000000000", `-0`},
		{"boolean", "01", `true`}, {"text", "", `""`}, {"text", "610022", `"a\u0000\""`},
		{"blob", "", `"0x"`}, {"blob", "cafe", `"0xcafe"`},
		{"uuid", "123e4567e89b42d3a456426614174000", `"123e4567-e89b-42d3-a456-426614174000"`},
		{"inet", "0a000001", `"10.0.0.1"`}, {"inet", "20010db8000000000000000000000001",
			`"2001:db8::1"`},
		{"timestamp", "00000000000003ed", `"1970-01-01T00:00:01.005Z"`},
		{"timestamp", "ffffc77cedd32800", `"0001-01-01T00:00:00.000Z"`},
		{"timestamp", "7fffffffffffffff", `"+292278994-08-17T07:12:55.807Z"`},
		{"date", "80000001", `"1970-01-02"`}, {"date", "00000000", `"-5877641-06-23"`},
		{"time", "00004e94914effff", `"23:59:59.999999999"`},
		{"duration", "18" + "08" + "00", `"1y4d"`}, {"duration", "02" + "00" + "f077359400",
			`"1mo1s"`}, {"duration", "000000", `"0ns"`}, {"duration", "000001", `"-1ns"`},
		{"list<int>", "0000000200000004000000010000000400000002", `[1,2]`},
		{"list<int>", "00000000", `[]`}, {"set<text>", "000000010000000161", `["a"]`},
		{"map<int, text>", "00000001" + "0000000400000007" + "0000000161", `{"7":"a"}`},
		{"map<text, double>", "00000001" + "0000000161" + "00000008" + "3ff0000000000000",
			`{"a":1}`},
		{"tuple<int, text, boolean>", "0000000400000001" + "ffffffff", `[1,null,null]`},
		{"vector<float, 2>", "3f80000000000000", `[1,0]`},
		{"vector<text, 2>", "0161" + "00", `["a",""]`}, {"vector<smallint, 2>", "020001" + "02ffff",
			`[1,-1]`},
		{"udt", "00000005000000010f" + "00000003455552", `{"amount":"1.5","currency":"EUR"}`},
		{"udt", "00000005000000010f", `{"amount":"1.5","currency":null}`}, {"int", "", `null`},
	} {
		b, err := hex.DecodeString(c.bytes)
		if err != nil {
			t.Fatal(err)
		}
		got, err := appendValue(nil, typeOf(t, c.kind), b)
		if err != nil || string(got) != c.want || !json.Valid(got) {
			t.Errorf("%s %s: %s, %v, want %s", c.kind, c.bytes, got, err, c.want)
		}
	}
	if got, err := appendValue(nil, typeOf(t, "text"), nil); err != nil || string(got) != "null" {
		t.Errorf("%s %v", got, err)
	}
}

// TestKeysReadBack: what a value is as JSON is the same value as a key.
func TestKeysReadBack(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	for name, some := range map[string]func() []byte{
		"tinyint": func() []byte { return random(1) }, "smallint": func() []byte {
			return random(2)
		}, "int": func() []byte { return random(4) }, "bigint": func() []byte { return random(8) },
		"blob": func() []byte { return random(r.IntN(9)) }, "uuid": func() []byte {
			return random(16)
		}, "date": func() []byte { return random(4) },
		"inet": func() []byte { return random(4) },
		"time": func() []byte {
			b, _ := gocql.Marshal(typeOf(t, "time"), r.Int64N(int64(24*time.Hour)))
			return b
		},
		"timestamp": func() []byte {
			b, _ := gocql.Marshal(typeOf(t, "timestamp"), r.Int64N(250e12))
			return b
		},
		"varint": func() []byte {
			return append([]byte{byte(1 + r.IntN(126))}, random(r.IntN(20))...)
		},
		"decimal": func() []byte {
			return append([]byte{0, 0, 0, byte(r.Uint32())},
				append([]byte{byte(1 + r.IntN(126))}, random(r.IntN(20))...)...)
		},
		"double": func() []byte { b := random(8); b[0] &^= 0x40; return b },
		"float":  func() []byte { b := random(4); b[0] &^= 0x40; return b },
	} {
		info := typeOf(t, name)
		for range 500 {
			b := some()
			text, err := appendValue(nil, info, b)
			if err != nil {
				t.Fatal(name, err)
			}
			v, err := parseValue(info, text)
			if name == "decimal" && err != nil && strings.Contains(err.Error(), "exponent") {
				continue // its exponent is beyond what the text of one may have
			}
			if err != nil {
				t.Errorf("%s %x is %s, which %v", name, b, text, err)
				continue
			}
			if again, err := gocql.Marshal(info, v); err != nil || !slices.Equal(again, b) {
				t.Errorf("%s %x is %s, which is %x, %v", name, b, text, again, err)
			}
		}
	}
}

// TestHostileBytes: whatever bytes a value has, it is JSON or an error.
func TestHostileBytes(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	var names []string
	for name := range nested {
		names = append(names, name)
	}
	for _, name := range simpleNames {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		info := typeOf(t, name)
		for range 2000 {
			b := make([]byte, r.IntN(24))
			for i := range b {
				if b[i] = byte(r.IntN(4)); r.IntN(3) == 0 {
					b[i] = byte(r.Uint32())
				}
			}
			if got, err := appendValue(nil, info, b); err == nil && !json.Valid(got) {
				t.Fatalf("%s %x: %s", name, b, got)
			}
		}
	}
}

// TestHostileKeys: whatever JSON stands where a key should, it is a key or a refusal that names it.
func TestHostileKeys(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 3))
	scraps := []string{`1`, `-`, `"`, `""`, `"a"`, `null`, `[`, `]`, `[1,"a"]`, `{`, `}`,
		`{"a":1,"b":"x"}`, `:`, `,`, `true`, `1e999999999`, `"\ud800"`, `0.`, ` `, "\n", `"0x00"`,
		`"\u0000"`}
	columns := []ring.Column{{Name: "a", Type: typeOf(t, "int")},
		{Name: "b", Type: typeOf(t, "text")}}
	for range 20_000 {
		var text string
		for range 1 + r.IntN(4) {
			text += scraps[r.IntN(len(scraps))]
		}
		of := columns[:1+r.IntN(2)]
		key, err := parseKey(of, json.RawMessage(text), "keys[7]")
		if err == nil && len(key) == len(of) {
			continue
		}
		if e, ok := err.(*Error); !ok || e.Status != http.StatusBadRequest ||
			!strings.HasPrefix(e.Field, "keys[7]") || !strings.Contains(e.Message, "keys[7]") {
			t.Fatalf("%s: %v, %v", text, key, err)
		}
	}
	text := typeOf(t, "text")
	for raw, of := range map[string][]ring.Column{
		`""`:                                   {{Name: "a", Type: text}},
		`"` + strings.Repeat("x", 65536) + `"`: {{Name: "a", Type: text}},
		`null`:                                 {{Name: "a", Type: text}},
		`["x", null]`:                          {{Name: "a", Type: text}, {Name: "b", Type: text}},
		`["x"]`:                                columns, `{"a":1}`: columns,
		`{"a":1,"b":"x","c":2}`: columns, `1`: columns,
		`{"b":1}`: columns[:1],
	} {
		if key, err := parseKey(of, json.RawMessage(raw), "keys[7]"); err == nil {
			t.Errorf("%.40s is taken as %.40v", raw, key)
		}
	}
	if key, err := parseKey([]ring.Column{{Name: "a", Type: text}, {Name: "b", Type: text}},
		json.RawMessage(`{"b":"","a":"x"}`), "keys[0]"); err != nil || key[0] != "x" ||
		key[1] != "" {
		t.Error(key, err)
	}
}

func TestValidate(t *testing.T) {
	c := Config{Hosts: []string{"a:1", "b:2", "nowhere:x"}, Password: "x", Tables: []Table{
		{Table: "items"}, {Table: "a.b", Accounts: []string{"*", "acme"}, CacheTTL: -1, MaxRows: -1,
			Columns: []string{"x", "x"}}, {Table: "a.b", Accounts: []string{""}, MaxKeys: 1e6},
	}}
	err := c.Validate()
	for _, want := range []string{`"nowhere:x"`, "ports 1 and 2", "username", "timeout",
		"max_keys: 0", "max_rows: 0", `tables[0].table: "items"`, "tables[0].accounts",
		`tables[1] a.b.accounts: "*"`, "cache_ttl", "tables[1] a.b.max_rows",
		"tables[1] a.b.columns", "listed twice", "a name is empty", "tables[2] a.b.max_keys"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %s", err, want)
		}
	}
	c = DefaultConfig()
	if err := c.Validate(); err != nil || c.On() {
		t.Error(err)
	}
}
