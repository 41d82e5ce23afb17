package main

import (
	"fmt"
	"html"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// prompt begins the line that somebody typed.
const prompt = "$ "

// theme is the colours of a picture. lines are by the number of a terminal's colour.
type theme struct {
	back, edge, text, faint, prompt string
	lines                           map[int]string
}

var themes = map[string]theme{
	"light": {"#ffffff", "#d0d7de", "#1f2328", "#59636e", "#0969da", map[int]string{
		9: "#cf222e", 10: "#1a7f37", 11: "#9a6700", 12: "#0550ae", 13: "#8250df", 14: "#1b7c83",
	}},
	"dark": {"#0d1117", "#30363d", "#e6edf3", "#9198a1", "#4493f8", map[int]string{
		9: "#ff7b72", 10: "#3fb950", 11: "#d29922", 12: "#79c0ff", 13: "#d2a8ff", 14: "#56d4dd",
	}},
}

// A picture's measures, in pixels: of a character, and around all of them. A line is as high as a
// box-drawing character, so that those of a plot meet.
const (
	fontSize     = 14
	charWidth    = 8.43
	lineHeight   = 17.0
	afterCommand = 8.0 // between what was typed and what came
	margin       = 18.0
)

// colorChange is what sets a terminal's colour: ESC [ numbers m.
var colorChange = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// draw makes a picture of lines as a terminal shows them.
func draw(lines []string, t theme) string {
	widest := 0
	for _, line := range lines {
		widest = max(widest, utf8.RuneCountInString(colorChange.ReplaceAllString(line, "")))
	}
	width := int(math.Ceil(float64(widest)*charWidth + 2*margin))
	height := int(math.Ceil(float64(len(lines))*lineHeight + afterCommand + 2*margin))
	var out strings.Builder
	fmt.Fprintf(&out,
		`<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d" `+
			`font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="%[3]d">`+"\n",
		width, height, fontSize)
	fmt.Fprintf(&out, `<rect x="0.5" y="0.5" width="%d" height="%d" rx="8" fill="%s" stroke="%s"/>`+
		"\n",
		width-1, height-1, t.back, t.edge)
	for i, line := range lines {
		y := margin + afterCommand + lineHeight*(float64(i)+0.8)
		switch {
		case strings.HasPrefix(line, prompt):
			t.write(&out, 0, y-afterCommand, prompt, t.prompt)
			t.write(&out, len(prompt), y-afterCommand, line[len(prompt):], t.text)
		case i == 1 && strings.ToUpper(line) == line:
			t.write(&out, 0, y, line, t.faint) // a table's head
		default:
			t.writeColored(&out, y, line)
		}
	}
	out.WriteString("</svg>\n")
	return out.String()
}

// writeColored writes a line with its changes of colour.
func (t *theme) writeColored(out *strings.Builder, y float64, line string) {
	color, column := t.text, 0
	for line != "" {
		at := colorChange.FindStringSubmatchIndex(line)
		if at == nil {
			t.write(out, column, y, line, color)
			return
		}
		t.write(out, column, y, line[:at[0]], color)
		column += utf8.RuneCountInString(line[:at[0]])
		color = t.color(line[at[2]:at[3]])
		line = line[at[1]:]
	}
}

// color is that of a terminal's numbers: 91 or 38;5;9 are the bright red, 0 is none.
func (t *theme) color(numbers string) string {
	n, err := strconv.Atoi(strings.TrimPrefix(numbers, "38;5;"))
	switch {
	case err != nil:
		return t.text
	case n >= 90 && n < 98:
		n -= 90 - 8
	case n >= 30 && n < 38:
		n -= 30 - 8
	}
	if c, has := t.lines[n]; has {
		return c
	}
	return t.text
}

// write writes text from a column on. Blanks around it are place, and its width is given, for the
// reader's font may have another.
func (t *theme) write(out *strings.Builder, column int, y float64, text, color string) {
	column += utf8.RuneCountInString(text) - utf8.RuneCountInString(strings.TrimLeft(text, " "))
	text = strings.TrimSpace(text)
	if text == "" {
		return
	}
	fmt.Fprintf(out,
		`<text x="%.1f" y="%.1f" fill="%s" textLength="%.1f" lengthAdjust="spacingAndGlyphs" xml:space="preserve">%s</text>`+"\n",
		margin+float64(column)*charWidth, y, color, float64(utf8.RuneCountInString(text))*charWidth,
		strings.ReplaceAll(html.EscapeString(text), "  ", " \u00a0"))
}
