// Package engine waits for Kafka, Cassandra and Redis at the start of a role, and names those that
// cannot be reached or have no address.
package engine

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
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/ring"
)

// Engine is one thing that a role needs to be there.
type Engine struct {
	Name      string // as in the configuration
	Addresses []string
	Optional  bool   // the role is right without it, only slower
	Later     bool   // the role starts without it, and connects by itself
	Unset     string // what to do where there is no address and a role needs one
	TLS       certs.Client
	names     []string // by which a server may be known that is called by its address
	hello     []byte   // what its protocol answers, to whoever it lets in
}

// Kafka is the Kafka of a configuration.
func Kafka(c *settings.Config) Engine {
	// ApiVersions, version 0, from a client without a name: size, key, version, correlation, name.
	hello := []byte{0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff}
	return Engine{Name: "kafka.brokers", Addresses: c.Kafka.Brokers, TLS: c.Kafka.TLS, hello: hello,
		Unset: NoBrokers}
}

// Rows is the Cassandra that a configuration stores in.
func Rows(c *settings.Config) Engine {
	e := Cassandra("cassandra.hosts", c.Cassandra.Hosts, c.Cassandra.TLS)
	e.Unset = NoHosts
	return e
}

// RowsOrDirectory is Cassandra for a command that does as well with rows in a directory.
func RowsOrDirectory(c *settings.Config) Engine {
	e := Rows(c)
	e.Unset = ""
	return e
}

// Cassandra is a Cassandra at contact points, under the name of its key.
func Cassandra(name string, hosts []string, tls certs.Client) Engine {
	// OPTIONS, in version 4 of the protocol, without a body.
	e := Engine{Name: name, TLS: tls, names: hosts, hello: []byte{4, 0, 0, 0, 5, 0, 0, 0, 0}}
	points, port, _ := ring.ContactPoints(hosts) // validated
	for _, host := range points {
		e.Addresses = append(e.Addresses, net.JoinHostPort(host, strconv.Itoa(port)))
	}
	return e
}

// Redis is the Redis of a configuration.
func Redis(c *settings.Config) Engine {
	return Engine{Name: "redis.addresses", Addresses: c.Redis.Addresses, Optional: true,
		TLS: c.Redis.TLS, names: c.Redis.Addresses, hello: []byte("PING\r\n")}
}

// Readable reads the files of the engines' TLS and returns everything that is wrong with them, as a
// UsageError.
func Readable(engines ...Engine) error {
	var errs []error
	for _, e := range engines {
		errs = append(errs, e.TLS.Check())
	}
	if err := errors.Join(errs...); err != nil {
		return exit.Usage(err)
	}
	return nil
}

// What to do when an engine has no address and a role needs it. There are no default addresses:
// with one, who has no Cassandra would have had to say so.
const (
	NoHosts   = "name Cassandra's contact points; only ringwatch all keeps rows in files of its own"
	NoKeys    = "API keys lie there: name Cassandra's contact points, or set keys.stored to false"
	NoBrokers = "name Kafka's brokers; only ringwatch all keeps the stream in files of its own"
	NoRedis   = "this role is nothing without it: name a host:port, or run ringwatch all"
)

// Named returns the engines that have no address and need one, as a UsageError.
func Named(engines ...Engine) error {
	var errs []error
	for _, e := range engines {
		if len(e.Addresses) == 0 && e.Unset != "" {
			errs = append(errs, fmt.Errorf("%s is empty: %s", e.Name, e.Unset))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return exit.Usage(err)
	}
	return nil
}

// ReachAll waits until one address of every engine takes connections, with TLS where it is set, and
// after patience names all that did not. Only a wrong certificate is a UsageError: an engine may be
// away, and a supervisor does not start again what ended with exit code 2. The process does without
// those that have no address. Once started, a role never ends because an engine is away.
func ReachAll(ctx context.Context, log *slog.Logger, patience time.Duration,
	engines ...Engine) error {
	if err := Readable(engines...); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	errs := make([]error, len(engines))
	var wg sync.WaitGroup
	for i, e := range engines {
		wg.Go(func() { errs[i] = e.Reach(ctx, log) })
	}
	wg.Wait()
	var fatal []error
	for i, e := range engines {
		switch {
		case errs[i] == nil:
		case e.Optional:
			log.Warn("Redis cannot be reached; reads go to the store, and limits count in each "+
				"process", "engine", e.Name, "error", errs[i])
		default:
			fatal = append(fatal, errs[i])
		}
	}
	if len(fatal) == 0 {
		return nil
	}
	for i, e := range engines { // all of them at once
		if e.Optional && errs[i] != nil {
			fatal = append(fatal, errs[i])
		}
	}
	err := errors.Join(fatal...)
	if errors.As(err, new(*certs.Error)) {
		return exit.Usage(err)
	}
	return err
}

// knock connects to one address and says hello where TLS is set: only an answer shows that the
// engine has taken our certificate.
func (e *Engine) knock(ctx context.Context, log *slog.Logger, address string) error {
	if !e.TLS.Enabled {
		dial, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		conn, err := (&net.Dialer{}).DialContext(dial, "tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	_, err := e.Greet(ctx, log, address)
	return err
}

// Greet returns the certificate of one address.
func (e *Engine) Greet(ctx context.Context, log *slog.Logger,
	address string) (*x509.Certificate, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return e.TLS.Dialer(log, e.names...).Greet(ctx, address, e.hello)
}

// Reach waits until one of the addresses takes connections, or ctx ends.
func (e *Engine) Reach(ctx context.Context, log *slog.Logger) error {
	if len(e.Addresses) == 0 || e.Later {
		return nil // the process does without
	}
	var last error
	for told := false; ; told = true {
		for _, a := range e.Addresses {
			err := e.knock(ctx, log, a)
			if err == nil {
				return nil
			}
			if last == nil || ctx.Err() == nil { // the end of our patience says nothing
				last = err
			}
		}
		if !told {
			log.Info("waiting for an engine", "engine", e.Name, "error", last)
		}
		select {
		case <-ctx.Done():
			return e.unreached(last, "; start it or correct the address")
		case <-time.After(250 * time.Millisecond):
			if e.Optional && told {
				return e.unreached(last, "")
			}
		}
	}
}

func (e *Engine) unreached(err error, remedy string) error {
	if errors.As(err, new(*certs.Error)) { // which has a remedy of its own
		return fmt.Errorf("%s: %w", e.Name, err)
	}
	return fmt.Errorf("%s: cannot reach %s: %w%s", e.Name, strings.Join(e.Addresses, ", "),
		err, remedy)
}
