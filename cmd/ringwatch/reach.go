package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"
)

// engine is one thing that a role needs to be there.
type engine struct {
	name      string // as in the configuration
	addresses []string
	optional  bool // the role is right without it, only slower
}

func (c *config) kafka() engine { return engine{"kafka.brokers", c.Kafka.Brokers, false} }
func (c *config) cassandra() engine {
	e := engine{name: "cassandra.hosts"}
	for _, host := range c.Cassandra.Hosts {
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(host, "9042") // Cassandra's own default
		}
		e.addresses = append(e.addresses, host)
	}
	return e
}

func (c *config) redis() engine { return engine{"redis.addresses", c.Redis.Addresses, true} }

// reach waits until one address of every engine takes connections, and after patience names all that did not, as a usageError: at a start
// that is nearly always an address that is wrong. Once started, a role never ends because an engine is away.
func reach(ctx context.Context, log *slog.Logger, patience time.Duration, engines ...engine) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	errs := make([]error, len(engines))
	var wg sync.WaitGroup
	for i, e := range engines {
		wg.Go(func() { errs[i] = e.reach(ctx, log) })
	}
	wg.Wait()
	var fatal []error
	for i, e := range engines {
		switch {
		case errs[i] == nil:
		case e.optional:
			log.Warn("Redis cannot be reached; reads go to Cassandra, and limits count in each process", "engine", e.name, "error", errs[i])
		default:
			fatal = append(fatal, errs[i])
		}
	}
	if len(fatal) == 0 {
		return nil
	}
	for i, e := range engines { // all of them at once
		if e.optional && errs[i] != nil {
			fatal = append(fatal, errs[i])
		}
	}
	return usageError{errors.Join(fatal...)}
}

func (e *engine) reach(ctx context.Context, log *slog.Logger) error {
	var dialer net.Dialer
	for told := false; ; told = true {
		var last error
		for _, a := range e.addresses {
			dial, cancel := context.WithTimeout(ctx, 2*time.Second)
			conn, err := dialer.DialContext(dial, "tcp", a)
			cancel()
			if err == nil {
				conn.Close()
				return nil
			}
			last = err
		}
		if !told {
			log.Info("waiting for an engine", "engine", e.name, "error", last)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: cannot reach %s: %w; start it or correct the address", e.name, strings.Join(e.addresses, ", "), last)
		case <-time.After(250 * time.Millisecond):
			if e.optional && told {
				return fmt.Errorf("%s: cannot reach %s: %w", e.name, strings.Join(e.addresses, ", "), last)
			}
		}
	}
}
