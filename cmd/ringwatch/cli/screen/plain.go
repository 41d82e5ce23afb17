// Package screen writes for people, and reads what they type: plain text, numbers, times, tables,
// plots, and screens that are drawn again and again. It asks nobody.
package screen

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Names, labels and texts come from agents and tables, and a terminal obeys what it is sent:
// colours, titles, the order of letters, copies of other names. So whatever a command prints of
// others goes through plain, and JSON through PlainJSON.

// Plain returns text with all that a terminal obeys or does not show as escapes that people can
// see: \u001b, \u202e.
func Plain(text string) string { return escaped(text, "") }

// PlainLines is plain for what may have lines of its own.
func PlainLines(text string) string { return escaped(text, "\n") }

// PlainJSON is plain for JSON, where the escapes mean what they replace: a parser finds the same
// values. White space between values stays.
func PlainJSON(text []byte) []byte { return []byte(escaped(string(text), "\n\r\t")) }

// escaped writes what is hidden, but for keep, as JSON does.
func escaped(text, keep string) string {
	if !strings.ContainsFunc(text, func(r rune) bool {
		return Hidden(r) && !strings.ContainsRune(keep, r)
	}) {
		return text
	}
	b := make([]byte, 0, len(text)+64)
	for _, r := range text { // a byte that is no UTF-8 is U+FFFD, which is hidden here
		switch {
		case !Hidden(r) || strings.ContainsRune(keep, r):
			b = utf8.AppendRune(b, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b = appendEscape(appendEscape(b, high), low)
		default:
			b = appendEscape(b, r)
		}
	}
	return string(b)
}

func appendEscape(dst []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	return append(dst, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}

// Hidden reports whether a character is no mark on the screen, or only changes its neighbours:
// control and format characters, those that turn the direction of text, have no width or choose
// variants, every space but the usual one, and what Unicode has not assigned.
func Hidden(r rune) bool {
	return r == utf8.RuneError || !unicode.IsPrint(r) ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Writer escapes what is written through it, but for line breaks and tabs. Each write must
// end with a whole character.
type Writer struct{ io.Writer }

func (w Writer) Write(b []byte) (int, error) {
	if _, err := w.Writer.Write(PlainJSON(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}
