package rules

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3" // rulefmt reads with it, and its errors say lines as it counts them

	"github.com/ringwatch/ringwatch/query/nearest"
)

// Fault is what is wrong at a place of a rule file.
type Fault struct {
	File  string
	Line  int    // counted from 1; 0: it is not known
	Group string // empty: it is no group's
	Rule  string // its name in quotes, or its number if it has none; empty: it is no rule's
	Err   error
}

// Error says it in one line.
func (f *Fault) Error() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d", f.Line)
	}
	if f.Group != "" {
		fmt.Fprintf(&b, ": group %q", f.Group)
		if f.Rule != "" {
			fmt.Fprintf(&b, ", rule %s", f.Rule)
		}
	}
	b.WriteString(": ")
	b.WriteString(strings.Join(strings.Fields(f.Err.Error()), " "))
	return b.String()
}

// Unwrap returns the error without its place.
func (f *Fault) Unwrap() error { return f.Err }

// ruleName is how a Fault calls a rule: number counts from 0.
func ruleName(r *rulefmt.Rule, number int) string {
	if name := cmp.Or(r.Alert, r.Record); name != "" {
		return strconv.Quote(name)
	}
	return strconv.Itoa(number + 1)
}

// readGroups reads one rule file. Each error is a Fault, and none says what another one says.
func readGroups(
	name string, text []byte, p parser.Parser, log *slog.Logger,
) ([]rulefmt.RuleGroup, []error) {
	groups, errs := rulefmt.Parse(text, false, labelNames, p, log)
	if len(errs) == 0 {
		return groups.Groups, nil
	}
	of := &places{file: name, text: text}
	if groups == nil { // it reads the text twice: the other errors say the same once more
		return nil, once(of.unread(errs[0]))
	}
	for i := range errs {
		errs[i] = of.invalid(errs[i], groups.Groups)
	}
	return nil, once(errs)
}

// once leaves out errors that say what one before them says.
func once(errs []error) (list []error) {
	said := map[string]bool{}
	for _, err := range errs {
		if text := err.Error(); !said[text] {
			said[text] = true
			list = append(list, err)
		}
	}
	return list
}

// places finds lines in the text of a rule file, which it reads when it is first asked.
type places struct {
	file  string
	text  []byte
	read  bool
	list  []*yaml.Node // of groups
	order []place      // of groups, their fields and their rules, by line
}

type place struct {
	line        int
	group, rule string
}

// groups returns the nodes of the file's groups; none if it is no YAML.
func (p *places) groups() []*yaml.Node {
	if p.read {
		return p.list
	}
	p.read = true
	var root yaml.Node
	if yaml.Unmarshal(p.text, &root) != nil || len(root.Content) == 0 {
		return nil
	}
	p.list = items(field(root.Content[0], "groups"))
	for _, g := range p.list {
		of := place{line: g.Line, group: scalar(field(g, "name"))}
		p.order = append(p.order, of)
		for i := 0; g.Kind == yaml.MappingNode && i < len(g.Content); i += 2 {
			of.line = g.Content[i].Line // a group's fields may stand behind its rules
			p.order = append(p.order, of)
		}
		rules := field(g, "rules")
		if rules == nil || rules.Kind != yaml.SequenceNode {
			continue // what an alias repeats has its place elsewhere
		}
		for i, r := range rules.Content {
			of.line = r.Line
			of.rule = nodeName(r, i)
			p.order = append(p.order, of)
		}
	}
	slices.SortStableFunc(p.order, func(a, b place) int { return cmp.Compare(a.line, b.line) })
	return p.list
}

// rule returns the node of a rule by its numbers; nil if there is none.
func (p *places) rule(group, rule int) *yaml.Node {
	if list := p.groups(); group < len(list) {
		if rules := items(field(list[group], "rules")); rule < len(rules) {
			return rules[rule]
		}
	}
	return nil
}

// at returns a fault at a line, with the group and rule that it belongs to. Of several of one line
// it is not known which it is.
func (p *places) at(line int, err error) *Fault {
	p.groups()
	f := &Fault{File: p.file, Line: line, Err: err}
	after, _ := slices.BinarySearchFunc(p.order, line+1, func(a place, line int) int {
		return cmp.Compare(a.line, line)
	})
	for i := after - 1; i >= 0 && p.order[i].line == p.order[after-1].line; i-- {
		of := p.order[i]
		switch {
		case i == after-1:
			f.Group, f.Rule = of.group, of.rule
		case of.group != f.Group:
			f.Group, f.Rule = "", ""
		case of.rule != f.Rule:
			f.Rule = ""
		}
	}
	return f
}

