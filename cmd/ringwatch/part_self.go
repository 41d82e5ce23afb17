package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/watch/own"
)

// validateSelf checks the section, and that a key which the process makes could write.
func (c *config) validateSelf() error {
	err := c.Self.Validate()
	switch {
	case !c.Self.Enabled || c.Self.On():
	case len(c.Accounts) == 0:
		err = errors.Join(err, errors.New("enabled: there is no account to send for: add one "+
			"below accounts"))
	case !account.Inside(c.Accounts[0].Name, c.Accounts[0].Clusters...).Owns(c.Self.Cluster):
		err = errors.Join(err, fmt.Errorf("enabled: account %s does not own the cluster %s: add "+
			"it to the account's clusters", c.Accounts[0].Name, c.Self.Cluster))
	}
	return err
}

// madeKey is the name of the key that a process makes for its own metrics.
const madeKey = "own-metrics"

// makesKey makes a key for the process's own metrics, if it shall send them to its own ingest. It
// belongs to the first account, writes nothing else, and is nowhere but in this process: the next
// start makes another one.
func (p *process) makesKey(registry *account.Registry) (*account.Registry, error) {
	if p.role != "all" || !p.Self.Enabled || p.Self.On() {
		return registry, nil
	}
	text, accounts := account.NewKey(), slices.Clone(p.Accounts)
	accounts[0].Keys = append(slices.Clone(accounts[0].Keys), account.Key{Name: madeKey,
		SHA256: account.Hash(text), Scopes: []account.Scope{account.Write},
		Clusters: []string{p.Self.Cluster}})
	registry, err := account.NewRegistry(accounts)
	if err != nil {
		return nil, usageError{fmt.Errorf("self.enabled: %w", err)}
	}
	p.selfKey = text
	return registry, nil
}

// telling runs the parts while the process sends its own metrics through ingest, if it has a key
// for that. It says that it ends before the parts do: ingest may be one of them.
func (p *process) telling(ctx context.Context, parts []part) error {
	config, deps := p.Self, own.Deps{
		// Who reads these series may be another than who reads /metrics with a key of scope admin.
		Gatherer: listener.Unnamed(p.metrics),
		Metrics:  p.metrics, Role: p.role, Instance: p.instance(), Log: p.log,
	}
	switch {
	case config.On():
	case p.selfKey != "":
		config.URL, config.Key, deps.Dial = "http://inside", p.selfKey, p.ingest.Dial
	default:
		if config.Enabled {
			p.log.Warn("self.enabled is for ringwatch all, which has an ingest: set self.key or " +
				"self.key_file, or nothing is sent of this process's own metrics")
		}
		return together(ctx, parts...)
	}
	sender, err := own.New(config, deps)
	if err != nil {
		return usageError{fmt.Errorf("self: %w", err)}
	}
	working, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	ended := make(chan error, 1)
	go func() { ended <- together(working, parts...) }()
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
func (p *process) instance() string {
	listen := map[string]string{"all": p.API.Listen, "api": p.API.Listen, "ingest": p.Ingest.Listen,
		"store": p.Store.Listen, "recent": p.Recent.Listen, "rules": p.Rules.Listen,
		"watch": p.Watch.Listen}[p.role]
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
