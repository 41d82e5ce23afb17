package loki

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/ringwatch/ringwatch/query/selector"
)

// logQuery is what we know of LogQL: a stream selector and line filters, and counts of their lines.
type logQuery struct {
	matchers []*labels.Matcher
	filters  []filter

	counts bool          // sum by (by) (count_over_time(… [width])); false: the lines themselves
	rates  bool          // rate in its place: a second
	by     []string      // ascending; without labels that no stream has
	width  time.Duration // of counts
}

// filter is a line filter.
type filter struct {
	text   string
	regexp *regexp.Regexp // nil: the line has the text
	not    bool
}

func (f *filter) passes(line string) bool {
	if f.regexp != nil {
		return f.regexp.MatchString(line) != f.not
	}
	return strings.Contains(line, f.text) != f.not
}

// whatIsKnown ends a refusal.
const whatIsKnown = `use {cluster="…"} with |=, !=, |~ and !~, or sum by (…) (count_over_time(… [5m]))`

// counted is the only form of metric query: that of a volume.
var counted = regexp.MustCompile(
	`(?s)^\s*sum\s*(?:by\s*\(([\w\s,]*)\))?\s*\(\s*(count_over_time|rate)\s*\((.*)` +
		`\[\s*(\w+)\s*\]\s*\)\s*\)\s*(?:by\s*\(([\w\s,]*)\))?\s*$`)

// maxFilters bounds the line filters of a query.
const maxFilters = 16

// parse reads LogQL. Regular expressions are measured before they are compiled.
func parse(text string, request *selector.Request) (*logQuery, error) {
	q := &logQuery{}
	if m := counted.FindStringSubmatch(text); m != nil {
		width, err := model.ParseDuration(m[4])
		if err != nil || width <= 0 {
			return nil, fmt.Errorf("[%s] is no duration: use one such as [5m]", m[4])
		}
		q.counts, q.rates, q.width, text = true, m[2] == "rate", time.Duration(width), m[3]
		for name := range strings.FieldsFuncSeq(m[1]+","+m[5], func(r rune) bool {
			return r == ',' || r == ' ' || r == '\t' || r == '\n'
		}) {
			if name == "detected_level" || slices.Contains(labelNames, name) {
				q.by = append(q.by, name)
			}
		}
		slices.Sort(q.by)
		q.by = slices.Compact(q.by)
	}
	end, err := selectorEnd(text)
	if err != nil {
		return nil, err
	}
	if q.matchers, err = request.Selector(text[:end]); err != nil {
		return nil, err
	}
	for _, m := range q.matchers {
		if !slices.Contains(labelNames, m.Name) {
			return nil, fmt.Errorf("there is no label %q: streams have %s", m.Name,
				strings.Join(labelNames, ", "))
		}
	}
	q.filters, err = filters(text[end:], request)
	return q, err
}

// selectorEnd returns where the stream selector ends that a query begins with.
func selectorEnd(text string) (int, error) {
	lexer := parser.Lex(text)
	for first := true; ; first = false {
		var item parser.Item
		lexer.NextItem(&item)
		switch {
		case first && item.Typ != parser.LEFT_BRACE:
			return 0, errors.New("a query begins with a stream selector: " + whatIsKnown)
		case item.Typ == parser.RIGHT_BRACE:
			return int(item.Pos) + 1, nil
		case item.Typ == parser.EOF || item.Typ == parser.ERROR:
			return 0, errors.New("the stream selector does not end: " + whatIsKnown)
		}
	}
}

// dropsError is what Grafana puts behind the query of a volume; there are no errors to drop.
var dropsError = regexp.MustCompile(`^\|\s*drop\s+__error__\s*`)

func filters(text string, request *selector.Request) (list []filter, err error) {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		if stage := dropsError.FindString(text); stage != "" {
			text = text[len(stage):]
			continue
		}
		operator := text[:min(2, len(text))]
		if !slices.Contains([]string{"|=", "!=", "|~", "!~"}, operator) {
			return nil, fmt.Errorf("%.40q is not answered here: %s", text, whatIsKnown)
		}
		text = strings.TrimSpace(text[2:])
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return nil, fmt.Errorf("behind %s stands no text in quotes: %s", operator, whatIsKnown)
		}
		text = text[len(quoted):]
		f := filter{not: operator[0] == '!'}
		if f.text, err = strconv.Unquote(quoted); err != nil {
			return nil, err
		}
		if operator[1] == '~' {
			if err := request.Regexp(f.text); err != nil {
				return nil, err
			}
			if f.regexp, err = regexp.Compile(f.text); err != nil {
				return nil, err
			}
		}
		if list = append(list, f); len(list) > maxFilters {
			return nil, fmt.Errorf("a query may have %d line filters: use |~ \"a|b\"", maxFilters)
		}
	}
	return list, nil
}
