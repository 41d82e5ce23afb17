package wire

import (
	"context"
	"maps"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api/advice"
	"github.com/ringwatch/ringwatch/api/fleet"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/clock"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	people "github.com/ringwatch/ringwatch/notify"
	"github.com/ringwatch/ringwatch/query"
)

// insights are what the role api knows beside alerts.
type insights struct {
	nodes    *fleet.Fleet
	engine   *query.Engine
	advice   settings.Advices
	happened eventReader
}

// besideAlerts says what people call the nodes of alerts, and what the numbers suggest. Where no
// role api is, or it does not know in time, messages go without.
func (p *Process) besideAlerts(ctx context.Context, name string,
	alerts []map[string]string) []people.Insight {
	known := p.insights.Load()
	if known == nil {
		return nil
	}
	who := account.Inside(name)
	nodes, err := known.nodes.All(ctx, who)
	if err != nil {
		return nil
	}
	called := fleet.Called(nodes)
	list := make([]people.Insight, len(alerts))
	for i, labels := range alerts {
		if id := labels["node"]; id != "" && called(id) != id {
			list[i].Host = called(id)
		}
	}
	said, err := known.advice.For(name).Ask(ctx, advice.Question{
		Source: adviceSource{engineSource{known.engine, who}}, Events: known.happened.of(who),
		Name: called, At: clock.Now()}, alerts)
	if err != nil {
		return list // the context's
	}
	for i, labels := range alerts {
		for _, one := range said {
			if maps.Equal(one.Labels, labels) {
				list[i].Advice = one.Text
			}
		}
	}
	return list
}