// of returns a fault of a rule by its numbers, at its expression.
func (p *places) of(group, rule int, name string, r *rulefmt.Rule, err error) *Fault {
	f := &Fault{File: p.file, Group: name, Rule: ruleName(r, rule), Err: err}
	if n := p.rule(group, rule); n != nil {
		if f.Line = n.Line; field(n, "expr") != nil {
			f.Line = field(n, "expr").Line
		}
	}
	return f
}

// lineError is a line in a message of the YAML library; positions are those of rulefmt.
var (
	lineError = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)`)
	// The library's parser, unlike its scanner, counts lines from 0.
	notParsed = regexp.MustCompile(
		`^did not find expected (node content|key|'-' indicator|',' or '[\]}]'|<)`)
	positions = regexp.MustCompile(`^((?:\d+:\d+: )+)(.*)`)
)

// unread returns why a text is no rule file: it has another form, or is no YAML.
func (p *places) unread(err error) (list []error) {
	texts := []string{err.Error()}
	if of := (*yaml.TypeError)(nil); errors.As(err, &of) {
		texts = of.Errors
	}
	for _, text := range texts {
		m := lineError.FindStringSubmatch(text)
		if m == nil {
			if list = p.durations(); len(list) == 0 {
				list = []error{&Fault{File: p.file, Err: errors.New(text)}}
			}
			return list
		}
		line, _ := strconv.Atoi(m[1])
		if notParsed.MatchString(m[2]) {
			line = min(line+1, strings.Count(strings.TrimRight(string(p.text), "\n"), "\n")+1)
		}
		list = append(list, p.at(line, errors.New(inWords(m[2]))))
	}
	return list
}

// durations returns the fields that are durations and cannot be read: the YAML library does not say
// where they are.
func (p *places) durations() (list []error) {
	check := func(of *yaml.Node, group, rule string, names ...string) {
		for _, name := range names {
			n := field(of, name)
			if n == nil || n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
				continue
			}
			if _, err := model.ParseDuration(n.Value); err != nil {
				list = append(list, &Fault{File: p.file, Line: n.Line, Group: group, Rule: rule,
					Err: fmt.Errorf("%s: %w; write it like 30s, 5m or 1h", name, err)})
			}
		}
	}
	for _, g := range p.groups() {
		group := scalar(field(g, "name"))
		check(g, group, "", "interval", "query_offset")
		if rules := field(g, "rules"); rules != nil && rules.Kind == yaml.SequenceNode {
			for i, r := range rules.Content {
				check(r, group, nodeName(r, i), "for", "keep_firing_for")
			}
		}
	}
	return list
}

// What fields there are, and what people call the types of rulefmt.
var (
	fieldsOf = map[string][]string{
		"RuleGroups": {"groups"},
		"RuleGroup":  {"name", "interval", "query_offset", "limit", "rules", "labels"},
		"Rule": {"record", "alert", "expr", "for", "keep_firing_for", "labels",
			"annotations"},
	}
	called = map[string]string{
		"rulefmt.RuleGroups": "a rule file", "[]rulefmt.RuleGroup": "a list of groups",
		"rulefmt.RuleGroup": "a group", "[]rulefmt.Rule": "a list of rules",
		"rulefmt.Rule": "a rule", "map[string]string": "texts by name", "string": "a text",
		"int": "a number",
	}
	wrongField = regexp.MustCompile(`^field (.*) not found in type rulefmt\.(\w+)$`)
	wrongType  = regexp.MustCompile(`^cannot unmarshal (?:!!\w+ )?(.*) into (\S+)$`)
)

// inWords says a message of the YAML library without the names of types.
func inWords(text string) string {
	if m := wrongField.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("%s has no field %s: %s", called["rulefmt."+m[2]], m[1],
			nearest.Offer(m[1], fieldsOf[m[2]]))
	}
	if m := wrongType.FindStringSubmatch(text); m != nil && called[m[2]] != "" {
		return fmt.Sprintf("%s stands where %s belongs", m[1], called[m[2]])
	}
	return text
}

// invalid gives an error of rulefmt its place.
func (p *places) invalid(err error, groups []rulefmt.RuleGroup) error {
	of := (*rulefmt.Error)(nil)
	if !errors.As(err, &of) {
		_, text := position(err.Error())
		return p.invalidGroup(text, groups)
	}
	line, text := position(of.Err.Error())
	number := of.Rule - 1
	f := &Fault{File: p.file, Line: line, Group: of.Group, Err: errors.New(named(text)),
		Rule: ruleName(&rulefmt.Rule{Alert: of.RuleName}, number)}
	if f.Line > 0 {
		return f
	}
	for i := range groups {
		if n := p.rule(i, number); groups[i].Name == of.Group && n != nil {
			f.Line = cmp.Or(lineOf(n, text), n.Line)
			break
		}
	}
	return f
}

// invalidGroup gives an error of a group its place: rulefmt says none.
func (p *places) invalidGroup(text string, groups []rulefmt.RuleGroup) error {
	f := &Fault{File: p.file, Err: errors.New(named(text))}
	said := map[string]bool{"": true}
	for i, n := range p.groups()[:min(len(p.groups()), len(groups))] {
		name := groups[i].Name
		if f.Line = lineOf(field(n, "labels"), text); f.Line > 0 {
			f.Group = name
			return f
		}
		if said[name] && strings.HasPrefix(strings.ToLower(text), "groupname") &&
			strings.Contains(text, `"`) == (name != "") {
			f.Line, f.Group = n.Line, name
			f.Err = errors.New("the file has a group of this name already: use another one")
			if name == "" {
				f.Err = errors.New("the group has no name: give it one")
			}
			return f
		}
		said[name] = true
	}
	return f
}

