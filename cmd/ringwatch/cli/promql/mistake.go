package promql

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
)

// syntaxError is how Prometheus says where an expression is wrong: line and column count from 1,
// the column in bytes.
var syntaxError = regexp.MustCompile(`(?s)^invalid parameter "query": (\d+):(\d+): (.*)$`)

// What is shown of a long line, in characters before and behind the place.
const (
	shownBefore = 60
	shownBehind = 30
)

// pointAt shows the place in the expression that the server complains about, if it names one.
func pointAt(expression string, refused client.PromError) error {
	m := syntaxError.FindStringSubmatch(refused.Text)
	if m == nil {
		return refused
	}
	line, _ := strconv.Atoi(m[1]) // too large a number is none of a line
	column, _ := strconv.Atoi(m[2])
	lines := strings.Split(expression, "\n")
	if line < 1 || line > len(lines) || column < 1 || column > len(lines[line-1])+1 {
		return refused
	}
	text := lines[line-1]
	before, behind := []rune(screen.Plain(text[:column-1])), []rune(screen.Plain(text[column-1:]))
	if len(before) > shownBefore {
		before = append([]rune("…"), before[len(before)-shownBefore:]...)
	}
	if len(behind) > shownBehind {
		behind = append(behind[:shownBehind:shownBehind], '…')
	}
	where := "the expression has a mistake here"
	if len(lines) > 1 {
		where = fmt.Sprintf("line %d of the expression has a mistake here", line)
	}
	return fmt.Errorf("%s:\n  %s%s\n  %s^\n%s", where, string(before), string(behind),
		strings.Repeat(" ", screen.Width(string(before))), screen.Plain(m[3]))
}
