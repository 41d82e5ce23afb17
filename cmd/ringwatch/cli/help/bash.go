package help

import (
	"strings"
)

// bashLine is a line as bash completes it: bash replaces not the last word but what of it comes
// after the last of its word breaks, and leaves the quoting to us.
type bashLine struct {
	words []string // without the command, with the one being typed at the end
	kept  int      // bytes at the beginning of the last word that bash leaves in place
	quote rune     // that is open at the cursor: ' or "; 0 without
}

// splitBash reads a line up to the cursor, from the command's name on. breaks is COMP_WORDBREAKS.
func splitBash(line, breaks string) bashLine {
	var l bashLine
	var word strings.Builder
	began, escaped := false, false
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && l.quote != '\'':
			began, escaped = true, true
		case l.quote != 0 && r == l.quote:
			l.quote = 0
		case l.quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			began = true
			l.quote, l.kept = r, word.Len()
		case r == ' ' || r == '\t' || r == '\n':
			if began {
				l.words = append(l.words, word.String())
			}
			word.Reset()
			began, l.kept = false, 0
		default:
			began = true
			word.WriteRune(r)
			if strings.ContainsRune(breaks, r) {
				l.kept = word.Len()
			}
		}
	}
	l.words = append(l.words, word.String())
	l.words = l.words[min(1, len(l.words)):]
	return l
}

// replacement is what bash shall put in place of the word being typed, so that it becomes text.
func (l *bashLine) replacement(text string) string {
	text = text[min(l.kept, len(text)):]
	switch l.quote {
	case '\'':
		return strings.ReplaceAll(text, "'", `'\''`)
	case '"':
		return escapeAny(text, "\"$`\\")
	}
	return escapeAny(text, " \"'\\$`&|;<>()[]{}*?!#~")
}

// escapeAny puts a backslash before each of some characters.
func escapeAny(text, special string) string {
	var out strings.Builder
	for _, r := range text {
		if strings.ContainsRune(special, r) {
			out.WriteByte('\\')
		}
		out.WriteRune(r)
	}
	return out.String()
}
