package wire

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/clock"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/topic"
	"github.com/ringwatch/ringwatch/rules"
	"github.com/ringwatch/ringwatch/stream"
)

// boardParts wires what the API says of rules: the files, and what those who evaluate them say. It
// waits for nothing: while Kafka is away the API knows of no alerts, and answers all the rest.
func boardParts(p *Process) (
	*rules.Status, func(context.Context, string, string, []byte) error, Part, error,
) {
	given := newApplied()
	extra, err := deviationRules(p)
	if err != nil {
		return nil, nil, nil, err
	}
	board, err := rules.NewStatus(p.Config.Rules.Config,
		rules.Deps{Applied: given.files, More: extra, Log: p.Log})
	if err != nil {
		return nil, nil, nil, exit.Usage(err)
	}
	var files atomic.Pointer[stream.Log]
	publish := func(ctx context.Context, account, name string, text []byte) error {
		log := files.Load()
		if log == nil {
			return errors.New("Kafka has not been reached yet")
		}
		e := stream.Entry{Account: account, Key: name, Value: text}
		if err := log.Publish(ctx, e); err != nil {
			return err
		}
		return given.take(e)
	}
	put := func(e stream.Entry) error {
		s := rules.State{Account: e.Account, Cluster: e.Cluster}
		if e.Value != nil {
			var err error
			if s, err = rules.UnpackState(e.Value); err != nil {
				p.Log.Warn("the state of a cluster's rules cannot be read", "cluster", e.Cluster,
					"error", err)
				return nil
			}
		}
		board.Put(s)
		return nil
	}
	return board, publish, func(ctx context.Context) error {
		return Together(ctx,
			func(ctx context.Context) error {
				states := topic.StatesLog(p.Config.Kafka.Partitions)
				return p.Topics.KeepReading(ctx, states, nil, put)
			},
			func(ctx context.Context) error {
				return p.Topics.KeepReading(ctx, topic.FilesLog(), &files, given.take)
			},
			func(ctx context.Context) error {
				for ctx.Err() == nil {
					board.Look(time.Now())
					clock.Pause(ctx, p.Config.Rules.Reload)
				}
				return nil
			})
	}, nil
}

// applied are the rule files that were given through the API, as far as this process has read.
type applied struct {
	mu sync.Mutex
	of map[string]map[string][]byte // by account and name
}

func newApplied() *applied { return &applied{of: map[string]map[string][]byte{}} }

func (a *applied) take(e stream.Entry) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e.Value == nil {
		delete(a.of[e.Account], e.Key)
		return nil
	}
	if a.of[e.Account] == nil {
		a.of[e.Account] = map[string][]byte{}
	}
	a.of[e.Account][e.Key] = e.Value
	return nil
}

// files returns a copy of what there is.
func (a *applied) files() map[string]map[string][]byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := map[string]map[string][]byte{}
	for account, list := range a.of {
		all[account] = map[string][]byte{}
		for name, text := range list {
			all[account][name] = text
		}
	}
	return all
}
