package rules

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringwatch/ringwatch/query/nearest"
)

// TestFaults: whatever is wrong in a rule file is said once, in one line, with the file, the line,
// the group and the rule, by who applies the file and by who checks it.
func TestFaults(t *testing.T) {
	const head = "groups:\n- name: g\n  rules:\n  - alert: First\n    expr: up == 0\n"
	rule := func(lines string) string {
		return head + "  - alert: Down\n    " + strings.ReplaceAll(lines, "\n", "\n    ") + "\n"
	}
	const in = `:7: group "g", rule "Down": `
	fields := "use one of record, alert, expr, for, keep_firing_for, labels, annotations"
	for _, c := range []struct {
		name, text string
		want       []string // behind the file's name
	}{
		{"no YAML", head + "  - alert: {\n", []string{":6: did not find expected node content"}},
		{"an unclosed quote", rule(`expr: "up`), []string{
			":7: found unexpected end of stream"}},
		{"an expression", rule("expr: up ==="), []string{in +
			"could not parse expression: 1:6: parse error: unexpected \"=\""}},
		{"an expression of lines", rule("expr: |\n  up\n  == ("), []string{in +
			"could not parse expression: 3:1: parse error: unclosed left parenthesis"}},
		{"no expression", rule("for: 5m"), []string{
			`:6: group "g", rule "Down": field 'expr' must be set in rule`}},
		{"a duration", rule("expr: up\nfor: 5 minutes"), []string{`:8: group "g", rule "Down": ` +
			`for: unknown unit " minutes" in duration "5 minutes"; write it like 30s, 5m or 1h`}},
		{"a group's duration", head + "  interval: often\n", []string{`:6: group "g": interval: ` +
			`not a valid duration string: "often"; write it like 30s, 5m or 1h`}},
		{"fields", rule("expr: up\nexp: down\ncolour: red"), []string{
			`:8: group "g", rule "Down": a rule has no field exp: ` + nearest.Offer("exp",
				fieldsOf["Rule"]),
			`:9: group "g", rule "Down": a rule has no field colour: ` + fields}},
		{"a group's field", head + "  colour: red\n", []string{
			`:6: group "g": a group has no field colour: use one of name, interval, `}},
		{"a flow", "groups:\n- name: g\n  rules: [{alert: A, expr: up}\n", []string{
			":3: did not find expected ',' or ']'"}},
		{"indents", head + "   annotations: {}\n", []string{":2: did not find expected key"}},
		{"a type", rule("expr: up\nlabels: all"), []string{`:8: group "g", rule "Down": ` +
			"`all` stands where texts by name belongs"}},
		{"a label's name", rule("expr: up\nlabels:\n  a-b: x"), []string{
			`:9: group "g", rule "Down": no label can be called "a-b": its name has letters, ` +
				`digits and _, and begins with no digit`}},
		{"a label's name in quotes", rule("expr: up\nlabels:\n  \"größe.x\": x"), []string{
			`:9: group "g", rule "Down": no label can be called "größe.x": its name has letters, `}},
		{"an annotation's name", rule("expr: up\nannotations:\n  a.b: x"), []string{
			`:9: group "g", rule "Down": no annotation can be called "a.b": its name has letters, `}},
		{"a recorded name", head + "  - record: a.b\n    expr: up\n", []string{
			`:6: group "g", rule "a.b": it cannot record "a.b": a metric's name has letters, `}},
		{"a group's label", head + "  labels:\n    a-b: x\n", []string{
			`:7: group "g": no label can be called "a-b": its name has letters, `}},
		{"a template", rule("expr: up\nannotations:\n  summary: \"{{ nosuch }}\""), []string{
			`:9: group "g", rule "Down": annotation "summary": template: ` +
				`__alert_Down:1: function "nosuch" not defined`}},
		{"a group twice", head + "- name: g\n  rules: []\n", []string{
			`:6: group "g": the file has a group of this name already: use another one`}},
		{"a group without a name", head + "- rules: []\n", []string{
			`:6: the group has no name: give it one`}},
		{"no name", "groups:\n- name: g\n  rules:\n  - expr: up\n", []string{
			`:4: group "g", rule 1: one of 'record' or 'alert' must be set`}},
		{"no form", rule("expr: sum(os_load1) > 9"), []string{in +
			"the expression mixes clusters: in sum(os_load1): sum aggregates over clusters; " +
			"write sum by (cluster, …)"}},
		{"several", rule("expr: up ===\nfor: 1m") + "  - record: x\n    expr: up\n    for: 1m\n",
			[]string{in + "could not parse expression: 1:6: parse error: unexpected \"=\"",
				`:9: group "g", rule "x": invalid field 'for' in recording rule`}},
		{"one line", `groups: [{name: g, rules: [{alert: A, expr: up, x: 1}, {alert: B, expr: u}]}]`,
			[]string{`:1: group "g": a rule has no field x: ` +
				nearest.Offer("x", fieldsOf["Rule"])}},
		{"an alias", "groups:\n- name: g\n  rules: &r\n  - {alert: A, expr: sum(up)}\n" +
			"- {name: h, rules: *r}\n", []string{
			`:4: group "g", rule "A": the expression mixes clusters: in sum(up): sum aggregates ` +
				"over clusters; write sum by (cluster, …)",
			`:4: group "h", rule "A": the expression mixes clusters: in sum(up): sum aggregates ` +
				"over clusters; write sum by (cluster, …)"}},
		{"an alias of itself", "groups: &g\n- name: g\n  rules: *g\n", []string{
			`:2: group "g": a rule has no field name: ` + fields,
			`:3: group "g": a rule has no field rules: ` + fields}},
	} {
		for i := range c.want {
			c.want[i] = "team.yaml" + c.want[i]
		}
		d := DefaultConfig()
		f := newFiles(&d, checkParser(), nil, nil, slog.New(slog.DiscardHandler))
		_, err := f.parse(map[string]map[string][]byte{"": {"team.yaml": []byte(c.text)}}, "")
		var applied []string
		if err != nil {
			applied = strings.Split(err.Error(), "\n")
		}
		begins := func(got []string) bool { // parsers name what they met in many words
			return slices.EqualFunc(got, c.want, strings.HasPrefix)
		}
		if !begins(applied) {
			t.Errorf("%s: who applies it hears\n%s\nwant\n%s", c.name,
				strings.Join(applied, "\n"), strings.Join(c.want, "\n"))
		}
		var checked []string
		for _, err := range Check([]RuleFile{{"team.yaml", []byte(c.text)}})[0].Errors {
			checked = append(checked, err.Error())
			if fault := (*Fault)(nil); !errors.As(err, &fault) {
				t.Errorf("%s: %T", c.name, err)
			}
		}
		if !begins(checked) {
			t.Errorf("%s: who checks it hears\n%s", c.name, strings.Join(checked, "\n"))
		}
	}
}

