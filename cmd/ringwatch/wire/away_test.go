package wire

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/topic"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/stream"
)

// TestAway: what nobody could have heard is known from the words of the processes that took frames,
// of two weeks, in whatever order they are read.
func TestAway(t *testing.T) {
	start := time.UnixMilli(1_800_000_000_000)
	sec := func(n int64) int64 { return start.UnixMilli() + n*1000 }
	word := func(id string, since, at int64) stream.Entry {
		value, err := json.Marshal(beatEntry{Since: sec(since)})
		if err != nil {
			t.Fatal(err)
		}
		return stream.Entry{Account: "ringwatch", Key: id, Value: value,
			At: time.UnixMilli(sec(at))}
	}
	day := int64(24 * 3600)
	for _, c := range []struct {
		what  string
		words []stream.Entry
		now   int64
		want  []read.Span
	}{
		{"nothing is known", nil, 0, nil},
		{"it runs", []stream.Entry{word("a", 0, 2), word("a", 0, 4)}, 5, nil},
		{"it was started again quickly", []stream.Entry{word("a", 0, 100), word("b", 108, 110)},
			111,
			nil},
		{"it was away", []stream.Entry{word("a", 0, 100), word("b", 700, 702)}, 703,
			[]read.Span{{From: sec(100), To: sec(700)}}},
		{"it is away", []stream.Entry{word("a", 0, 100)}, 200, []read.Span{{From: sec(100)}}},
		{"another one took over", []stream.Entry{word("a", 0, 100), word("c", 50, 800),
			word("b", 700, 900)}, 901, nil},
		{"words come out of order", []stream.Entry{word("b", 700, 900), word("a", 0, 100)}, 901,
			[]read.Span{{From: sec(100), To: sec(700)}}},
		{"it is forgotten after two weeks", []stream.Entry{word("a", 0, 100), word("b", 700, 900),
			word("c", 5000, 15*day)}, 15 * day, []read.Span{}},
	} {
		h := &pulse{}
		for _, e := range c.words {
			if err := h.take(e); err != nil {
				t.Fatal(err)
			}
		}
		got := h.away(time.UnixMilli(sec(c.now)))
		if len(got)+len(c.want) > 0 && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
	h := &pulse{}
	if got := h.unheard(); got != nil {
		t.Errorf("without a word nobody hears: %v", got)
	}
	_, _ = h.take(word("a", 10, 100)), h.take(word("b", 700, 702))
	if got := h.unheard(); !reflect.DeepEqual(got, []read.Span{{To: sec(10)},
		{From: sec(100), To: sec(700)}, {From: sec(702)}}) {
		t.Errorf("nobody hears: %v", got)
	}
	h = &pulse{}
	for i := range int64(5000) {
		_ = h.take(word("x", 100*i, 100*i+1))
	}
	if got := len(h.away(time.UnixMilli(sec(499_901)))); got != mostBreaks {
		t.Errorf("%d breaks are remembered, want %d", got, mostBreaks)
	}
	if c := topic.PulseLog(); c.Retention < topic.AwayKnown || !c.Lengthen {
		t.Errorf("the words are kept for %s, where there is a topic: %v", c.Retention, c.Lengthen)
	}
}
