package literal_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/api/literal"
)

// TestStrings: texts are written as encoding/json writes them.
func TestStrings(t *testing.T) {
	for _, text := range []string{"", "cassandra_table", "a b~!", `a"b`, `a\b`, "a<b", "a>b", "a&b",
		"\n", "\x7f", "é", "\xff", "\u2028"} {
		want, err := json.Marshal(text)
		if got := literal.AppendString(nil, text); err != nil || string(got) != string(want) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// TestEscapesCount counts what JSON makes of labels that need escapes.
func TestEscapesCount(t *testing.T) {
	for _, text := range []string{"shop", "\x01\x02", "<&>", `"\`, "ü", "\u2028",
		strings.Repeat("\t", 100)} {
		got, want := literal.StringBytes(text), int64(len(literal.AppendString(nil, text))-2)
		if got < want || got > 3*want+8 {
			t.Errorf("%q: %d bytes are counted, %d written", text, got, want)
		}
	}
}
