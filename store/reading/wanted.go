package reading

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// onlyInstants reports whether no metric can match, for each has a name.
func (r *windowsReader) onlyInstants() bool {
	return slices.ContainsFunc(r.matchers, func(m *labels.Matcher) bool {
		return m.Name == labels.MetricName && m.Type == labels.MatchEqual && m.Value == ""
	})
}

// wanted returns which metrics are asked for; nil: all are.
func (r *windowsReader) wanted() *frame.Wanted {
	if r.onlyInstants() {
		return frame.WantNothing()
	}
	var names []*labels.Matcher
	for _, m := range r.matchers {
		if m.Name == labels.MetricName {
			names = append(names, m)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return frame.NewWanted(func(metric string) bool {
		return !slices.ContainsFunc(names, func(m *labels.Matcher) bool {
			return !m.Matches(metric)
		})
	}, nil)
}

// wantedNames is a text that is the same for readers whose wanted is the same.
func (r *windowsReader) wantedNames() string {
	var text []byte
	for _, m := range r.matchers {
		if m.Name == labels.MetricName {
			text = window.AppendMatcher(text, m)
		}
	}
	return string(text)
}
