package safe

import (
	"context"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxReasons is how many offenders of a condition are named.
const maxReasons = 20

// says asks which nodes say the metrics that conditions need.
func (a *asking) says(ctx context.Context, list []*Condition) {
	a.said = map[string]map[string]bool{}
	for _, c := range list {
		for _, name := range c.Needs {
			a.said[name] = map[string]bool{}
		}
	}
	if len(a.said) == 0 || ctx.Err() != nil {
		return
	}
	names := strings.Join(slices.Sorted(maps.Keys(a.said)), "|")
	found, lacks, err := a.source.Query(ctx, a.placed(
		"group by (__name__, node) ({__name__=~"+strconv.Quote(names)+",$scope})"), a.At)
	for _, s := range found {
		if sayers := a.said[s.Labels["__name__"]]; sayers != nil {
			sayers[s.Labels["node"]] = true
		}
	}
	if err != nil {
		lacks = append(lacks, err.Error())
	}
	for _, text := range lacks {
		a.unsaid = append(a.unsaid,
			Reason{Text: "It cannot be known which metrics nodes say: " + text})
	}
}

// condition asks one condition.
func (a *asking) condition(ctx context.Context, c *Condition) {
	a.begin(c.Name, c.Description)
	if c.Replicas != "" {
		a.count(ctx)
		a.add(a.copies.why)
	}
	if len(c.Needs) > 0 {
		a.add(a.unsaid)
		if len(a.unsaid) == 0 {
			a.needs(c)
		}
	}
	var list []Series
	if c.Replicas != "" {
		list = a.lost(c.Replicas)
	} else {
		list = a.query(ctx, a.placed(c.PromQL))
	}
	texts := map[string]string{} // to node
	for i := range list {
		texts[a.sentence(c.Text, &list[i])] = list[i].Labels["node"]
	}
	for i, text := range slices.Sorted(maps.Keys(texts)) {
		if i == maxReasons {
			a.reason(true, "", "and %d more", len(texts)-maxReasons)
			break
		}
		a.reason(true, texts[text], "%s", text)
	}
}

// needs adds which of the nodes that must be well, or the node that the condition is of, do not say
// what is needed. A node that is taken away counts among those that have copies.
func (a *asking) needs(c *Condition) {
	ids := a.staying()
	switch away := a.away(); {
	case c.Replicas != "" && away != "" && !a.copies.down[away]:
		ids = append(ids, away)
	case c.ofNode() && !a.whichever():
		if ids = nil; a.Node != "" {
			ids = []string{a.Node}
		}
	}
	for _, name := range c.Needs {
		var without []string
		for _, id := range ids {
			if !a.silent[id] && !a.said[name][id] {
				without = append(without, a.called(id))
			}
		}
		switch n := len(without); {
		case n == 0:
		case n == len(ids):
			a.reason(false, "", "No node says %s, so this cannot be known.", name)
		default:
			const most = 5
			rest := ""
			if n > most {
				rest = fmt.Sprintf(" and %d more", n-most)
			}
			a.reason(false, "", "It cannot be known of %s%s, where nothing says %s.",
				strings.Join(without[:min(n, most)], ", "), rest, name)
		}
	}
}

var placeholder = regexp.MustCompile(`\{[a-zA-Z_][a-zA-Z0-9_]*\}`)

// sentence is a condition's text of an offender.
func (a *asking) sentence(text string, s *Series) string {
	return placeholder.ReplaceAllStringFunc(text, func(name string) string {
		switch name = name[1 : len(name)-1]; name {
		case "node":
			return a.called(s.Labels["node"])
		case "number":
			if math.Abs(s.Value) >= 1000 {
				return strconv.FormatFloat(s.Value, 'f', 0, 64)
			}
			return strconv.FormatFloat(s.Value, 'g', 3, 64)
		}
		return s.Labels[name]
	})
}
