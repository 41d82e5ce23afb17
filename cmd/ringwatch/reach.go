package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ringwatch/ringwatch/access/certs"
	"github.com/ringwatch/ringwatch/ring"
)

// engine is one thing that a role needs to be there.
type engine struct {
	name      string // as in the configuration
	addresses []string
	optional  bool   // the role is right without it, only slower
	later     bool   // the role starts without it, and connects by itself
	unset     string // what to do where there is no address and a role needs one
	tls       certs.Client
	names     []string // by which a server may be known that is called by its address
	hello     []byte   // what its protocol answers, to whoever it lets in
}

func (c *config) kafka() engine {
	// ApiVersions, version 0, from a client without a name: size, key, version, correlation, name.
	hello := []byte{0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff}
	return engine{name: "kafka.brokers", addresses: c.Kafka.Brokers, tls: c.Kafka.TLS, hello: hello,
		unset: noBrokers}
}

func (c *config) cassandra() engine {
	e := cassandraEngine("cassandra.hosts", c.Cassandra.Hosts, c.Cassandra.TLS)
	e.unset = noHosts
	return e
}

// rows is Cassandra for a command that does as well with rows in a directory.
func (c *config) rows() engine {
	e := c.cassandra()
	e.unset = ""
	return e
}

func cassandraEngine(name string, hosts []string, tls certs.Client) engine {
	// OPTIONS, in version 4 of the protocol, without a body.
	e := engine{name: name, tls: tls, names: hosts, hello: []byte{4, 0, 0, 0, 5, 0, 0, 0, 0}}
	points, port, _ := ring.ContactPoints(hosts) // validated
	for _, host := range points {
		e.addresses = append(e.addresses, net.JoinHostPort(host, strconv.Itoa(port)))
	}
	return e
}

func (c *config) redis() engine {
	return engine{name: "redis.addresses", addresses: c.Redis.Addresses, optional: true,
		tls: c.Redis.TLS, names: c.Redis.Addresses, hello: []byte("PING\r\n")}
}

// readable reads the files of the engines' TLS and returns everything that is wrong with them, as a
// usageError.
func readable(engines ...engine) error {
	var errs []error
	for _, e := range engines {
		errs = append(errs, e.tls.Check())
	}
	if err := errors.Join(errs...); err != nil {
		return usageError{err}
	}
	return nil
}

// What to do when an engine has no address and a role needs it. There are no default addresses:
// with one, who has no Cassandra would have had to say so.
const (
	noHosts   = "name Cassandra's contact points; only ringwatch all keeps rows in files of its own"
	noKeys    = "API keys lie there: name Cassandra's contact points, or set keys.stored to false"
	noBrokers = "name Kafka's brokers; only ringwatch all keeps the stream in files of its own"
	noRedis   = "this role is nothing without it: name a host:port, or run ringwatch all"
)

// named returns the engines that have no address and need one, as a usageError.
func named(engines ...engine) error {
	var errs []error
	for _, e := range engines {
		if len(e.addresses) == 0 && e.unset != "" {
			errs = append(errs, fmt.Errorf("%s is empty: %s", e.name, e.unset))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return usageError{err}
	}
	return nil
}

// reach waits until one address of every engine takes connections, with TLS where it is set, and
// after patience names all that did not. Only a wrong certificate is a usageError: an engine may be
// away, and a supervisor does not start again what ended with exit code 2. The process does without
// those that have no address. Once started, a role never ends because an engine is away.
func reach(ctx context.Context, log *slog.Logger, patience time.Duration, engines ...engine) error {
	if err := readable(engines...); err != nil {
		return err
	}
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
			log.Warn("Redis cannot be reached; reads go to the store, and limits count in each "+
				"process", "engine", e.name, "error", errs[i])
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
	err := errors.Join(fatal...)
	if errors.As(err, new(*certs.Error)) {
		return usageError{err}
	}
	return err
}

// knock connects to one address and says hello where TLS is set: only an answer shows that the
// engine has taken our certificate.
func (e *engine) knock(ctx context.Context, log *slog.Logger, address string) error {
	if !e.tls.Enabled {
		dial, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		conn, err := (&net.Dialer{}).DialContext(dial, "tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	_, err := e.greet(ctx, log, address)
	return err
}

// greet returns the certificate of one address.
func (e *engine) greet(ctx context.Context, log *slog.Logger,
	address string) (*x509.Certificate, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return e.tls.Dialer(log, e.names...).Greet(ctx, address, e.hello)
}

func (e *engine) reach(ctx context.Context, log *slog.Logger) error {
	if len(e.addresses) == 0 || e.later {
		return nil // the process does without
	}
	var last error
	for told := false; ; told = true {
		for _, a := range e.addresses {
			err := e.knock(ctx, log, a)
			if err == nil {
				return nil
			}
			if last == nil || ctx.Err() == nil { // the end of our patience says nothing
				last = err
			}
		}
		if !told {
			log.Info("waiting for an engine", "engine", e.name, "error", last)
		}
		select {
		case <-ctx.Done():
			return e.unreached(last, "; start it or correct the address")
		case <-time.After(250 * time.Millisecond):
			if e.optional && told {
				return e.unreached(last, "")
			}
		}
	}
}

func (e *engine) unreached(err error, remedy string) error {
	if errors.As(err, new(*certs.Error)) { // which has a remedy of its own
		return fmt.Errorf("%s: %w", e.name, err)
	}
	return fmt.Errorf("%s: cannot reach %s: %w%s", e.name, strings.Join(e.addresses, ", "),
		err, remedy)
}
