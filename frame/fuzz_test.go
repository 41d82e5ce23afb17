package frame

import (
	"bytes"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/memory/memorytest"
)

// FuzzDecode feeds hostile bytes in two ways: as they are, and as a payload under a valid header,
// since a checksum would otherwise keep the fuzzer out. Whatever decodes must encode to the same
// bytes again.
func FuzzDecode(f *testing.F) {
	all := mustVectors(f)
	var key *Frame
	for _, v := range all {
		if v.name == "kinds" {
			key, _ = Decode(v.hex, nil)
			keyBytes = v.hex
		}
		if _, payload, err := Parse(v.hex); err == nil {
			f.Add(payload, v.key != "")
		}
		f.Add(v.hex, false)
	}
	for _, h := range mustHostile(f) {
		if _, payload, err := Parse(h.b); err == nil {
			f.Add(payload, h.key != nil)
		}
		f.Add(h.b, true)
	}
	delta := all[len(all)-1].frame
	f.Fuzz(func(t *testing.T, b []byte, asDelta bool) {
		again(t, b, key)
		header := all[0].frame
		if asDelta {
			header = delta
			header.KeyCheck = key.Check
		}
		again(t, withPayload(header, None, len(b), b), key)
	})
}

// decodeBound is what decoding may take for each byte of a payload, unpacked: a column that is
// announced in two bytes takes 136, an entity in four some 150. The base is a zstd decoder's.
var decodeBound = memorytest.Bound{Base: 12 << 20, Factor: 128, Time: time.Minute}

// keyBytes is the key frame that delta frames are decoded against.
var keyBytes []byte

// again decodes and, where that works and nothing was packed, expects the encoder to give the
// same bytes.
func again(t *testing.T, b []byte, key *Frame) {
	size := len(b)
	if h, _, err := Parse(b); err == nil && h.RawLength <= 1<<20 {
		size = max(size, h.RawLength)
	}
	var f *Frame
	var err error
	decodeBound.Within(t, size, func() { f, err = Decode(b, key) })
	_, _ = DecodeWanted(nil, b, key, NewWanted(func(name string) bool { return len(name)%2 == 0 },
		nil))
	if err != nil {
		if !isSentinel(err) {
			t.Fatalf("an error that is none of ours: %v", err)
		}
		return
	}
	some := NewWanted(func(name string) bool { return len(name)%2 == 0 }, NewDictionaries(1<<20))
	for range 2 { // the second time the dictionary is known
		keyed := key
		if !f.IsKey() {
			if keyed, err = DecodeWanted(nil, keyBytes, nil, some); err != nil {
				t.Fatalf("the key frame cannot be decoded for some metrics: %v", err)
			}
		}
		narrow, err := DecodeWanted(nil, b, keyed, some)
		if err != nil || len(narrow.Values) > len(f.Values) {
			t.Fatalf("it can be decoded, but not for some metrics: %v", err)
		}
	}
	if f.Compression != None {
		return
	}
	out, err := f.Append(nil, key)
	if err != nil || !bytes.Equal(out, b) {
		t.Fatalf("decoded, but encodes to other bytes (%v):\n%x\n%x", err, b, out)
	}
}
