package settings

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml/parser"

	"github.com/ringwatch/ringwatch/access/certs"
	"github.com/ringwatch/ringwatch/access/listener"
)

// configPages have the keys of the configuration, each in one of them.
var configPages = []string{"CONFIG.md"}

// configRow is a row of a table of keys in these pages.
var configRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (–|`[^`]*`) \\| (.*) \\|$")

// TestConfigPagesAreComplete: the pages have one row for each key of the configuration, none for
// what is no key, and their defaults are the program's.
func TestConfigPagesAreComplete(t *testing.T) {
	rows := map[string]string{}
	agents := false
	for _, name := range configPages {
		b, err := os.ReadFile("../../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		page, _, found := strings.Cut(string(b), "\n## The agent\n") // docs/ checks the agent's
		agents = agents || found
		of := configRow.FindAllStringSubmatch(page, -1)
		if len(of) == 0 {
			t.Errorf("docs/%s has no keys", name)
		}
		for _, m := range of {
			if _, twice := rows[m[1]]; twice {
				t.Errorf("%s has a second row for %s", name, m[1])
			}
			if strings.TrimSpace(m[3]) == "" {
				t.Errorf("%s gives no reason for %s", name, m[1])
			}
			rows[m[1]] = m[2]
		}
	}
	if !agents {
		t.Fatal("docs/CONFIG.md has no section The agent, which ends the roles' keys")
	}
	c := Default()
	keys := map[string]reflect.Value{}
	eachKey(reflect.ValueOf(&c).Elem(), "", keys)
	tls := reflect.New(reflect.TypeFor[listener.TLS]()).Elem()
	for name, v := range settable(tls) {
		keys["tls."+name] = v // in six places, and once on the page
	}
	engine := certs.Section("")
	for name, v := range settable(reflect.ValueOf(&engine).Elem()) {
		keys["ENGINE.tls."+name] = v // in four places
	}
	for key, value := range keys {
		row, ok := rows[key]
		if !ok {
			t.Errorf("no page has a row for %s, whose default is %v: add one with the reason",
				key, value)
			continue
		}
		if err := sameDefault(row, value); err != nil {
			t.Errorf("the row of %s: %v", key, err)
		}
	}
	for key := range rows {
		if _, ok := keys[key]; !ok {
			t.Errorf("a page has a row for %s, which is no key", key)
		}
	}
	if len(keys) < 200 {
		t.Errorf("only %d keys were found", len(keys))
	}
}

// eachKey collects what a file can set: a list's elements as key[], a map's as key.NAME.
func eachKey(v reflect.Value, path string, keys map[string]reflect.Value) {
	under := func(v reflect.Value, path string) bool {
		if v.Kind() != reflect.Struct || ownYAML(v) != nil ||
			v.Type() == reflect.TypeFor[time.Time]() {
			return false
		}
		eachKey(v, path, keys)
		return true
	}
	for name, field := range settable(v) {
		at := strings.TrimPrefix(path+"."+name, ".")
		if of := field.Type(); of == reflect.TypeFor[listener.TLS]() ||
			of == reflect.TypeFor[certs.Client]() {
			keys[at] = reflect.New(of).Elem() // its own keys have a table
			continue
		}
		if under(field, at) {
			continue
		}
		switch field.Kind() {
		case reflect.Slice:
			if ownYAML(field) == nil && under(reflect.New(field.Type().Elem()).Elem(),
				at+"[]") {
				continue
			}
		case reflect.Map:
			if under(reflect.New(field.Type().Elem()).Elem(), at+".NAME") {
				continue
			}
		}
		keys[at] = field
	}
}

// sameDefault compares a cell of the page, read as a file would be, with a default.
func sameDefault(cell string, want reflect.Value) error {
	empty := want.IsZero() || (want.Kind() == reflect.Slice || want.Kind() == reflect.Map) &&
		want.Len() == 0
	if cell == "–" {
		if !empty {
			return fmt.Errorf("the page says that it is empty, its default is %v", want)
		}
		return nil
	}
	text := strings.Trim(cell, "`")
	file, err := parser.ParseBytes([]byte(text), 0)
	if err != nil || len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return fmt.Errorf("%q is no value: %v", text, err)
	}
	got := reflect.New(want.Type()).Elem()
	var d decoder
	d.value(file.Docs[0].Body, got, "default")
	if len(d.errs) > 0 {
		return fmt.Errorf("a file could not say %q: %v", text, d.errs[0])
	}
	if !reflect.DeepEqual(got.Interface(), want.Interface()) {
		return fmt.Errorf("the page says %s, its default is %v", text, want)
	}
	return nil
}
