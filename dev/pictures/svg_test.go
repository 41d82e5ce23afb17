package main

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
)

func TestDraw(t *testing.T) {
	for name, colors := range themes {
		svg := draw([]string{
			prompt + `ringwatch query '<a> & "b"'`, "NODE  STATE",
			"  1.5 ┤\x1b[94m╭──\x1b[0m \x1b[91m■\x1b[0m", "",
		}, colors)
		texts := 0
		for d := xml.NewDecoder(strings.NewReader(svg)); ; {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, svg)
			}
			if start, is := token.(xml.StartElement); is && start.Name.Local == "text" {
				texts++
			}
		}
		if texts != 6 || strings.Contains(svg, "\x1b") {
			t.Errorf("%s: %d texts\n%s", name, texts, svg)
		}
		for _, want := range []string{
			`fill="` + colors.lines[12] + `"`, `fill="` + colors.lines[9] + `"`, ">╭──<",
			"&lt;a&gt; &amp; &#34;b&#34;", ">NODE \u00a0STATE<",
		} {
			if !strings.Contains(svg, want) {
				t.Errorf("%s has no %s:\n%s", name, want, svg)
			}
		}
	}
}
