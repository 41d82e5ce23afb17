package read

import (
	"slices"
	"sync"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

const (
	// dictionaryBytes is what one account's dictionaries may take. One of 600 metrics takes 160 kB.
	dictionaryBytes = 1 << 20
	// dictionaryAccounts is for how many accounts there are some.
	dictionaryAccounts = 32
)

// dictionaries are the dictionaries of key frames that were read, by account.
type dictionaries struct {
	mu    sync.Mutex
	of    map[string]*frame.Dictionaries
	order []string // who asked first
}

func (d *dictionaries) get(account string) *frame.Dictionaries {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of == nil {
		d.of = map[string]*frame.Dictionaries{}
	}
	known := d.of[account]
	if known == nil {
		if len(d.order) == dictionaryAccounts {
			delete(d.of, d.order[0])
			d.order = slices.Delete(d.order, 0, 1)
		}
		known = frame.NewDictionaries(dictionaryBytes)
		d.of[account], d.order = known, append(d.order, account)
	}
	return known
}

// wanted returns which metrics any of the selectors may select; nil if they may select all.
func (d *dictionaries) wanted(account string, selectors [][]*labels.Matcher) *frame.Wanted {
	if len(selectors) > 0 && !slices.ContainsFunc(selectors, func(matchers []*labels.Matcher) bool {
		return !slices.ContainsFunc(matchers, noMetric)
	}) {
		return frame.WantNothing()
	}
	of := wantedNames(selectors)
	if of == nil {
		return nil
	}
	return frame.NewWanted(of, d.get(account))
}

// namesOf names the metrics that any of the selectors may select.
func namesOf(selectors [][]*labels.Matcher) string {
	var text []byte
	for _, matchers := range selectors {
		for _, m := range matchers {
			if m.Name == labels.MetricName {
				text = window.AppendMatcher(text, m)
			}
		}
		text = append(text, ';')
	}
	return string(text)
}

// wantedNames returns what tells whether any of the selectors may select a metric of a name; nil if
// they may select all. It is for one goroutine at a time.
func wantedNames(selectors [][]*labels.Matcher) func(metric string) bool {
	var names [][]*labels.Matcher
	for _, matchers := range selectors {
		var list []*labels.Matcher
		for _, m := range matchers {
			if m.Name == labels.MetricName {
				list = append(list, m)
			}
		}
		if len(list) == 0 {
			return nil
		}
		names = append(names, list)
	}
	if len(names) == 0 {
		return nil
	}
	wanted := func(metric string) bool {
		return slices.ContainsFunc(names, func(list []*labels.Matcher) bool {
			return !slices.ContainsFunc(list, func(m *labels.Matcher) bool {
				return !m.Matches(metric)
			})
		})
	}
	if !slices.ContainsFunc(names, func(list []*labels.Matcher) bool {
		return slices.ContainsFunc(list, isPattern)
	}) {
		return wanted // comparing takes less than looking up what was found before
	}
	known := map[string]bool{} // regular expressions are matched once a name
	return func(metric string) bool {
		is, found := known[metric]
		if !found {
			is = wanted(metric)
			known[metric] = is
		}
		return is
	}
}

// isPattern reports whether a matcher has a regular expression.
func isPattern(m *labels.Matcher) bool {
	return m.Type == labels.MatchRegexp || m.Type == labels.MatchNotRegexp
}

// noMetric reports whether a matcher allows no metric: each has a name.
func noMetric(m *labels.Matcher) bool {
	return m.Name == labels.MetricName && m.Type == labels.MatchEqual && m.Value == ""
}
