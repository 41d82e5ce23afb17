package ingest

import (
	"bytes"
	"context"
	"net/http"
	"testing"

	"github.com/ringwatch/ringwatch/frame"
)

// TestEventsAreChecked in key frames and in delta frames, of which the key frame is not needed.
func TestEventsAreChecked(t *testing.T) {
	published := 0
	s := mustServe(t, func(context.Context, string, string, []byte) error {
		published++
		return nil
	})
	key := node{}.key()
	key.Events = []frame.Event{{At: key.At - 1000, Kind: "gc_pause"}, {At: key.At, Kind: "start"}}
	sent, err := key.Append(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	delta := &frame.Frame{Header: key.Header}
	delta.At, delta.KeyAge, delta.Sequence = key.At+1000, 1000, 1
	delta.Events = []frame.Event{{At: delta.At, Kind: "node_down"}}
	lone, err := delta.Append(nil, key)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]byte{lone, sent} {
		if answer := post(t, s.url, bytes.NewReader(b)); answer.StatusCode != http.StatusNoContent {
			t.Fatal(answer.Status)
		}
	}
	for _, b := range [][]byte{sent, lone} {
		b = bytes.Replace(bytes.Replace(b, []byte("start"), []byte("Start"), 1),
			[]byte("node_down"),
			[]byte("node-down"), 1)
		wantRefusal(t, post(t, s.url, bytes.NewReader(seal(b))), http.StatusBadRequest,
			"malformed")
	}
	s.ledger(t)
	if n := s.counts(t, "events_total")[""]; n != 3 || published != 2 {
		t.Errorf("%v events of %d frames", n, published)
	}
}
