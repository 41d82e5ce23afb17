package main

import (
	"slices"
	"testing"
)

func TestListed(t *testing.T) {
	const out = "FuzzDecode\nok  \texample/frame\t0.01s\n?   \texample/none\t[no test " +
		"files]\nFuzzA\nFuzzB\nok  \texample/b\t0.02s\nok  \texample/c\t0.02s\n"
	want := []target{{"example/frame", "FuzzDecode"}, {"example/b", "FuzzA"},
		{"example/b", "FuzzB"}}
	if got := listed([]byte(out)); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}
