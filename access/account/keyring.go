package account

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
)

// KeyringConfig says whether and how often keys are read from the store.
type KeyringConfig struct {
	// Stored: keys in the store count. Without it only those of the configuration do, and ingest
	// needs no Cassandra.
	Stored bool `yaml:"stored"`
	// Refresh is how often they are read: a revoked key stops that much later, and one read.
	Refresh time.Duration `yaml:"refresh"`
}

// DefaultKeyringConfig reads a small partition every five seconds.
func DefaultKeyringConfig() KeyringConfig {
	return KeyringConfig{Stored: true, Refresh: 5 * time.Second}
}

// Validate returns what is wrong.
func (c *KeyringConfig) Validate() error {
	if c.Refresh < time.Second || c.Refresh > time.Minute {
		return fmt.Errorf("refresh is %s: use 1s to 1m", c.Refresh)
	}
	return nil
}

const (
	// readTimeout bounds one reading of the stored keys.
	readTimeout = 3 * time.Second
	// A key that nobody knows makes the store be read at once, so that a new key works at once;
	// guessing makes that happen once a second at most.
	missesPerSecond = 1
	missesBurst     = 10
)

// Keyring authenticates by the keys of the configuration and of the store. It goes on with what
// it knows while the store is away; a key that it has never seen is then ErrKeysAway, not
// unknown.
type Keyring struct {
	config     KeyringConfig
	configured *Registry
	read       func(context.Context) ([]StoredKey, error)
	log        *slog.Logger
	reads      *prometheus.CounterVec
	misses     *rate.Limiter
	now        func() time.Time

	current atomic.Pointer[Registry]
	known   atomic.Int64 // when what is known was read, ns since the Unix epoch; 0: never

	failed atomic.Bool // the last reading

	mu     sync.Mutex // one reading at a time
	began  time.Time  // the last one
	wrong  string     // complained of
	stored map[string]StoredKey
}

// NewKeyring registers its metrics with reg. read returns all stored keys.
func NewKeyring(c KeyringConfig, configured *Registry,
	read func(context.Context) ([]StoredKey, error), reg prometheus.Registerer,
	log *slog.Logger) *Keyring {
	k := &Keyring{
		config: c, configured: configured, read: read, log: log,
		misses: rate.NewLimiter(missesPerSecond, missesBurst), now: time.Now,
		reads: prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: "ringwatch_account_key_reads_total",
				Help: "Readings of the stored API keys, by result."}, []string{"result"}),
	}
	k.current.Store(configured)
	for _, result := range []string{"ok", "error"} {
		k.reads.WithLabelValues(result)
	}
	reg.MustRegister(k.reads,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "ringwatch_account_keys_age_seconds",
			Help: "Age of what is known of the stored API keys; -1: they were never read, or are " +
				"not used."}, func() float64 {
			if at := k.known.Load(); at > 0 {
				return k.now().Sub(time.Unix(0, at)).Seconds()
			}
			return -1
		}))
	return k
}

// Run reads the stored keys every KeyringConfig.Refresh until ctx ends.
func (k *Keyring) Run(ctx context.Context) error {
	if !k.config.Stored {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(k.config.Refresh)
	defer tick.Stop()
	for {
		k.refresh(ctx, k.now(), false)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Authenticate is Registry.Authenticate with the stored keys. The error may also be ErrKeysAway.
// It waits for the store only for a key that nobody knows, no longer than ctx, and not while the
// store is known to be away.
func (k *Keyring) Authenticate(ctx context.Context, key string) (Principal, error) {
	p, err := k.current.Load().Authenticate(ctx, key)
	if !k.config.Stored || !errors.Is(err, ErrUnknownKey) || KeyID(key) == "" ||
		errors.As(err, new(wrongSecret)) {
		return p, err
	}
	if !k.failed.Load() {
		// Others wait for the same reading, so it goes on when this request ends.
		since, done := k.now(), make(chan struct{})
		go func() {
			defer close(done)
			k.refresh(context.WithoutCancel(ctx), since, true)
		}()
		select {
		case <-done:
		case <-ctx.Done():
			return Principal{}, ErrKeysAway
		}
		if p, err = k.current.Load().Authenticate(ctx, key); !errors.Is(err, ErrUnknownKey) {
			return p, err
		}
	}
	if k.failed.Load() || k.known.Load() == 0 {
		return Principal{}, ErrKeysAway
	}
	return p, err
}

// Learn reads the stored keys now: one that this process has written works here from then on.
func (k *Keyring) Learn(ctx context.Context) { k.refresh(ctx, k.now(), false) }

// refresh reads the stored keys, unless another has begun that after since. For a missed key it
// does not try what has just failed for another one, and not too often. Many that miss one at once,
// as a page's first requests do, take one reading together.
func (k *Keyring) refresh(ctx context.Context, since time.Time, missed bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.began.After(since) ||
		missed && (k.failed.Load() || !k.misses.AllowN(k.now(), 1)) {
		return
	}
	k.began = k.now()
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	stored, err := k.read(ctx)
	if err != nil {
		if ctx.Err() == context.Canceled {
			return
		}
		k.reads.WithLabelValues("error").Inc()
		if !k.failed.Swap(true) {
			k.log.Warn("the stored API keys cannot be read; the keys that are known stay in use",
				"error", err)
		}
		return
	}
	k.reads.WithLabelValues("ok").Inc()
	if k.failed.Swap(false) {
		k.log.Info("the stored API keys can be read again")
	}
	registry, errs := k.configured.With(stored)
	if wrong := sentence(errs); wrong != k.wrong {
		if k.wrong = wrong; wrong != "" {
			k.log.Warn("some stored API keys cannot be used", "why", wrong)
		}
	}
	k.audit(stored)
	k.current.Store(registry)
	k.known.Store(k.began.UnixNano())
}

// audit tells the log what has changed since the last reading, so that a process's log shows
// since when it knows.
func (k *Keyring) audit(stored []StoredKey) {
	seen := make(map[string]StoredKey, len(stored))
	for _, s := range stored {
		if s.SessionOf != "" {
			continue // people sign in all day
		}
		seen[s.ID] = s
		before, known := k.stored[s.ID]
		if k.stored == nil { // the first reading: nothing is news
			continue
		}
		if !known {
			k.log.Info("API key created", "account", s.Account, "key", s.ID, "name", s.Name,
				"scopes", s.Scopes, "by", s.CreatedBy, "at", s.Created)
		}
		if before.Revoked.IsZero() && !s.Revoked.IsZero() {
			k.log.Info("API key revoked", "account", s.Account, "key", s.ID, "name", s.Name,
				"by", s.RevokedBy, "at", s.Revoked)
		}
	}
	k.stored = seen
}

func sentence(errs []error) string {
	var list []string
	for _, err := range errs {
		list = append(list, err.Error())
	}
	return strings.Join(list, "; ")
}
