package request

import (
	"context"
	"errors"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/api/refusal"
	"github.com/ringwatch/ringwatch/query/selector"
)

// Selectors reads the series selectors of requests.
type Selectors struct {
	parser *selector.Parser
	most   int // of a request
}

// NewSelectors returns a reader of as many selectors a request.
func NewSelectors(parser *selector.Parser, most int) *Selectors {
	return &Selectors{parser: parser, most: most}
}

// Most is how many a request may have.
func (s *Selectors) Most() int { return s.most }

// Parse reads those of a field.
func (s *Selectors) Parse(ctx context.Context, field string,
	texts []string) ([][]*labels.Matcher, error) {
	if len(texts) > s.most {
		return nil, refusal.Bad("too_many_metrics", field,
			"%s is given %d times, and %d are allowed: use a selector such as {__name__=~\"a|b\"}",
			field, len(texts), s.most)
	}
	var all [][]*labels.Matcher
	parsing := s.parser.Request(ctx)
	for _, text := range texts {
		matchers, err := parsing.Selector(text)
		if _, is := errors.AsType[*selector.LimitError](err); is {
			return nil, refusal.Bad("selectors_too_large", field, "%v", err)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, refusal.Bad("bad_matcher", field, "%.200q is not a series selector: %v",
				text, err)
		}
		if !slices.ContainsFunc(matchers, narrows) {
			return nil, refusal.Bad("bad_matcher", field,
				"%.200q selects everything: name a metric or a label, or leave %s out to get "+
					"everything", text, field)
		}
		all = append(all, matchers)
	}
	return all, nil
}

// narrows reports whether a matcher may leave something out.
func narrows(m *labels.Matcher) bool { return m.Type != labels.MatchRegexp || m.Value != ".*" }
