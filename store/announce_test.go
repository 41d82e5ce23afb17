package store

import (
	"testing"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/store/dictionaries"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// TestManyNewNodesAreFound: of many nodes that begin at once all series are found before any window
// is closed, though few frames are looked into at a time and none waits for that.
func TestManyNewNodesAreFound(t *testing.T) {
	s := mustStore(t, newClock(base))
	s.announcer.CatchUpAfter = 0
	const nodes = 15 * dictionaries.AnnouncesAtOnce
	var records []stream.Record
	for i := range int64(nodes) {
		sent := windowtest.NewNode(seeded(t, uint64(100+i))).Step(base, false)
		records = append(records, stream.Record{Account: "acme", Offset: i, Value: sent.Bytes})
	}
	mustHandle(t, NewWriter(s), records...)
	eventually.True(t, "the series of all nodes", func() bool {
		ids, err := answers(s).DictionariesWritten(t.Context(), "acme", 0)
		if err != nil {
			t.Fatal(err)
		}
		found := map[uuid.UUID]bool{}
		for _, id := range ids {
			found[id.Node] = true
		}
		return len(found) == nodes
	})
	if n := s.announcer.Waiting(); n > 0 {
		t.Errorf("%d frames wait still", n)
	}
}
