package values

import (
	"strings"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api/refusal"
	"github.com/ringwatch/ringwatch/query/catalog"
)

// isName reports whether an element of metrics= is a name of the catalogue.
func isName(text string) bool { return catalog.IsName(text) && !strings.ContainsAny(text, `{"`) }

// split divides metrics=a,b at commas that stand in no braces and no quotes.
func split(text string) []string {
	var list []string
	depth, quote, begin := 0, byte(0), 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0:
			if c == '\\' && quote != '`' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'' || c == '`':
			quote = c
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == ',' && depth == 0:
			list = append(list, text[begin:i])
			begin = i + 1
		}
	}
	return append(list, text[begin:])
}

// names divides metrics= into selectors and names of the account's catalogue.
func (c *Config) names(p account.Principal, metrics []string) (selectors []string,
	asked []catalog.Asked, err error) {
	if c.Catalog == nil {
		return metrics, nil, nil
	}
	total, most := 0, c.Selectors.Most()
	for _, text := range metrics {
		elements := []string{text}
		if strings.Contains(text, "::") {
			elements = split(text)
		}
		for _, element := range elements {
			if total++; total > most {
				return nil, nil, refusal.Bad("too_many_metrics", "metrics", "metrics has more "+
					"than %d names and selectors: ask for fewer at a time", most)
			}
			if !isName(element) {
				selectors = append(selectors, element)
				continue
			}
			name, err := c.Catalog(p.Account).Lookup(element)
			if err != nil {
				return nil, nil, refusal.Bad("unknown_metric", "metrics", "%v", err)
			}
			asked = append(asked, name)
		}
	}
	return selectors, asked, nil
}