// TestFaultsOfAnyText: of whatever text each thing is said in one line that begins with the file,
// and no two say the same.
func TestFaultsOfAnyText(t *testing.T) {
	const text = `
groups:
- name: g
  interval: 30s
  labels: {team: &t ops}
  rules: &r
  - alert: Down
    expr: up == 0
    for: 5m
    labels: {severity: critical}
    annotations:
      summary: "{{ $labels.node }} is down"
  - record: cluster:up:sum
    expr: |
      sum by (cluster) (up)
- name: h
  rules: *r
`
	wrong := 0
	rapid.Check(t, func(t *rapid.T) {
		b := text
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			from := rapid.IntRange(0, len(b)).Draw(t, "from")
			to := rapid.IntRange(from, min(len(b), from+12)).Draw(t, "to")
			b = b[:from] + rapid.SampledFrom([]string{"", "\n", " ", "*r", "&g ", "{", "]", "- ",
				": ",
				"name", "groups: ", "alert: ", "<<: *r", "{{", "\"", "\x00", "0", "~"}).Draw(t,
				"instead") + b[to:]
		}
		_, errs := readGroups("team.yaml", []byte(b), checkParser(),
			slog.New(slog.DiscardHandler))
		said := map[string]bool{}
		for _, err := range errs {
			wrong++
			one := err.Error()
			if fault := (*Fault)(nil); !errors.As(err, &fault) || said[one] ||
				!strings.HasPrefix(one, "team.yaml:") || strings.ContainsAny(one, "\n\r") ||
				fault.Line > strings.Count(b, "\n")+1 {
				t.Errorf("%q of\n%s", one, b)
			}
			said[one] = true
		}
	})
	if wrong == 0 {
		t.Error("nothing was wrong")
	}
}