// position takes rulefmt's positions off a message and returns the first line that is one.
func position(text string) (line int, rest string) {
	m := positions.FindStringSubmatch(text)
	if m == nil {
		return 0, text
	}
	for _, one := range strings.Fields(m[1]) {
		number, _, _ := strings.Cut(one, ":")
		if line, _ = strconv.Atoi(number); line > 0 {
			break
		}
	}
	return line, m[2]
}

// misnamed is a message of rulefmt about a name.
var misnamed = regexp.MustCompile(`^invalid (label|annotation|recording rule) name: (.*)`)

// named says a message of rulefmt about a name with what a name may have.
func named(text string) string {
	m := misnamed.FindStringSubmatch(text)
	switch {
	case m == nil:
		return text
	case m[1] == "recording rule":
		return fmt.Sprintf("it cannot record %q: a metric's name has letters, digits, _ and :, "+
			"and begins with no digit", m[2])
	}
	return fmt.Sprintf("no %s can be called %q: its name has letters, digits and _, and begins "+
		"with no digit", m[1], m[2])
}

// ofName is the label or annotation that a message of rulefmt names.
var ofName = regexp.MustCompile(`^(?:(?:label|annotation) "(.*?)"|invalid \w+ \w+: (.*))`)

// lineOf returns the line of the label or annotation that a message names, or 0.
func lineOf(n *yaml.Node, text string) int {
	m := ofName.FindStringSubmatch(text)
	if n == nil || m == nil {
		return 0
	}
	name := cmp.Or(m[1], m[2])
	for _, of := range []*yaml.Node{n, field(n, "labels"), field(n, "annotations")} {
		if of == nil || of.Kind != yaml.MappingNode {
			continue
		}
		for _, one := range of.Content { // a name, or a value
			if one.Value == name {
				return one.Line
			}
		}
	}
	return 0
}

// field returns a field of a mapping, or nil.
func field(n *yaml.Node, name string) *yaml.Node {
	if n = resolved(n); n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

// items returns what a list has.
func items(n *yaml.Node) []*yaml.Node {
	if n = resolved(n); n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

// nodeName is ruleName of a node.
func nodeName(r *yaml.Node, number int) string {
	return ruleName(&rulefmt.Rule{Alert: scalar(field(r, "alert")),
		Record: scalar(field(r, "record"))}, number)
}

// scalar returns a node's text.
func scalar(n *yaml.Node) string {
	if n = resolved(n); n == nil {
		return ""
	}
	return n.Value
}

// resolved returns what an alias stands for.
func resolved(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}
