package promapi

import (
	"errors"
	"strings"
	"testing"

	jsoniter "github.com/json-iterator/go"
)

// gone is a client that has gone away after some bytes.
type gone struct{ takes int }

func (g *gone) Write(b []byte) (int, error) {
	if g.takes -= len(b); g.takes < 0 {
		return 0, errors.New("the connection is reset")
	}
	return len(b), nil
}

// TestWritingEndsWithTheClient: of a long list nothing is encoded beyond what was under way when
// the client went.
func TestWritingEndsWithTheClient(t *testing.T) {
	const takes, each = 10 * flushAt, 100
	s := jsoniter.NewStream(jsoniter.ConfigCompatibleWithStandardLibrary, &gone{takes}, 4096)
	written := 0
	text := strings.Repeat("1", each)
	list(s, 1_000_000, func(int) {
		list(s, 10, func(int) { written++; s.WriteRaw(text) })
	})
	if most := (takes + 3*flushAt) / each; written > most {
		t.Errorf("%d values were written, not %d", written, most)
	}
}
