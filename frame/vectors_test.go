package frame

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the bytes of new vectors; never for a released one")

func mustVectors(tb testing.TB) []*vector {
	tb.Helper()
	files, err := filepath.Glob("testdata/vectors/*.txt")
	if err != nil || len(files) == 0 {
		tb.Fatalf("no vectors: %v", err)
	}
	var all []*vector
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		vs, err := parseVectors(text)
		if err != nil {
			tb.Fatalf("%s: %v", file, err)
		}
		all = append(all, vs...)
	}
	return all
}

func keyOf(v *vector, all []*vector) *vector {
	for _, k := range all {
		if k.name == v.key {
			return k
		}
	}
	return &vector{}
}

func TestVectorsEncodeToTheirBytes(t *testing.T) {
	if *update {
		updateVectors(t)
	}
	all := mustVectors(t)
	for _, v := range all {
		got, err := v.frame.Append(nil, keyOf(v, all).frame)
		if err != nil {
			t.Fatalf("%s: %v", v.name, err)
		}
		if !bytes.Equal(got, v.hex) {
			t.Errorf("%s: encoded\n%x\nwant\n%x", v.name, got, v.hex)
		}
	}
}

func TestVectorsDecodeToTheirText(t *testing.T) {
	all := mustVectors(t)
	decoded := map[string]*Frame{}
	for _, v := range all {
		f, err := Decode(v.hex, decoded[v.key])
		if err != nil {
			t.Fatalf("%s: %v", v.name, err)
		}
		decoded[v.name] = f
		key := decoded[v.key]
		got := formatVector(&vector{name: v.name, key: v.key, frame: f, hex: v.hex}, key)
		v.frame.Check, v.frame.Length, v.frame.RawLength = f.Check, f.Length, f.RawLength
		want := formatVector(v, key)
		if got != want {
			t.Errorf("%s: decoded to\n%s\nwant\n%s", v.name, got, want)
		}
	}
}

// updateVectors writes the bytes of vectors that have none.
func updateVectors(t *testing.T) {
	files, _ := filepath.Glob("testdata/vectors/*.txt")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all, err := parseVectors(text)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		for _, line := range strings.SplitAfter(string(text), "\n") {
			if !strings.HasPrefix(line, "#") && strings.TrimSpace(line) != "" {
				break
			}
			out.WriteString(line)
		}
		for i, v := range all {
			b, err := v.frame.Append(nil, keyOf(v, all).frame)
			if err != nil {
				t.Fatalf("%s: %v", v.name, err)
			}
			if v.hex != nil && !bytes.Equal(b, v.hex) {
				t.Fatalf("%s: its bytes would change; version 1 is frozen", v.name)
			}
			v.hex = b
			if i > 0 {
				out.WriteByte('\n')
			}
			out.WriteString(formatVector(v, keyOf(v, all).frame))
		}
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEveryPrefixAndBitFlipIsAnError(t *testing.T) {
	all := mustVectors(t)
	for _, v := range all {
		key := keyOf(v, all)
		var k *Frame
		if key.hex != nil {
			k, _ = Decode(key.hex, nil)
		}
		for n := range v.hex {
			if _, err := Decode(v.hex[:n], k); !isSentinel(err) {
				t.Fatalf("%s: the first %d bytes: %v", v.name, n, err)
			}
		}
		for bit := range len(v.hex) * 8 {
			b := bytes.Clone(v.hex)
			b[bit/8] ^= 1 << (bit % 8)
			if _, err := Decode(b, k); !isSentinel(err) {
				t.Fatalf("%s: bit %d flipped: %v", v.name, bit, err)
			}
		}
		if _, err := Decode(append(bytes.Clone(v.hex), 0), k); !errors.Is(err, ErrTruncated) {
			t.Fatalf("%s: a byte more: %v", v.name, err)
		}
	}
}

func isSentinel(err error) bool {
	for _, s := range []error{ErrTruncated, ErrMagic, ErrVersion, ErrChecksum, ErrTooLarge,
		ErrMalformed, ErrKey} {
		if errors.Is(err, s) {
			return true
		}
	}
	return false
}

func TestCompressionKeepsTheFrame(t *testing.T) {
	all := mustVectors(t)
	for _, c := range []Compression{Deflate, Zstd} {
		for _, v := range all {
			if v.key != "" {
				continue
			}
			plain, err := Decode(v.hex, nil)
			if err != nil {
				t.Fatal(err)
			}
			f := *plain
			f.Compression = c
			packed, err := f.Append(nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Decode(packed, nil)
			if err != nil {
				t.Fatalf("%s, %s: %v", v.name, c, err)
			}
			if v.name == "kinds" && got.Compression != c {
				t.Errorf("%s: %s was not used", v.name, c)
			}
			got.Header, f.Header = plain.Header, plain.Header
			if !reflect.DeepEqual(got, plain) {
				t.Errorf("%s, %s: got another frame", v.name, c)
			}
		}
	}
}

// TestReleasedVectorsAreFrozen keeps what other implementations were tested against: a changed
// file is a changed format.
func TestReleasedVectorsAreFrozen(t *testing.T) {
	for _, line := range strings.Split(strings.TrimSpace(mustFile(t, "testdata/frozen.sha256")),
		"\n") {
		sum, file, _ := strings.Cut(line, "  ")
		if got := fmt.Sprintf("%x", sha256.Sum256([]byte(mustFile(t, file)))); got != sum {
			t.Errorf("%s has changed; add a new file instead", file)
		}
	}
}

func mustFile(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
