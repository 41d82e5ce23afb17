package read

import (
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/frame"
)

// TestStateAt: a node is down when nobody hears of it who could, and not because Ringwatch was
// away.
func TestStateAt(t *testing.T) {
	const sec, interval = 1000, 5000
	var since, until int64
	r := &Reader{source: &source{}}
	r.source.sources.Pulse = func() (a, b time.Time) {
		if since > 0 {
			a = time.UnixMilli(since)
		}
		if until > 0 {
			b = time.UnixMilli(until)
		}
		return a, b
	}
	for _, c := range []struct {
		what                    string
		since, until, at, heard int64
		want                    string
	}{
		{"it sends", 1 * sec, 1005 * sec, 1000 * sec, 999 * sec, StateUp},
		{"it fell silent", 1 * sec, 1005 * sec, 1000 * sec, 900 * sec, StateDown},
		{"nothing is known of the pulse", 0, 0, 1000 * sec, 900 * sec, StateDown},
		{"nobody has listened since", 0, 905 * sec, 1000 * sec, 900 * sec, StateLate},
		{"it was down when they went", 0, 905 * sec, 1000 * sec, 800 * sec, StateDown},
		{"they are back, and it had no time yet", 990 * sec, 1005 * sec, 1000 * sec, 900 * sec,
			StateLate},
		{"they have been back for long", 900 * sec, 1005 * sec, 1000 * sec, 890 * sec, StateDown},
		{"before they were away", 990 * sec, 1005 * sec, 800 * sec, 700 * sec, StateDown},
	} {
		since, until = c.since, c.until
		if got := r.StateAt(c.at, c.heard, interval); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
	since, until = 900*sec, 10_000*sec
	r.source.sources.Away = func() []Span {
		return []Span{{100 * sec, 150 * sec}, {700 * sec, 900 * sec}, {1400 * sec, 1500 * sec},
			{1510 * sec, 1600 * sec}, {From: 5000 * sec}}
	}
	for _, c := range []struct {
		what      string
		at, heard int64
		want      string
	}{
		{"in a time when nobody listened", 850 * sec, 699 * sec, StateLate},
		{"it was down before that", 850 * sec, 600 * sec, StateDown},
		{"it had no time yet to be heard of again", 155 * sec, 60 * sec, StateLate},
		{"it had", 300 * sec, 99 * sec, StateDown},
		{"between two such times", 690 * sec, 500 * sec, StateDown},
		{"in one that lasts", 9000 * sec, 4999 * sec, StateLate},
		{"they came back for a moment between", 1590 * sec, 1399 * sec, StateLate},
	} {
		if got := r.StateAt(c.at, c.heard, interval); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
	r.source.sources.Away = nil
	r.source.sources.Pulse = nil
	if got := r.StateAt(1000*sec, 900*sec, interval); got != StateDown {
		t.Error("without a pulse it is", got)
	}
}

// TestRefine: what a node says of itself counts until it is down, and that its agent is paused
// before all else, since nothing is known then.
func TestRefine(t *testing.T) {
	since := frame.Fact{Name: frame.FactPaused, Value: "2026-11-28T08:15:00Z"}
	words := func(w string) frame.Fact { return frame.Fact{Name: frame.FactNotServing, Value: w} }
	for _, c := range []struct {
		state string
		facts []frame.Fact
		want  string
	}{
		{StateUp, nil, StateUp},
		{StateLate, nil, StateLate},
		{StateUp, []frame.Fact{words(frame.Joining)}, StateJoining},
		{StateUp, []frame.Fact{words(frame.JoiningFailed)}, StateNotServing},
		{StateUp, []frame.Fact{words(frame.Leaving)}, StateLeaving},
		{StateLate, []frame.Fact{words(frame.Drained)}, StateNotServing},
		{StateUp, []frame.Fact{words("of a later agent")}, StateNotServing},
		{StateDown, []frame.Fact{words(frame.Drained)}, StateDown},
		{StateDown, []frame.Fact{since}, StateDown},
		{StateUp, []frame.Fact{words(frame.Drained), since}, StatePaused},
	} {
		if got := Refine(c.state, &frame.Identity{Facts: c.facts}); got != c.want {
			t.Errorf("%s, %v: %s, want %s", c.state, c.facts, got, c.want)
		}
	}
}
