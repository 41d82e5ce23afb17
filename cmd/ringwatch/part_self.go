package main

import (
	"context"
	"fmt"
	"net"
	"os"

	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/watch/own"
)

// telling runs the parts while the process sends its own metrics through ingest, if the
// configuration has a key for that. It says that it ends before the parts do: ingest may be one of
// them.
func (p *process) telling(ctx context.Context, parts []part) error {
	if !p.Self.On() {
		return together(ctx, parts...)
	}
	sender, err := own.New(p.Self, own.Deps{
		// Who reads these series may be another than who reads /metrics with a key of scope admin.
		Gatherer: listener.Unnamed(p.metrics),
		Metrics:  p.metrics, Role: p.role, Instance: p.instance(), Log: p.log,
	})
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
