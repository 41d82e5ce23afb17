package selector

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// LimitError says that a request's selectors are beyond a limit of Config.
type LimitError struct {
	What    string // what there is too much of
	Has     int
	Allowed int
	Remedy  string
}

// Error implements error.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%s: the request has %d, and %d are allowed; %s", e.What, e.Has, e.Allowed,
		e.Remedy)
}

// cost is what is counted of regular expressions, and of the matchers around them.
type cost struct {
	bytes, instructions, wide, matchers int
}

func (c *cost) add(o cost) {
	c.bytes += o.bytes
	c.instructions += o.instructions
	c.wide += o.wide
	c.matchers += o.matchers
}

func (c *cost) sub(o cost) {
	c.bytes -= o.bytes
	c.instructions -= o.instructions
	c.wide -= o.wide
	c.matchers -= o.matchers
}

const (
	// maxWide bounds what parsing itself multiplies, in a request: a class such as \pL becomes 60
	// KB, and a range from A to the last letter takes 3 ms when case is ignored.
	maxWide = 32
	// maxHeight bounds how deep a syntax tree is, so that what looks at it from each level stays
	// cheap. Parentheses take up to three levels.
	maxHeight = 200
	// baseInstructions is what an expression costs beyond its own program.
	baseInstructions = 10
	// classRunes of a class cost what an instruction does.
	classRunes = 16
	// spelledBytes of texts that Prometheus spells out cost what an instruction does.
	spelledBytes = 500
	// maxSpelled is how many texts Prometheus spells out before it gives up.
	maxSpelled = 256
)

func (r *Request) check() error {
	limit := &r.parser.config
	for _, of := range []LimitError{
		{"matchers in the selectors of a request", r.cost.matchers, limit.MaxMatchers,
			"use fewer selectors, or one regular expression for several values"},
		{"bytes of regular expressions in a request", r.cost.bytes, limit.MaxTotalBytes,
			"ask for less at a time"},
		{`classes such as \pL, and - where case is ignored, in the regular expressions of a request`,
			r.cost.wide, maxWide, "use . or name the characters"},
		{"instructions in the compiled regular expressions of a request", r.cost.instructions,
			limit.MaxInstructions,
			"repeat less, as in .* for .{0,1000}, or ask for less at a time"},
	} {
		if of.Has > of.Allowed {
			return &of
		}
	}
	return nil
}

// ignoresCase finds flags that may have an i. It may find too much.
var ignoresCase = regexp.MustCompile(`\(\?[a-zA-Z]*i`)

// Regexp adds one regular expression to the request and compiles nothing. The error is a
// *LimitError or says what is wrong with the expression.
func (r *Request) Regexp(text string) error {
	if len(text) > r.parser.config.MaxRegexpBytes {
		return &LimitError{"bytes of one regular expression", len(text),
			r.parser.config.MaxRegexpBytes,
			"ask for less at a time"}
	}
	r.cost.bytes += len(text)
	r.cost.wide += strings.Count(text, `\p`) + strings.Count(text, `\P`)
	if ignoresCase.MatchString(text) {
		r.cost.wide += strings.Count(text, "-")
	}
	r.cost.instructions += baseInstructions
	if err := r.check(); err != nil { // before the text is parsed
		return err
	}
	if texts := strings.ReplaceAll(text, "|", ""); regexp.QuoteMeta(texts) == texts {
		r.cost.instructions += strings.Count(text, "|") // texts, which Prometheus compares only
		return r.check()
	}
	tree, err := syntax.Parse(text, syntax.Perl|syntax.DotNL)
	if err != nil {
		return err // it names the part that is wrong
	}
	height := heightOf(tree)
	if height > maxHeight {
		return &LimitError{"levels of one regular expression", height, maxHeight, "nest less"}
	}
	_, _, bytes := spell(tree, 1, 0)
	r.cost.instructions += instructions(tree) + height*bytes/spelledBytes
	return r.check()
}

// heightOf returns how deep a tree is. The parser allows no more than 1,000.
func heightOf(re *syntax.Regexp) int {
	most := 0
	for _, sub := range re.Sub {
		most = max(most, heightOf(sub))
	}
	return most + 1
}

// instructions returns how many instructions an expression compiles to, or some more. The parser
// refuses repetitions that multiply to more than 1,000, so the number stays small enough.
func instructions(re *syntax.Regexp) int {
	n := 1
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpCharClass:
		return 1 + len(re.Rune)/classRunes
	case syntax.OpRepeat:
		times := re.Max
		if re.Max < 0 {
			times = re.Min + 1
		}
		return 1 + times*(instructions(re.Sub[0])+1)
	case syntax.OpCapture:
		n = 2
	case syntax.OpAlternate:
		n = len(re.Sub)
	}
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	return n
}

// spell follows how Prometheus spells out which texts an expression matches, for comparing instead
// of matching: it joins each of so many texts of at most so many bytes with each text of the
// expression, and gives up beyond maxSpelled or where there is no end of them. It returns how many
// there are then, 0 if it gives up, how long, and how many bytes were written on the way.
func spell(re *syntax.Regexp, texts, length int) (n, longest, bytes int) {
	switch re.Op {
	case syntax.OpCapture:
		return spell(re.Sub[0], texts, length)
	case syntax.OpEmptyMatch:
		return texts, length, texts * length
	case syntax.OpLiteral:
		length += len(string(re.Rune))
		return texts, length, texts * length
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune) && n <= maxSpelled; i += 2 {
			n += int(re.Rune[i+1]-re.Rune[i]) + 1
		}
		n = min(n*texts, 2*maxSpelled)
		return n, length + 4, n * (length + 4)
	case syntax.OpConcat:
		n, longest = texts, length
		for _, sub := range re.Sub {
			var more int
			n, longest, more = spell(sub, n, longest)
			if bytes += more; n == 0 || n > maxSpelled {
				return 0, 0, bytes
			}
		}
		return n, longest, bytes
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			found, long, more := spell(sub, texts, length)
			bytes += more
			n, longest = n+found, max(longest, long)
			if found == 0 || n > 2*maxSpelled {
				return 0, 0, bytes
			}
		}
		return n, longest, bytes
	}
	return 0, 0, 0
}
