package engines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
)

// ErrNoRedis is returned when no redis-server is found.
var ErrNoRedis = errors.New("found no redis-server: apt-get install redis-server")

// RedisConfig says how to run one Redis, without persistence. Only Dir is needed.
type RedisConfig struct {
	Dir string // holds, unless Log is set, its log

	ListenAddress string // 127.0.0.1 by default
	Port          int    // 0: a free one

	MaxMemory string // in Redis's units, e.g. "256mb"; empty: no limit
	// what to evict at that limit; "volatile-ttl" by default: what would expire soonest
	Policy string
	Extra  []string // more arguments, e.g. "--io-threads", "2"
	TLS    *TLS     // nil: none

	Log string // Dir/redis.log by default

	Detached bool                 // see ProcessConfig
	Started  func(Identity) error // see ProcessConfig
}

// Redis is a running server that has answered.
type Redis struct {
	Engine
	Host string
	Port int
}

// Addr returns host:port for clients.
func (r *Redis) Addr() string { return net.JoinHostPort(r.Host, strconv.Itoa(r.Port)) }

// StartRedis starts the distribution's redis-server and waits until it answers.
func StartRedis(ctx context.Context, c RedisConfig) (*Redis, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, ErrNoRedis
	}
	if c.Dir == "" {
		return nil, errors.New("a Redis needs a directory: set RedisConfig.Dir")
	}
	setDefault(&c.ListenAddress, "127.0.0.1")
	setDefault(&c.Policy, "volatile-ttl")
	setDefault(&c.Log, filepath.Join(c.Dir, "redis.log"))
	if err := makeDir(c.Dir); err != nil {
		return nil, err
	}
	return startOnFreePorts(c.Port != 0, func() (*Redis, error) {
		return startRedis(ctx, c, program)
	})
}

func startRedis(ctx context.Context, c RedisConfig, program string) (*Redis, error) {
	var hold portHold
	defer hold.release()
	if err := hold.take(c.ListenAddress, &c.Port, "Redis"); err != nil {
		return nil, err
	}
	port := []string{"--port", strconv.Itoa(c.Port)}
	if c.TLS != nil {
		port = append(c.TLS.redis(), "--port", "0", "--tls-port", strconv.Itoa(c.Port))
	}
	args := append(port,
		"--bind", c.ListenAddress, "--dir", c.Dir, "--daemonize", "no", "--supervised", "no",
		"--save", "", "--appendonly", "no", "--maxmemory-policy", c.Policy, "--logfile", "",
	)
	if c.MaxMemory != "" {
		args = append(args, "--maxmemory", c.MaxMemory)
	}
	args = append(args, c.Extra...)
	server := &Redis{Host: c.ListenAddress, Port: c.Port}
	server.name = "Redis"
	server.probe = func(ctx context.Context) error {
		return redisAnswers(ctx, server.Addr(), c.TLS)
	}
	server.launch = func() (*Process, error) {
		hold.release()
		return StartProcess(ProcessConfig{Name: server.name, Path: program, Args: args, Log: c.Log,
			Detached: c.Detached, Started: c.Started})
	}
	var err error
	if server.proc, err = startReady(ctx, server.name, server.launch, server.probe); err != nil {
		return nil, err
	}
	return server, nil
}

// RedisAnswers sends PING to the server at addr and returns nil when it answers PONG.
func RedisAnswers(ctx context.Context, addr string) error { return redisAnswers(ctx, addr, nil) }

func redisAnswers(ctx context.Context, addr string, secure *TLS) error {
	conn, err := secure.dial(ctx, addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
		return err
	}
	var answer [7]byte
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return fmt.Errorf("%s did not answer the Redis protocol: %w", addr, err)
	}
	if string(answer[:]) != "+PONG\r\n" {
		return fmt.Errorf("%s does not speak the Redis protocol", addr)
	}
	return nil
}

// EnsureRedis installs Debian's redis-server when it is missing and this process may do so; it
// keeps the package from starting a service of its own, which would take port 6379. progress,
// which may be nil, takes short lines for a person.
func EnsureRedis(ctx context.Context, progress func(string)) error {
	return ensureDebian(ctx, progress, "redis-server", ErrNoRedis, "redis-server")
}
