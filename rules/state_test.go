package rules

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/ringwatch/ringwatch/frame"
)

// anyState makes a state of all kinds of values; the same seed gives the same one.
func anyState(seed uint64) State {
	r := rand.New(rand.NewPCG(seed, 5))
	text := func() string {
		return []string{"a", "", "\"quoted\"\n", "ä\u2028€", "\x00", "{{ $value }}"}[r.IntN(6)]
	}
	labels := func() map[string]string {
		m := map[string]string{}
		for range r.IntN(4) {
			m["l"+text()] = text()
		}
		return m
	}
	s := State{Account: text(), Cluster: text()}
	for range r.IntN(4) {
		g := GroupState{File: text(), Name: text(), Next: r.Int64(), Evaluated: r.Int64(),
			Took: r.Float64(), Missed: r.Int64N(3)}
		for range r.IntN(4) {
			one := RuleState{Name: text(), Labels: text(), Health: "ok", Error: text(),
				Took: r.Float64()}
			for range r.IntN(4) {
				one.Alerts = append(one.Alerts, AlertState{
					State: []string{"inactive", "pending", "firing"}[r.IntN(3)], Labels: labels(),
					Annotations: labels(), ActiveAt: r.Int64(), FiredAt: r.Int64N(2),
					ResolvedAt: r.Int64N(2),
					LastSentAt: r.Int64(), ValidUntil: r.Int64(), KeepFiring: r.Int64N(2),
					Value: Float([]float64{0, 1.5, math.Inf(1), math.Inf(-1), math.NaN(),
						math.Copysign(0, -1), 5e-324,
						math.MaxFloat64, math.Float64frombits(r.Uint64())}[r.IntN(9)]),
				})
			}
			g.Rules = append(g.Rules, one)
		}
		s.Groups = append(s.Groups, g)
	}
	for range r.IntN(4) {
		n := NodeState{Datacenter: text(), Rack: text(), Interval: r.Int64(), Last: r.Int64(),
			Down: r.IntN(2) == 0}
		for i := range n.ID {
			n.ID[i] = byte(r.Uint32())
		}
		for range r.IntN(3) {
			n.Facts = append(n.Facts, frame.Fact{Name: text(), Value: text()})
		}
		s.Nodes = append(s.Nodes, n)
	}
	return s
}

// FuzzState: what is packed is unpacked as it was. Hostile bytes are an error, or a state, and no
// more than maxState is made of them.
func FuzzState(f *testing.F) {
	for seed := range uint64(50) {
		s := anyState(seed)
		packed, err := s.Pack()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(seed, packed)
		f.Add(seed, packed[:len(packed)/2])
	}
	f.Add(uint64(0), []byte{})
	f.Fuzz(func(t *testing.T, seed uint64, hostile []byte) {
		s := anyState(seed)
		packed, err := s.Pack()
		if err != nil {
			t.Fatal(err)
		}
		of, err := UnpackState(packed)
		if err != nil || !sameState(&of, &s) {
			t.Fatalf("%v\n%+v\n%+v", err, of, s)
		}
		if of, err := UnpackState(hostile); err == nil {
			if again, err := of.Pack(); err != nil {
				t.Errorf("what was unpacked cannot be packed: %v", err)
			} else if back, err := UnpackState(again); err != nil || !sameState(&back, &of) {
				t.Errorf("%v\n%+v\n%+v", err, back, of)
			}
		}
	})
}

// sameState compares, NaN being NaN and nothing being nothing.
func sameState(a, b *State) bool {
	x, err := a.Pack()
	if err != nil {
		return false
	}
	y, err := b.Pack()
	return err == nil && bytes.Equal(x, y) && len(a.Groups) == len(b.Groups) &&
		len(a.Nodes) == len(b.Nodes)
}

// TestHugeState: a state that says little and unpacks to more than is allowed is refused, whether
// its header owns up to it or not, and what follows a state is not read.
func TestHugeState(t *testing.T) {
	pack := func(text []byte) []byte {
		w, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		return w.EncodeAll(text, nil)
	}
	const most = 1 << 20
	huge := append([]byte(`{"account":"`), bytes.Repeat([]byte("a"), most)...)
	if _, err := unpack(pack(append(slices.Clone(huge), `"}`...)), most); err == nil {
		t.Error("no error")
	}
	var streamed bytes.Buffer // without its size in the header
	w, err := zstd.NewWriter(&streamed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(huge); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := unpack(streamed.Bytes(), most); err == nil {
		t.Error("no error")
	}
	for _, text := range []string{`{"groups":[{"rules":[{"alerts":[{"value":"x"}]}]}]}`, `[]`,
		`{`, `1`} {
		if s, err := UnpackState(pack([]byte(text))); err == nil {
			t.Errorf("%s is %+v", text, s)
		}
	}
	var f Float
	for _, v := range []float64{1, math.Inf(1), math.Inf(-1), math.Copysign(0, -1)} {
		b, err := Float(v).MarshalJSON()
		if err != nil || f.UnmarshalJSON(b) != nil || !reflect.DeepEqual(float64(f), v) {
			t.Errorf("%v is %s and %v", v, b, f)
		}
	}
}
