package ring

import (
	"fmt"
	"strings"
)

// notInWhere are the words that would make more of a restriction than one: a LIMIT of its own
// would cut some keys' rows off.
var notInWhere = []string{"LIMIT", "PER", "ORDER", "GROUP", "ALLOW"}

// checkWhere returns nil when where is a restriction of rows and nothing besides, as far as its
// words show, and has as many markers as there are values. Cassandra parses it.
func checkWhere(where string, values int) error {
	markers, deep := 0, 0
	for i := 0; i < len(where); {
		c := where[i]
		switch {
		case c == '\'' || c == '"' || strings.HasPrefix(where[i:], "$$"):
			quote := where[i : i+1]
			if c == '$' {
				quote = "$$"
			}
			end := strings.Index(where[i+len(quote):], quote)
			if end < 0 {
				return fmt.Errorf("the restriction %q has an open quote", where)
			}
			i += end + 2*len(quote)
			continue
		case c == ';' || strings.HasPrefix(where[i:], "--") || strings.HasPrefix(where[i:], "//") ||
			strings.HasPrefix(where[i:], "/*"):
			return fmt.Errorf("the restriction %q has %q in it: give one restriction of "+
				"clustering columns, without comments", where, where[i:min(i+2, len(where))])
		case c == '?':
			markers++
		case c == '(':
			deep++
		case c == ')':
			if deep--; deep < 0 {
				return fmt.Errorf("the restriction %q closes a bracket that it did not open", where)
			}
		case wordByte(c):
			end := i
			for end < len(where) && wordByte(where[end]) {
				end++
			}
			for _, word := range notInWhere {
				if strings.EqualFold(where[i:end], word) {
					return fmt.Errorf("the restriction %q has %s in it: it restricts clustering "+
						"columns only; a limit for each key is Query.Limit", where, word)
				}
			}
			i = end
			continue
		}
		i++
	}
	if deep != 0 {
		return fmt.Errorf("the restriction %q has an open bracket", where)
	}
	if markers != values {
		return fmt.Errorf("the restriction %q has %d markers for %d values: give one ? for each",
			where, markers, values)
	}
	return nil
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' ||
		c >= 0x80
}

// quoted is a name as CQL takes any.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
