package wire

import (
	"context"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/topic"
	"github.com/ringwatch/ringwatch/query/roster"
	"github.com/ringwatch/ringwatch/rules"
)

// The role rules.
//
//	frames ──► stream.Consumer ──► rules.Rules, of single clusters
//	                                 ├─ Publish ──► frames: the series that rules record
//	                                 ├─ Forward ──► recorded ──► stream.Consumer ──► rules.Rules,
//	                                 │                              over all clusters of an account
//	                                 ├─ Notify ──► rules/notify.Notifier ──► Alertmanager, a topic
//	                                 │          └► notify.Notifier ──► people: alertmanager.yml
//	                                 │               ▲ other members, and their alerts by the topic
//	                                 └─ Save ──► states ──► Load, when a partition comes
//	rule files of the API, nodes that have left, the pulse of ingest ──► followed, for both

// Rules wires the drawing above.
func Rules(ctx context.Context, p *Process) ([]Part, error) {
	topics, err := openRulesTopics(ctx, p)
	if err != nil {
		return nil, err
	}
	given, nodes, heard := newApplied(), &roster.Roster{}, &pulse{}
	readFiles, err := topic.Follow(ctx, topics.files, given.take)
	if err != nil {
		return nil, err
	}
	readLeft, err := topic.Follow(ctx, topics.left, enter(nodes))
	if err != nil {
		return nil, err
	}
	persons, telling, err := openPeople(p)
	if err != nil {
		return nil, err
	}
	notifier, parts, err := openNotifier(ctx, p, persons)
	if err != nil {
		return nil, err
	}
	if persons != nil {
		parts = append(parts, telling)
	}
	deps := rules.Deps{
		Publish: topics.frames.Publish,
		Forward: topics.forward,
		Notify:  tell(p, notifier, persons),
		Load:    loadStates(topics.states),
		Save:    saveState(topics.states),
		Pulse:   heard.unbroken,
		Away:    heard.unheard,
		Applied: given.files,
		Past:    p.past,
		Roster:  nodes, Enroll: enroll(topics.left), KeepLeft: p.Config.Cassandra.RawTTL,
		Metrics: p.Metrics, Log: p.Log,
	}
	if err := setRules(p, &deps); err != nil {
		return nil, err
	}
	for _, every := range []bool{false, true} {
		run, err := rulesConsumer(p, topics.engine, deps, every)
		if err != nil {
			return nil, err
		}
		parts = append(parts, run)
	}
	parts = append(parts, readFiles, readLeft,
		func(ctx context.Context) error { return heard.follow(ctx, topics.pulses) })
	p.RulesReady = topics.frames.Ready
	return []Part{func(ctx context.Context) error {
		defer topics.close()
		return Together(ctx, parts...)
	}}, nil
}
