package wire

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/watch/own"
)

// madeKey is the name of the key that a process makes for its own metrics.
const madeKey = "own-metrics"

// makesKey makes a key for the process's own metrics, if it shall send them to its own ingest. It
// belongs to the first account, writes nothing else, and is nowhere but in this process: the next
// start makes another one.
func (p *Process) makesKey(registry *account.Registry) (*account.Registry, error) {
	if p.Role != "all" || !p.Config.Self.Enabled || p.Config.Self.On() {
		return registry, nil
	}
	text, accounts := account.NewKey(), slices.Clone(p.Config.Accounts)
	accounts[0].Keys = append(slices.Clone(accounts[0].Keys), account.Key{Name: madeKey,
		SHA256: account.Hash(text), Scopes: []account.Scope{account.Write},
		Clusters: []string{p.Config.Self.Cluster}})
	registry, err := account.NewRegistry(accounts)
	if err != nil {
		return nil, exit.Usage(fmt.Errorf("self.enabled: %w", err))
	}
	p.selfKey = text
	return registry, nil
}

// telling runs the parts while the process sends its own metrics through ingest, if it has a key
// for that. It says that it ends before the parts do: ingest may be one of them.
func (p *Process) telling(ctx context.Context, parts []Part) error {
	config, deps := p.Config.Self, own.Deps{
		// Who reads these series may be another than who reads /metrics with a key of scope admin.
		Gatherer: listener.Unnamed(p.Metrics),
		Metrics:  p.Metrics, Role: p.Role, Instance: p.instance(), Log: p.Log,
	}
	switch {
	case config.On():
	case p.selfKey != "":
		config.URL, config.Key, deps.Dial = "http://inside", p.selfKey, p.ingest.Dial
	default:
		if config.Enabled {
			p.Log.Warn("self.enabled is for ringwatch all, which has an ingest: set self.key or " +
				"self.key_file, or nothing is sent of this process's own metrics")
		}
		return Together(ctx, parts...)
	}
	sender, err := own.New(config, deps)
	if err != nil {
		return exit.Usage(fmt.Errorf("self: %w", err))
	}
	working, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	ended := make(chan error, 1)
	go func() { ended <- Together(working, parts...) }()
	sending, stop := context.WithCancel(ctx)
	defer stop()
	silent := make(chan struct{})
	go func() {
		defer close(silent)
		_ = sender.Run(sending)
	}()
	select {
	case err := <-ended: // it failed, and shall be missed
		stop()
		<-silent
		return err
	case <-ctx.Done():
		<-silent
		sender.Farewell()
		end()
		return <-ended
	}
}

// instance names the process: this machine and the port of the role's listener.
func (p *Process) instance() string {
	listen := map[string]string{"all": p.Config.API.Listen, "api": p.Config.API.Listen,
		"ingest": p.Config.Ingest.Listen,
		"store":  p.Config.Store.Listen, "recent": p.Config.Recent.Listen,
		"rules": p.Config.Rules.Listen,
		"watch": p.Config.Watch.Listen}[p.Role]
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	_, port, err := net.SplitHostPort(listen)
	if err != nil {
		return host
	}
	return net.JoinHostPort(host, port)
}
