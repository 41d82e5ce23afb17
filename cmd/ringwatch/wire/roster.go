package wire

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/topic"
	"github.com/ringwatch/ringwatch/query/roster"
	"github.com/ringwatch/ringwatch/stream"
)

// enter takes entries of the topic of nodes into a roster. One that cannot be read is left out.
func enter(nodes *roster.Roster) func(stream.Entry) error {
	return func(e stream.Entry) error {
		if rec, err := roster.Unpack(e.Account, e.Cluster, e.Key, e.Value); err == nil {
			nodes.Take(rec)
		}
		return nil
	}
}

// enroll puts records into the topic of nodes.
func enroll(log *stream.Log) func(context.Context, []roster.Record) error {
	return func(ctx context.Context, list []roster.Record) error {
		entries := make([]stream.Entry, len(list))
		for i := range list {
			rec := &list[i]
			entries[i] = stream.Entry{Account: rec.Account, Cluster: rec.Cluster,
				Key: rec.Node.String()}
			var err error
			if entries[i].Value, err = rec.Pack(); err != nil {
				return err
			}
		}
		return log.Publish(ctx, entries...)
	}
}

// rosterParts wires what the API knows of nodes that have left, and how a person says so. It waits
// for nothing: while Kafka is away nobody has left, and all the rest is answered.
func rosterParts(p *Process) (
	*roster.Roster, func(context.Context, roster.Record) error, Part,
) {
	nodes := &roster.Roster{}
	var log atomic.Pointer[stream.Log]
	forget := func(ctx context.Context, rec roster.Record) error {
		l := log.Load()
		if l == nil {
			return errors.New("Kafka has not been reached yet")
		}
		if err := enroll(l)(ctx, []roster.Record{rec}); err != nil {
			return err
		}
		nodes.Take(rec)
		return nil
	}
	return nodes, forget, func(ctx context.Context) error {
		return p.Topics.KeepReading(ctx, topic.RosterLog(), &log, enter(nodes))
	}
}
