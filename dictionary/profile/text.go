package profile

import (
	"regexp"
	"strconv"
	"strings"
)

// text is a text in which values of an entity's labels stand: rules are matched once with a token
// for each value, and what comes of that is filled in for each entity.
type text struct {
	plain string // all of it, if there are no values in it
	parts []part
}

type part struct {
	plain string
	label int // the value after plain, −1: none
	lower bool
}

// token stands for the value of a label in what rules are matched with. It is a word, as every
// value is that the shipped patterns speak of; those of one exporter ask whether a keyspace begins
// with system, so such a keyspace has a token that does.
func token(label int, system bool) string {
	t := "Zq" + strconv.Itoa(label) + "qZ"
	if system {
		return "system" + t
	}
	return t
}

var tokens = regexp.MustCompile(`(?:system)?(?:Zq([0-9])qZ|zq([0-9])qz)`)

// newText takes tokens for what they stand for.
func newText(s string) text {
	found := tokens.FindAllStringSubmatchIndex(s, -1)
	if len(found) == 0 {
		return text{plain: s}
	}
	var t text
	at := 0
	for _, m := range found {
		p := part{plain: s[at:m[0]], lower: m[2] < 0}
		digit := m[2]
		if p.lower {
			digit = m[4]
		}
		p.label = int(s[digit] - '0')
		t.parts = append(t.parts, p)
		at = m[1]
	}
	t.parts = append(t.parts, part{plain: s[at:], label: -1})
	return t
}

// fill returns the text with an entity's values.
func (t *text) fill(values []string) string {
	if t.parts == nil {
		return t.plain
	}
	var b strings.Builder
	for _, p := range t.parts {
		b.WriteString(p.plain)
		switch {
		case p.label < 0:
		case p.lower:
			b.WriteString(strings.ToLower(values[p.label]))
		default:
			b.WriteString(values[p.label])
		}
	}
	return b.String()
}

// safe keeps letters, digits and colons; what is between them becomes one underscore.
func safe(name string) string {
	var b strings.Builder
	after := false
	if name != "" && name[0] >= '0' && name[0] <= '9' {
		b.WriteByte('_')
	}
	for i := range len(name) {
		c := name[i]
		legal := c == ':' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if legal {
			b.WriteByte(c)
		} else if !after {
			b.WriteByte('_')
		}
		after = !legal
	}
	return b.String()
}

// withoutReserved takes those ends off a name that the JMX exporter's library keeps for itself.
func withoutReserved(name string) string {
	for cut := true; cut; {
		cut = false
		for _, end := range []string{"_total", "_created", "_bucket", "_info"} {
			if name == end {
				return end[1:]
			}
			if rest, ok := strings.CutSuffix(name, end); ok {
				name, cut = rest, true
			}
		}
	}
	return name
}
