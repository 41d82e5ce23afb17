package notify

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// oneLine is a text of others as one line of at most so many characters, without what a terminal
// or a mail program would obey: control characters, and those that turn the direction of text.
func oneLine(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) > most {
		text = strings.TrimRight(string([]rune(text)[:most-1]), " ") + "…"
	}
	return text
}

func capital(text string) string {
	r, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(r)) + text[size:]
}

func number(text string) int {
	n, _ := strconv.Atoi(text) // what is no number is none
	return max(n, 0)
}

// since is "since 14:02 UTC (12 min)", with the day if that is another.
func since(at, now time.Time) string {
	layout := "15:04 UTC"
	if now.Sub(at) >= 20*time.Hour || at.After(now) {
		layout = "2 Jan 15:04 UTC"
	}
	text := "since " + at.UTC().Format(layout)
	if age := now.Sub(at); age >= time.Minute {
		text += " (" + lasted(age) + ")"
	}
	return text
}

// lasted is a time in its two largest units.
func lasted(d time.Duration) string {
	units := []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}}
	d = max(d, 0)
	for i, u := range units[:len(units)-1] {
		if d < u.of {
			continue
		}
		text := fmt.Sprintf("%d %s", d/u.of, u.name)
		if rest := d % u.of / units[i+1].of; rest > 0 && u.of > time.Minute {
			text += fmt.Sprintf(" %d %s", rest, units[i+1].name)
		}
		return text
	}
	return fmt.Sprintf("%d s", d/time.Second)
}

// severities are words that rules use, the gravest first. Others come after all of these.
var severities = [][]string{
	{"critical", "page", "emergency", "fatal"}, {"error", "high", "major"}, {"warning", "warn"},
	{"minor", "low"}, {"info", "information", "none"},
}

func rank(severity string) int {
	i := slices.IndexFunc(severities, func(words []string) bool {
		return slices.Contains(words, strings.ToLower(severity))
	})
	if i < 0 {
		return len(severities)
	}
	return i
}

// pagerdutySeverity is one of the four that PagerDuty takes.
func pagerdutySeverity(severity string) string {
	return []string{"critical", "error", "warning", "warning", "info", "error"}[rank(severity)]
}

// zeroWidth is a space that nobody sees. After a mark it keeps the mark from meaning something.
const zeroWidth = "\u200b"

var (
	slackEntities = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	// everybody are words that wake a whole channel.
	everybody = strings.NewReplacer("@channel", "@"+zeroWidth+"channel", "@here",
		"@"+zeroWidth+"here", "@everyone", "@"+zeroWidth+"everyone", "@all", "@"+zeroWidth+"all")
	markdownMarks = strings.NewReplacer(marked("\\`*_[]<>~|#")...)
	jiraMarks     = strings.NewReplacer(marked("\\{}[]*_|!^~+")...)
)

// marked are marks, each with the same after a backslash.
func marked(marks string) (list []string) {
	for _, r := range marks {
		list = append(list, string(r), `\`+string(r))
	}
	return list
}

// slackText is a text that means itself in Slack. Slack has no escape for the marks of its
// formatting, which count only where a word begins: "a_b" stays as it is.
func slackText(text string) string {
	var b strings.Builder
	before := ' '
	for _, r := range everybody.Replace(text) {
		b.WriteRune(r)
		if strings.ContainsRune("*_~`", r) && !unicode.IsLetter(before) &&
			!unicode.IsDigit(before) {
			b.WriteString(zeroWidth)
		}
		before = r
	}
	return slackEntities.Replace(b.String())
}

// markdown is a text that means itself in Markdown.
func markdown(text string) string {
	text = markdownMarks.Replace(everybody.Replace(text))
	if strings.HasPrefix(text, "- ") || strings.HasPrefix(text, "+ ") {
		text = `\` + text
	}
	return text
}

// jiraText is a text that means itself in Jira's own markup.
func jiraText(text string) string { return jiraMarks.Replace(text) }

// snsSubject is a text that SNS takes as a subject: ASCII of fewer than 100 characters.
func snsSubject(text string) string {
	text = strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return '?'
		}
		return r
	}, strings.ReplaceAll(text, "…", "..."))
	if len(text) > 99 {
		text = text[:96] + "..."
	}
	return text
}
