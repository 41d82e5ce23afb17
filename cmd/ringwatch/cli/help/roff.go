package help

import (
	"strings"
)

// roff is a page as it is written.
type roff struct{ strings.Builder }

// escapeRoff makes of text what roff prints as it is.
var escapeRoff = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`,
	"~", `\(ti`)

// macro writes a request with its arguments.
func (p *roff) macro(name string, args ...string) {
	p.WriteString("." + name)
	for _, a := range args {
		p.WriteString(` "` + strings.ReplaceAll(escapeRoff.Replace(a), `"`, `\(dq`) + `"`)
	}
	p.WriteByte('\n')
}

func (p *roff) section(title string) { p.macro("SH", title) }

// line writes a line that does not begin with what roff takes for a request.
func (p *roff) line(text string) {
	text = escapeRoff.Replace(strings.TrimSpace(text))
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	if text != "" {
		p.WriteString(text + "\n")
	}
}

func (p *roff) bold(text string) { p.macro("B", text) }

// Text writes paragraphs.
func (p *roff) text(text string) {
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		p.macro("PP")
		for line := range strings.SplitSeq(paragraph, "\n") {
			p.line(line)
		}
	}
}

// tag writes a term and what it means.
func (p *roff) tag(term, text string) {
	p.macro("TP")
	p.bold(term)
	p.line(text)
}

// example writes lines as they are typed.
func (p *roff) example(text string) {
	p.macro("PP")
	p.macro("EX")
	p.line(text)
	p.macro("EE")
}
