package frame

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"strings"
	"testing"
)

const hostileFile = "testdata/hostile/hostile.txt"

// hostile is bytes that every decoder must refuse, and why. key is nil unless the bytes are a
// delta frame.
type hostile struct {
	name string
	want error
	key  []byte
	b    []byte
}

var sentinelNames = map[string]error{
	"truncated": ErrTruncated, "magic": ErrMagic, "version": ErrVersion, "checksum": ErrChecksum,
	"too_large": ErrTooLarge, "malformed": ErrMalformed, "key": ErrKey,
}

// seal gives b the length and the checksum that it claims to have.
func seal(b []byte) []byte {
	binary.LittleEndian.PutUint32(b[lengthOffset:], uint32(len(b)))
	binary.LittleEndian.PutUint32(b[checkOffset:], crc32.Checksum(b[lengthOffset:], castagnoli))
	return b
}

// withPayload is the header of f before a payload of our own.
func withPayload(f *Frame, c Compression, rawLength int, payload []byte) []byte {
	h := f.Header
	h.Compression, h.RawLength = c, rawLength
	return seal(append(h.appendHeader(nil), payload...))
}

func makeHostile(t *testing.T) []hostile {
	all := mustVectors(t)
	byName := map[string]*vector{}
	for _, v := range all {
		byName[v.name] = v
	}
	full, moved, smallest := byName["kinds"], byName["moved"], byName["smallest"]
	var list []hostile
	add := func(name string, want error, key, b []byte) {
		list = append(list, hostile{name, want, key, b})
	}
	plain := func(payload ...byte) []byte {
		return withPayload(smallest.frame, None, len(payload), payload)
	}

	add("nothing", ErrTruncated, nil, nil)
	add("only_magic", ErrTruncated, nil, []byte("RWF\x01"))
	add("text", ErrMagic, nil, []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"))
	v2 := bytes.Clone(smallest.hex)
	v2[versionOffset] = 2
	add("version_2", ErrVersion, nil, v2)
	add("cut", ErrTruncated, nil, full.hex[:len(full.hex)-1])
	flipped := bytes.Clone(full.hex)
	flipped[len(flipped)-3] ^= 4
	add("flipped", ErrChecksum, nil, flipped)
	huge := bytes.Clone(smallest.hex)
	binary.LittleEndian.PutUint32(huge[lengthOffset:], 1<<31)
	add("length_2_GiB", ErrTooLarge, nil, huge)
	zero := *smallest.frame
	zero.Node = [16]byte{}
	add("node_zero", ErrMalformed, nil, withPayload(&zero, None, 7, make([]byte, 7)))
	control := *smallest.frame
	control.Cluster = "a\nb"
	add("cluster_newline", ErrMalformed, nil, withPayload(&control, None, 7, make([]byte, 7)))
	other := *moved.frame
	other.KeyAge = WindowMillis - 1
	add("key_in_another_window", ErrMalformed, full.hex, withPayload(&other, None, 0, nil))
	add("delta_without_key", ErrKey, nil, moved.hex)
	add("delta_with_another_key", ErrKey, smallest.hex, moved.hex)
	add("compression_3", ErrMalformed, nil, withPayload(smallest.frame, 3, 7, make([]byte, 7)))
	add("raw_length_wrong", ErrMalformed, nil,
		withPayload(smallest.frame, None, 8, make([]byte, 7)))
	add("raw_length_65_MiB", ErrTooLarge, nil, withPayload(smallest.frame, Zstd, 65<<20,
		make([]byte, 7)))
	add("zstd_of_nothing", ErrMalformed, nil, withPayload(smallest.frame, Zstd, 7, []byte{1, 2, 3}))
	add("zstd_bomb", ErrTooLarge, nil,
		withPayload(smallest.frame, Zstd, 7, zstdEncoder().EncodeAll(make([]byte, 8<<20), nil)))
	add("deflate_of_nothing", ErrMalformed, nil, withPayload(smallest.frame, Deflate, 7,
		[]byte{255, 255}))
	_, packed := pack(Deflate, make([]byte, 1<<20))
	add("deflate_bomb", ErrTooLarge, nil, withPayload(smallest.frame, Deflate, 7, packed))
	add("deflate_short", ErrMalformed, nil, withPayload(smallest.frame, Deflate, 2<<20, packed))
	add("deflate_more_behind", ErrMalformed, nil, withPayload(smallest.frame, Deflate, 1<<20,
		append(bytes.Clone(packed), 0)))

	add("byte_behind_last_section", ErrMalformed, nil, plain(0, 0, 0, 0, 0, 0, 0, 0, 0))
	add("section_missing", ErrMalformed, nil, plain(0, 0, 0, 0, 0, 0))
	add("varint_without_end", ErrMalformed, nil, plain(0x80, 0x80, 0x80))
	add("varint_of_11_bytes", ErrMalformed, nil, plain(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		0x80, 0x80, 0x80, 1))
	add("varint_not_shortest", ErrMalformed, nil, plain(0x80, 0, 0, 0, 0, 0, 0, 0, 0))
	add("text_longer_than_frame", ErrMalformed, nil, plain(9, 'a'))
	add("text_not_utf8", ErrMalformed, nil, plain(1, 0xff, 0, 0, 0, 0, 0, 0, 0))
	add("facts_too_many", ErrTooLarge, nil, plain(0, 0, 65))
	add("facts_out_of_order", ErrMalformed, nil, plain(0, 0, 2, 1, 'b', 0, 1, 'a', 0, 0, 0,
		0, 0, 0))
	add("bounds_sets_4_billion", ErrTooLarge, nil, plain(0, 0, 0, 0xff, 0xff, 0xff, 0xff, 15))
	add("bounds_empty", ErrMalformed, nil, plain(0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0))
	add("bounds_do_not_rise", ErrMalformed, nil, plain(0, 0, 0, 1, 0, 2, 2, 0, 0, 0, 0, 0, 0))
	add("exponent_19", ErrMalformed, nil, plain(0, 0, 0, 1, 38, 1, 2, 0, 0, 0, 0, 0))

	with := *smallest.frame
	with.HasEvents = true
	events := func(b ...byte) []byte { // before an empty payload
		b = append(append([]byte{byte(len(b))}, b...), make([]byte, 7)...)
		return withPayload(&with, None, len(b), b)
	}
	add("events_none", ErrMalformed, nil, events(0))
	add("events_of_no_bytes", ErrMalformed, nil, events())
	add("events_65", ErrTooLarge, nil, events(65))
	add("events_more_than_bytes", ErrMalformed, nil, events(2, 0, 1, 'x', 0, 0, 0))
	add("events_bytes_behind", ErrMalformed, nil, events(1, 0, 1, 'x', 0, 0, 0, 0))
	add("events_longer_than_payload", ErrMalformed, nil,
		withPayload(&with, None, 4, []byte{100, 1, 0, 1}))
	add("events_of_65_KiB", ErrTooLarge, nil,
		withPayload(&with, None, 4, []byte{0x80, 0x80, 8, 1}))
	add("events_promised", ErrMalformed, nil, withPayload(&with, None, 7, make([]byte, 7)))
	add("event_without_kind", ErrMalformed, nil, events(1, 0, 0, 0, 0, 0))
	add("event_kind_with_capital", ErrMalformed, nil, events(1, 0, 1, 'X', 0, 0, 0))
	add("event_severity_3", ErrMalformed, nil, events(1, 0, 1, 'x', 3, 0, 0))
	add("event_before_time", ErrMalformed, nil, events(1, 1, 1, 'x', 0, 0, 0))
	add("event_17_labels", ErrTooLarge, nil, events(1, 0, 1, 'x', 0, 17, 0))
	add("event_label_empty", ErrMalformed, nil, events(1, 0, 1, 'x', 0, 1, 1, 'a', 0, 0))
	add("event_label_unnamed", ErrMalformed, nil, events(1, 0, 1, 'x', 0, 1, 0, 1, 'v', 0))
	add("event_labels_out_of_order", ErrMalformed, nil,
		events(1, 0, 1, 'x', 0, 2, 1, 'b', 1, 'v', 1, 'a', 1, 'v', 0))
	add("event_text_of_2_KiB", ErrTooLarge, nil, events(1, 0, 1, 'x', 0, 0, 0x80, 16))
	add("event_text_not_utf8", ErrMalformed, nil, events(1, 0, 1, 'x', 0, 0, 1, 0xff))

	// edit encodes a changed copy of a vector: what an encoder that breaks a rule would send.
	edit := func(name string, want error, from *vector, change func(f *Frame)) {
		text := formatVector(&vector{name: "x", key: from.key, frame: from.frame},
			keyOf(from, all).frame)
		if from.key != "" {
			text = formatVector(keyOf(from, all), nil) + text
		}
		vs, err := parseVectors([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		f := vs[len(vs)-1].frame
		var key *Frame
		var keyBytes []byte
		if from.key != "" {
			key, keyBytes = vs[0].frame, vs[0].hex
			key.Check = binary.LittleEndian.Uint32(keyBytes[checkOffset:])
		}
		change(f)
		b, err := f.Append(nil, key)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		add(name, want, keyBytes, b)
	}
	happened := byName["happened"]
	edit("events_out_of_order", ErrMalformed, happened, func(f *Frame) {
		f.Events[0].At = f.At
	})
	edit("event_label_reserved", ErrMalformed, happened, func(f *Frame) {
		f.Events[0].Labels[0].Name = "cluster"
	})
	edit("type_twice", ErrMalformed, full, func(f *Frame) { f.Templates[2].Type = "table" })
	edit("type_with_capital", ErrMalformed, full, func(f *Frame) { f.Templates[2].Type = "Table" })
	edit("metric_twice", ErrMalformed, full, func(f *Frame) {
		f.Templates[2].Metrics[0].Name = "os_load1"
	})
	edit("metric_of_key_again", ErrMalformed, moved, func(f *Frame) {
		f.Templates[0].Metrics[0].Name = "os_load1"
	})
	edit("metric_with_blank", ErrMalformed, full, func(f *Frame) {
		f.Templates[0].Metrics[0].Name = "a b"
	})
	edit("label_reserved", ErrMalformed, full, func(f *Frame) {
		f.Templates[1].Labels[0] = "cluster"
	})
	edit("label_twice", ErrMalformed, full, func(f *Frame) { f.Templates[1].Labels[0] = "table" })
	edit("unit_with_digit", ErrMalformed, full, func(f *Frame) {
		f.Templates[0].Metrics[0].Unit = "s2"
	})
	edit("bounds_unknown", ErrMalformed, full, func(f *Frame) {
		f.Templates[1].Metrics[2].Bounds = 2
	})
	edit("double_with_exponent", ErrMalformed, full, func(f *Frame) {
		f.Templates[0].Metrics[1].Exponent = 3
	})
	edit("kind_6", ErrMalformed, full, func(f *Frame) {
		f.Templates[2].Metrics[0].Kind = kinds
		f.Values = f.Values[:2]
	})
	edit("entity_twice", ErrMalformed, full, func(f *Frame) {
		f.Added[1].Rows[1] = f.Added[1].Rows[0]
	})
	edit("entity_of_key_again", ErrMalformed, moved, func(f *Frame) {
		f.Added[0].Rows[1] = []string{"ks", "b"}
	})
	edit("two_entities_without_labels", ErrTooLarge, full, func(f *Frame) {
		f.Added[0].Rows = [][]string{{}, {}}
	})
	edit("template_unknown", ErrMalformed, full, func(f *Frame) {
		f.Added[1].Template = 7
		f.Presence, f.Values = nil, nil
	})
	edit("metric_unknown", ErrMalformed, full, func(f *Frame) {
		f.Presence[0].Columns[1].Metric = 9
	})
	edit("removed_of_this_frame", ErrMalformed, moved, func(f *Frame) {
		f.Removed[0].Entities = []int{0, 3}
	})
	edit("value_of_removed", ErrMalformed, moved, func(f *Frame) {
		f.Values[1].Columns[0].Entities = []int{2, 3}
	})
	edit("selector_lists_all", ErrMalformed, full, func(f *Frame) {
		f.Values[1].Columns[0].All, f.Values[1].Columns[0].Entities = false, []int{0, 1, 2}
	})
	edit("selector_beyond", ErrMalformed, full, func(f *Frame) {
		f.Values[1].Columns[1].Entities = []int{3}
	})
	edit("value_that_does_not_differ", ErrMalformed, full, func(f *Frame) {
		f.Values[1].Columns[0].Ints[1] = 0
	})
	edit("value_nan", ErrMalformed, full, func(f *Frame) {
		f.Values[0].Columns[1].Doubles[0] = nan()
	})
	edit("bucket_beyond", ErrMalformed, full, func(f *Frame) {
		f.Values[1].Columns[2].Histograms[0].Index[2] = 14
	})
	edit("bucket_that_does_not_differ", ErrMalformed, full, func(f *Frame) {
		f.Values[1].Columns[2].Histograms[0].Count[2] = 0
	})
	edit("histogram_that_does_not_differ", ErrMalformed, full, func(f *Frame) {
		f.Values[1].Columns[2].Histograms[1].Sum = 0
	})
	edit("column_of_empty_type", ErrMalformed, full, func(f *Frame) {
		f.Values = append(f.Values, Group{Template: 2, Columns: []Column{{All: true}}})
	})
	edit("entities_too_many", ErrTooLarge, full, func(f *Frame) {
		f.Presence, f.Values = nil, nil
		pools := Entities{Template: 2}
		for i := range MaxEntities {
			pools.Rows = append(pools.Rows, []string{fmt.Sprint(i), ""})
		}
		f.Added = append(f.Added, pools)
	})
	edit("cells_too_many", ErrTooLarge, full, func(f *Frame) {
		f.Presence, f.Values = nil, nil
		t := &f.Templates[2]
		for len(t.Metrics) < MaxMetrics {
			t.Metrics = append(t.Metrics, Metric{Name: fmt.Sprintf("m%d", len(t.Metrics))})
		}
		pools := Entities{Template: 2}
		for i := range MaxCells / MaxMetrics {
			pools.Rows = append(pools.Rows, []string{fmt.Sprint(i), ""})
		}
		f.Added = append(f.Added, pools)
	})
	return list
}

func nan() float64 { z := 0.0; return z / z }

func mustHostile(tb testing.TB) []hostile {
	tb.Helper()
	text, err := os.ReadFile(hostileFile)
	if err != nil {
		tb.Fatal(err)
	}
	var list []hostile
	for _, line := range strings.Split(string(text), "\n") {
		w := strings.Fields(line)
		if len(w) == 0 || w[0] == "#" {
			continue
		}
		unhex := func(s string) []byte {
			b, err := hex.DecodeString(strings.Trim(s, "-"))
			if err != nil {
				tb.Fatal(err)
			}
			return b
		}
		h := hostile{name: w[0], want: sentinelNames[w[1]], b: unhex(w[3])}
		if w[2] != "-" {
			h.key = unhex(w[2])
		}
		list = append(list, h)
	}
	return list
}

func TestHostileBytesAreRefused(t *testing.T) {
	if *update {
		var out strings.Builder
		out.WriteString("# Bytes that every decoder must refuse: NAME WHY KEY_FRAME|- BYTES. Why " +
			"is the sentinel of frame/frame.go.\n")
		for _, h := range makeHostile(t) {
			if len(h.b) > 64<<10 {
				continue // checked below as it is made
			}
			for why, err := range sentinelNames {
				if err == h.want {
					fmt.Fprintf(&out, "%s %s %s %s\n", h.name, why, orDash(h.key), orDash(h.b))
				}
			}
		}
		if err := os.WriteFile(hostileFile, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept := mustHostile(t)
	if len(kept) < 40 {
		t.Fatalf("only %d hostile vectors", len(kept))
	}
	for _, h := range append(kept, makeHostile(t)...) {
		var key *Frame
		if h.key != nil {
			var err error
			if key, err = Decode(h.key, nil); err != nil {
				t.Fatalf("%s: its key frame: %v", h.name, err)
			}
		}
		f, err := Decode(h.b, key)
		if !errors.Is(err, h.want) {
			t.Errorf("%s: got %v, want %v (%+v)", h.name, err, h.want, f)
		}
	}
}

func orDash(b []byte) string {
	if len(b) == 0 {
		return "-"
	}
	return hex.EncodeToString(b)
}
