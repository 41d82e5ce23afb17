package window_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/selecting"
	"github.com/ringwatch/ringwatch/window/uniting"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

func TestMergeIsTheUnion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := picker(t)
		_, sent := history(pick)
		keys := map[int64][]byte{}
		want := windowtest.Samples{}
		for _, s := range sent {
			if s.Key {
				keys[s.At] = s.Bytes
			}
			want.Add(s.Samples)
		}
		// Each part has some of the frames with their key frames, so that they overlap.
		var parts [2][][]byte
		for i, s := range sent {
			to := pick(3)
			if i == 0 {
				to = 2
			}
			for side := range parts {
				if to == 2 || to == side {
					parts[side] = append(parts[side], s.Bytes, keys[s.KeyAt])
				}
			}
		}
		a, repA, errA := building.Window(window.Node{Account: "acme"}, parts[0])
		b, _, errB := building.Window(window.Node{Account: "acme"}, parts[1])
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		check(t, "merged", all(uniting.Merge(a, b)), want)
		check(t, "merged the other way", all(uniting.Merge(b, a)), want)
		check(t, "latest", selecting.Latest(uniting.Merge(a, b)), sent[len(sent)-1].Samples)
		got := keep(blobs.Encode(uniting.Merge(b, a), repA)).open(t, a.Start)
		check(t, "stored", all(got), want)
	})
}
