package rules

import (
	"slices"
	"testing"

	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// TestTemplateSelectors holds that what templates ask for is kept in memory, too.
func TestTemplateSelectors(t *testing.T) {
	p := parser.NewParser(parser.Options{})
	for _, c := range []struct {
		text string
		want []string
	}{
		{`{{ with printf "ringwatch_node_info{cluster=%q,node=%q}" $labels.cluster $labels.node | query }}{{ end }}`,
			[]string{`__name__="ringwatch_node_info"`}},
		{`{{ query "sum(rate(a{x='y'}[5m])) / b" | first | value }}`,
			[]string{`__name__="a",x="y"`, `__name__="b"`}},
		{"{{ printf `node_load1{node='%s'}` .Labels.node | query }}",
			[]string{`__name__="node_load1"`}},
		{`{{ query "not ( PromQL" }} and {{ "other" }}`, []string{`__name__="other"`}},
		{`{{ "node_load1" }} asks nothing`, nil},
	} {
		var got []string
		for _, m := range templateSelectors(
			rulefmt.Rule{Annotations: map[string]string{"a": c.text}}, p) {
			got = append(got, keyOf(m))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s asks for %q, not %q", c.text, got, c.want)
		}
	}
}
