// Package nearest says what there is instead of a name that does not exist, and which of it was
// likely meant.
//
// It is told names that who asks may see: it knows no others. It imports none of our packages.
package nearest

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// most is how many names Offer says, and longest how many bytes of a name are compared.
	most    = 20
	longest = 64
)

// Of returns the name that is most like a text; empty if none is like it.
func Of(text string, names []string) string {
	best, least := "", longest
	for _, name := range names {
		if d := Distance(text, name); text != "" && Like(d, name) && d < least {
			best, least = name, d
		}
	}
	return best
}

// Like reports whether a text is like a name that has this distance from it: a third of the letters
// may differ, or two that stand in each other's place.
func Like(distance int, name string) bool { return distance <= max(2, min(len(name), longest)/3) }

// Offer is what to do about a text that is none of the names, as the second half of a sentence: the
// nearest name, and what names there are.
func Offer(text string, names []string) string {
	said := map[string]bool{"": true}
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		had := said[name]
		said[name] = true
		return had
	})
	near := Of(text, names)
	switch {
	case len(names) == 0:
		return "there is none yet"
	case len(names) == 1:
		return "use " + names[0] + ", the only one"
	}
	list := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	if near != "" {
		return fmt.Sprintf("did you mean %s? There are %s", near, list)
	}
	return "use one of " + list
}

// Distance returns how many letters must be changed, added or taken away to make one text of
// another, in whatever case. Where one has the other as a part it is 1 at most.
func Distance(a, b string) int {
	a, b = strings.ToLower(a[:min(len(a), longest)]), strings.ToLower(b[:min(len(b), longest)])
	switch {
	case a == b:
		return 0
	case a != "" && b != "" && (strings.Contains(a, b) || strings.Contains(b, a)):
		return 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d++
			}
			diagonal = row[j+1]
			row[j+1] = min(d, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
