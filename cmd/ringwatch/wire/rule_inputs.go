package wire

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/storage"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/catalog"
	"github.com/ringwatch/ringwatch/query/selector"
	"github.com/ringwatch/ringwatch/rules/relabel"
)

// ruleLabels is what rules see instead of a series' own labels; nil: nothing else.
func ruleLabels(p *Process) (func(labels.Labels) (labels.Labels, bool), error) {
	var list []*relabel.Mapping
	if p.Config.Rules.Mounts {
		m, err := relabel.Mounts()
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	for _, file := range p.Config.Rules.RelabelFiles {
		m, err := relabel.LoadFile(file, selector.DefaultConfig())
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	if len(list) == 0 {
		return nil, nil
	}
	return func(l labels.Labels) (labels.Labels, bool) {
		for _, m := range list {
			var keep bool
			if l, keep = m.Labels(l); !keep {
				return l, false
			}
		}
		return l, true
	}, nil
}

// deviationRules is the rule file that the catalogue gives, if it is asked for.
func deviationRules(p *Process) (map[string][]byte, error) {
	if !p.Config.Rules.Deviations {
		return nil, nil
	}
	c, err := catalog.Shipped()
	if err != nil {
		return nil, err
	}
	groups, err := c.Deviations()
	if err != nil {
		return nil, err
	}
	// goccy writes a text of one line end as an empty one in YAML, but not in JSON.
	text, err := yaml.MarshalWithOptions(rulefmt.RuleGroups{Groups: groups}, yaml.JSON())
	if err != nil {
		return nil, fmt.Errorf("the rules of deviations: %w", err)
	}
	return map[string][]byte{"deviations.yaml": text}, nil
}

var errNoEngine = errors.New(
	"the rule looks back further than rules.max_lookback, and this process " +
		"cannot read the past: run the role beside the API (ringwatch all), or raise " +
		"rules.max_lookback")

// past answers selectors that look back further than memory does, once the API is there.
func (p *Process) past(ctx context.Context, name string) storage.Queryable {
	return storage.QueryableFunc(func(from, to int64) (storage.Querier, error) {
		engine := p.engine.Load()
		if engine == nil {
			return nil, errNoEngine
		}
		return newPast(ctx, engine, name, from, to)
	})
}

// pastQuerier is the engine's, which gives its place back when it is closed.
type pastQuerier struct {
	storage.Querier
	ctx  context.Context
	once sync.Once
	end  func()
}

func newPast(
	ctx context.Context, engine *query.Engine, name string, from, to int64,
) (storage.Querier, error) {
	of, ctx, end, err := engine.Queryable(ctx, account.Inside(name), 0)
	if err != nil {
		return nil, err
	}
	q, err := of.Querier(from, to)
	if err != nil {
		end()
		return nil, err
	}
	return &pastQuerier{Querier: q, ctx: ctx, end: end}, nil
}

// Select implements storage.Querier, with the context that the memory of the answer belongs to.
func (q *pastQuerier) Select(_ context.Context, sorted bool, h *storage.SelectHints,
	matchers ...*labels.Matcher) storage.SeriesSet {
	return q.Querier.Select(q.ctx, sorted, h, matchers...)
}

// Close implements storage.Querier.
func (q *pastQuerier) Close() error {
	defer q.once.Do(q.end)
	return q.Querier.Close()
}
