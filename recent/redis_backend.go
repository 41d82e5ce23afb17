package recent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// redisBackend is a connection to Redis that may be away: it connects when first needed, keeps its
// callers within their deadlines, and after a failure to answer fails at once until Backoff has
// passed.
type redisBackend struct {
	config *Config
	option rueidis.ClientOption
	cache  *windowCache

	mu        sync.Mutex
	client    rueidis.Client
	dialing   chan struct{} // closed when the attempt under way has ended; nil when there is none
	awayUntil time.Time
	why       error // of the last failure
	closed    bool
	dials     sync.WaitGroup
}

func newRedisBackend(c *Config) *redisBackend {
	option := rueidis.ClientOption{
		InitAddress:      c.Addresses,
		Username:         c.Username,
		Password:         c.Password,
		ClientName:       "ringwatch",
		Dialer:           net.Dialer{Timeout: c.DialTimeout, KeepAlive: time.Second},
		ConnWriteTimeout: max(c.ReadTimeout, c.WriteTimeout),
		DisableRetry:     true, // the store answers sooner than a second try
		DisableCache:     true,
		// two connections: frames are big, so more would only divide the pipeline
		PipelineMultiplex: 1,
	}
	if c.TLS.Enabled {
		files := c.TLS.Dialer(c.Log, c.Addresses...)
		// makes a cluster's ports for TLS count; connections are made below
		option.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		option.DialCtxFn = func(ctx context.Context, address string, dialer *net.Dialer,
			_ *tls.Config) (net.Conn, error) {
			return files.Over(ctx, dialer, "tcp", address)
		}
	}
	return &redisBackend{config: c, option: option, cache: newWindowCache(c.KnownBytes)}
}

// get returns a client, waiting for a first connection no longer than ctx.
func (l *redisBackend) get(ctx context.Context) (rueidis.Client, error) {
	l.mu.Lock()
	switch {
	case l.closed:
		l.mu.Unlock()
		return nil, fmt.Errorf("%w: closed", ErrAway)
	case time.Now().Before(l.awayUntil):
		err := fmt.Errorf("%w: %v", ErrAway, l.why)
		l.mu.Unlock()
		return nil, err
	case l.client != nil:
		defer l.mu.Unlock()
		return l.client, nil
	}
	if l.dialing == nil {
		l.dialing = make(chan struct{})
		l.dials.Add(1)
		go l.dial(l.dialing)
	}
	done := l.dialing
	l.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrAway, ctx.Err())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.client == nil {
		return nil, fmt.Errorf("%w: %v", ErrAway, l.why)
	}
	return l.client, nil
}

func (l *redisBackend) dial(done chan struct{}) {
	defer l.dials.Done()
	client, err := rueidis.NewClient(l.option)
	l.mu.Lock()
	defer l.mu.Unlock()
	defer close(done)
	l.dialing = nil
	switch {
	case err != nil:
		l.why, l.awayUntil = err, time.Now().Add(l.config.Backoff)
	case l.closed:
		client.Close()
	default:
		l.client = client
	}
}

// judge decides what an error of a command means: Redis's own refusals come back as they are,
// everything else opens the backoff and wraps ErrAway. When the caller left, nothing is known
// about Redis; when our own time for Redis was over, it is.
func (l *redisBackend) judge(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, ErrAway) {
		return err
	}
	if _, ok := rueidis.IsRedisErr(err); ok {
		return err
	}
	if ctx.Err() != nil && context.Cause(ctx) != errSlow {
		return ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.why, l.awayUntil = err, time.Now().Add(l.config.Backoff)
	return fmt.Errorf("%w: %w", ErrAway, err)
}

// do calls f with the client, for what is kept in Redis beside frames.
func (l *redisBackend) do(ctx context.Context, f func(rueidis.Client) error) error {
	client, err := l.get(ctx)
	if err != nil {
		return err
	}
	return l.judge(ctx, f(client))
}

func (l *redisBackend) ping(ctx context.Context) error {
	return l.do(ctx, func(c rueidis.Client) error {
		return c.Do(ctx, c.B().Ping().Build()).Error()
	})
}

// close ends the connections and waits for an attempt under way.
func (l *redisBackend) close() {
	l.mu.Lock()
	l.closed = true
	client := l.client
	l.client = nil
	l.mu.Unlock()
	if client != nil {
		client.Close()
	}
	l.dials.Wait()
}
