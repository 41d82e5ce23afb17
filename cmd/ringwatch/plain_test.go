package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/fleet"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/lookup"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/frame/frametest"
)

func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"Zürich, 東京 → 20 °C 😀": "Zürich, 東京 → 20 °C 😀",
		"\x1b[2J":              `\u001b[2J`,
		"\u009b31m":            `\u009b31m`, // the same in one character
		"a\nb\tc\rd\x7f":       `a\u000ab\u0009c\u000dd\u007f`,
		"\u202etxt.exe\u2066":  `\u202etxt.exe\u2066`,
		"\u200b\u2060\ufeff":   `\u200b\u2060\ufeff`,
		"\u3164\u034f\ufe0f":   `\u3164\u034f\ufe0f`,
		"\U000e0041":           `\udb40\udc41`,
		"\u2028\u00a0\u00ad":   `\u2028\u00a0\u00ad`,
		"\xff":                 `\ufffd`,
	} {
		if got := screen.Plain(text); got != want {
			t.Errorf("%q becomes %s, want %s", text, got, want)
		}
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var back, before string
		if err := json.Unmarshal(screen.PlainJSON(quoted), &back); err != nil {
			t.Errorf("%s: %v", screen.PlainJSON(quoted), err)
		}
		if _ = json.Unmarshal(quoted, &before); back != before {
			t.Errorf("JSON of %q is read as %q", before, back)
		}
	}
	if got := screen.PlainLines("two\nlines\x1b"); got != "two\nlines\\u001b" {
		t.Error(got)
	}
	if got := string(screen.PlainJSON([]byte("{\"a\":\t1}\r\n"))); got != "{\"a\":\t1}\r\n" {
		t.Errorf("%q", got)
	}
	for r := range rune(unicode.MaxRune + 1) {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Bidi_Control, unicode.Zl, unicode.Zp,
			unicode.Co, unicode.Cs) && !screen.Hidden(r) {
			t.Fatalf("U+%04X is not escaped", r)
		}
		if r >= ' ' && r < 0x7f && screen.Hidden(r) {
			t.Fatalf("%q is escaped", r)
		}
	}
}

// TestNothingSteersTheTerminal has every command print what a hostile agent made up.
func TestNothingSteersTheTerminal(t *testing.T) {
	n := frametest.New("prod\u202eetis\u200b", 1, 2)
	n.Identity.Datacenter, n.Identity.Rack = "dc\x1b]0;mine\a", "rack\u2066\U000e0041"
	n.Identity.Facts[0].Value, n.Identity.Facts[1].Value = "10.0.0.1\x1b[2J", "5\r\n\ufeff"
	for i := range n.Entities[1] {
		n.Entities[1][i].Labels[0] = "shop\u009b2J\u061c\u00ad\ufe0f"
	}
	n.Entities[0][0].Cells[3].Text = "version\x1b[8m\x00\u2028"
	serveNodes(t, []*frametest.Node{n})
	id := n.ID.String()
	for name, run := range map[string]func(out io.Writer) error{
		"clusters": func(out io.Writer) error {
			return (&fleet.ClustersCmd{Flags: flags()}).RunTo(t.Context(), out)
		},
		"nodes": func(out io.Writer) error {
			return (&fleet.NodesCmd{Flags: flags()}).RunTo(t.Context(), out)
		},
		"latest": func(out io.Writer) error {
			return (&fleet.LatestCmd{Flags: flags(), Node: id}).RunTo(t.Context(), out)
		},
		"series": func(out io.Writer) error {
			return (&fleet.SeriesCmd{Flags: flags(), Node: id, Metric: "cassandra_table_live*",
				Period: "5m", Top: 5, Rows: 5}).RunTo(t.Context(), out)
		},
		"texts": func(out io.Writer) error {
			return (&fleet.SeriesCmd{Flags: flags(), Node: id,
				Metric: "cassandra_node_schema_version", Period: "5m", Top: 5,
				Rows: 5}).RunTo(t.Context(), out)
		},
		"top": func(out io.Writer) error {
			return (&fleet.TopCmd{Flags: flags()}).RunOnce(t.Context(), out)
		},
		"lookup": func(out io.Writer) error {
			return (&lookup.LookupCmd{Flags: flags(), Table: "shop.items",
				Keys: []string{"17"}}).RunTo(t.Context(), nil, out)
		},
		"lookup --json": func(out io.Writer) error {
			return (&lookup.LookupCmd{Flags: flags(), Table: "shop.items", Keys: []string{"17"},
				JSON: true}).RunTo(t.Context(), nil, out)
		},
		"clusters --json": func(out io.Writer) error {
			return (&fleet.ClustersCmd{Flags: flags(), JSON: true}).RunTo(t.Context(), out)
		},
		"nodes --json": func(out io.Writer) error {
			return (&fleet.NodesCmd{Flags: flags(), JSON: true}).RunTo(t.Context(), out)
		},
		"latest --json": func(out io.Writer) error {
			return (&fleet.LatestCmd{Flags: flags(), Node: id, JSON: true}).RunTo(t.Context(), out)
		},
	} {
		var out bytes.Buffer
		if err := run(&out); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		text := out.String() // no terminal: a plot of several lines has no colours either
		if i := strings.IndexFunc(text, func(r rune) bool {
			return r != '\n' &&
				screen.Hidden(r)
		}); i >=
			0 {
			t.Errorf("%s prints %q", name, text[max(0, i-40):min(len(text), i+40)])
		}
		if !strings.Contains(text, `\u`) {
			t.Errorf("%s prints nothing that was made up:\n%s", name, text)
		}
		path, isJSON := strings.CutSuffix(name, " --json")
		if path = map[string]string{"clusters": "/v1/clusters", "nodes": "/v1/nodes",
			"latest": fleet.MetricsPath(id)}[path]; !isJSON || path == "" {
			continue
		}
		r, _ := http.NewRequest(http.MethodGet, os.Getenv("RINGWATCH_API")+path, nil)
		r.Header.Set("Authorization", "Bearer "+testKey)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var want, got any
		err = json.NewDecoder(answer.Body).Decode(&want)
		answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out.Bytes(), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is not the API's value: %v", name, err)
		}
	}
}

// TestColours: a terminal has colours, unless it has none or the person wants none.
func TestColours(t *testing.T) {
	for _, c := range []struct {
		terminal      bool
		name, noColor string
		want          bool
	}{
		{true, "xterm", "", true}, {false, "xterm", "", false}, {true, "dumb", "", false},
		{true, "", "", false}, {true, "xterm", "1", false},
	} {
		got := screen.ColourTerminal(c.terminal, func(name string) string {
			return map[string]string{"TERM": c.name, "NO_COLOR": c.noColor}[name]
		})
		if got != c.want {
			t.Errorf("%+v", c)
		}
	}
	if screen.Colourful(&bytes.Buffer{}) {
		t.Error("a buffer has colours")
	}
	// What the API says in lines stays in lines.
	for _, err := range []error{client.RefusedError{Text: "a\nb\x1b"},
		client.PromError{Text: "a\nb\x1b"}} {
		if err.Error() != "a\nb\\u001b" {
			t.Errorf("%T: %s", err, err)
		}
	}
}
