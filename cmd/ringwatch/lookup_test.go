package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/lookup"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
)

// TestLookupCommand shows what the API answers as a table and as JSON, and says by its exit that
// a key failed.
func TestLookupCommand(t *testing.T) {
	serve(t)
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte("18\n\n  [\"x\", 1]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(in string, args ...string) (string, error) {
		t.Helper()
		var c struct {
			Lookup lookup.LookupCmd `cmd:""`
		}
		k, err := kong.New(&c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.Parse(append([]string{"lookup"}, args...)); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		err = c.Lookup.RunTo(t.Context(), strings.NewReader(in), &out)
		return out.String(), err
	}
	out, err := run("", "shop.items", "17", "99", "--keys-from", file)
	if err != nil {
		t.Error(err)
	}
	expect(t, out, `^KEY +id +name +tags$`, `^17 +17 +spoon\\u001b\[2J +\["a","b"\]$`,
		`^99 +not found$`, `^18 +18 +null +\[\]$`, `^18 +18 +fork +null$`, `^\["x",1\] +1 +null$`)
	if strings.Contains(out, "\x1b") {
		t.Errorf("a value steers the terminal: %q", out)
	}
	if out, err = run("17\n0\n", "shop.items", "--keys-from", "-", "--columns",
		"id,name"); err == nil || !strings.Contains(err.Error(), "1 of 2 keys could not be read") {
		t.Error(err)
	}
	expect(t, out, `^17 `, `^0 +failed: no replica answers$`)

	out, err = run(strings.Repeat("5\n", 1500)+"18\n", "shop.items", "--keys-from", "-", "--json")
	if err != nil {
		t.Error(err)
	}
	found, missing := 0, 0
	for d := json.NewDecoder(strings.NewReader(out)); d.More(); {
		var answer struct{ Found, Missing int }
		if err := d.Decode(&answer); err != nil {
			t.Fatal(err)
		}
		found, missing = found+answer.Found, missing+answer.Missing
	}
	if found != 1 || missing != 1500 {
		t.Error(found, missing)
	}
	for _, args := range [][]string{{"items", "1"}, {"shop.items"},
		{"shop.items", "--keys-from", file + "-not"}, {"shop.nothing", "1"},
		{"shop.items", "1", "--columns", "secret"}} {
		if out, err := run("", args...); err == nil || out != "" {
			t.Errorf("%v: %q %v", args, out, err)
		}
	}
}

// TestLookupExit: what nobody can be asked is the caller's mistake, as for every command that takes
// a name; a key that cannot be read is a failure, one without rows is none.
func TestLookupExit(t *testing.T) {
	serve(t)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"nope.t", "1"}, exit.Misused, "there is no such table"},
		{[]string{"nope", "1"}, exit.Misused, `"nope" is not a table: write keyspace.table`},
		{[]string{"shop.items", "17", "--columns", "secret"}, exit.Misused,
			"there is no such column"},
		{[]string{"shop.items"}, exit.Misused, "the command has no keys"},
		{[]string{"shop.items", "17", "0"}, exit.Failed, "1 of 2 keys could not be read"},
		{[]string{"shop.items", "99"}, 0, ""},
	} {
		code, out, errs := say(t, append([]string{"lookup"}, c.args...)...)
		if code != c.code || !strings.Contains(errs, c.says) || c.says == "" && errs != "" {
			t.Errorf("%q: exit %d, want %d: %q %q", c.args, code, c.code, out, errs)
		}
	}
}

func TestKeyJSON(t *testing.T) {
	for text, want := range map[string]string{`17`: `"17"`, `a"b`: `"a\"b"`, `["a",1]`: `["a",1]`,
		`{"a":1}`: `{"a":1}`, `"17"`: `"17"`, `[a`: `"[a"`, ``: `""`, `true`: `"true"`} {
		if got := string(lookup.KeyJSON(text)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if got := []string{lookup.Cell(json.RawMessage(`"a"`)), lookup.Cell(json.RawMessage(`{"a":1}`)),
		lookup.Cell(nil)}; !slices.Equal(got, []string{"a", `{"a":1}`, ""}) {
		t.Error(got)
	}
}
