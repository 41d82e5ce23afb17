package account

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// shelf is what a keyring reads.
type shelf struct {
	mu    sync.Mutex
	keys  []StoredKey
	away  bool
	reads int
}

func (s *shelf) read(context.Context) ([]StoredKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reads++; s.away {
		return nil, errors.New("away")
	}
	return append([]StoredKey(nil), s.keys...), nil
}

func (s *shelf) with(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *shelf) put(key, account string, change ...func(*StoredKey)) {
	k := StoredKey{ID: KeyID(key), Account: account, Name: "n-" + strings.ToLower(KeyID(key)),
		SHA256: Hash(key), Scopes: []Scope{Read}, Created: time.Unix(1, 0), CreatedBy: "eve@desk"}
	for _, f := range change {
		f(&k)
	}
	s.with(func() { s.keys = append(s.keys, k) })
}

func TestKeyring(t *testing.T) {
	configured, old := "rw_"+strings.Repeat("c", 32), "rw_"+strings.Repeat("o", 32)
	registry, err := NewRegistry([]Account{{Name: "acme", Clusters: []string{"prod-*"}, Keys: []Key{
		{Name: "c", Key: configured, Scopes: []Scope{Write}},
		{Name: "o", Key: old, Scopes: []Scope{Read}, Networks: []string{"10.0.0.0/8"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s := &shelf{away: true}
	ring := NewKeyring(DefaultKeyringConfig(), registry, s.read, prometheus.NewRegistry(),
		slog.New(slog.NewTextHandler(&log, nil)))
	now := time.Unix(1_000_000, 0)
	ring.now = func() time.Time { return now }
	registry.now = ring.now
	later := func(d time.Duration) { now = now.Add(d) }
	refresh := func() { later(time.Millisecond); ring.refresh(t.Context(), now, false) }

	first, second := NewKey(), NewKey()
	s.put(first, "acme")
	if p, err := ring.Authenticate(t.Context(), configured); err != nil || p.KeyName != "c" {
		t.Errorf("a configured key while the store was never read: %+v, %v", p, err)
	}
	if _, err := ring.Authenticate(t.Context(), first); !errors.Is(err, ErrKeysAway) {
		t.Errorf("a stored key while the store was never read: %v", err)
	}
	reads := s.reads
	if _, err := ring.Authenticate(t.Context(), first); !errors.Is(err, ErrKeysAway) ||
		s.reads != reads {
		t.Errorf("while the store is known to be away: %v, it was read %d times", err,
			s.reads-reads)
	}
	s.with(func() { s.away = false })
	refresh()
	p, err := ring.Authenticate(t.Context(), first)
	if err != nil || p.Account != "acme" || p.KeyID != KeyID(first) || !p.Can(Read) ||
		!p.Owns("prod-1") || p.Owns("x") {
		t.Fatalf("%+v, %v", p, err)
	}
	s.put(second, "acme", func(k *StoredKey) { k.Expires = now.Add(time.Minute) })
	later(time.Second)
	if _, err := ring.Authenticate(t.Context(), second); err != nil {
		t.Errorf("a key that is younger than the last reading: %v", err)
	}
	// Revoked: good until the next reading, and for as long as the store is away.
	s.with(func() { s.keys[0].Revoked, s.keys[0].RevokedBy = now, "adam@desk"; s.away = true })
	refresh()
	if _, err := ring.Authenticate(t.Context(), first); err != nil {
		t.Errorf("while the store is away: %v", err)
	}
	if _, err := ring.Authenticate(t.Context(), NewKey()); !errors.Is(err, ErrKeysAway) {
		t.Errorf("a key that may be new while the store is away: %v", err)
	}
	if _, err := ring.Authenticate(t.Context(), "rw_nobody"); !errors.Is(err, ErrUnknownKey) ||
		errors.Is(err, ErrKeysAway) {
		t.Errorf("a key that cannot be a stored one: %v", err)
	}
	s.with(func() { s.away = false })
	refresh()
	if _, err := ring.Authenticate(t.Context(), first); !errors.Is(err, ErrRevoked) {
		t.Errorf("revoked: %v", err)
	}
	later(time.Minute)
	if _, err := ring.Authenticate(t.Context(), second); !errors.Is(err, ErrExpired) {
		t.Errorf("expired: %v", err)
	}
	for _, want := range []string{"API key created", "API key revoked", KeyID(first), KeyID(second),
		"by=adam@desk", "by=eve@desk", "cannot be read", "can be read again"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has nothing of %q:\n%s", want, log.String())
		}
	}
	for _, secret := range []string{first, second, Hash(first)} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log has a secret:\n%s", log.String())
		}
	}

	// Rows that nobody could have written rightly are left out, and said.
	broken := NewKey()
	s.put(broken, "acme", func(k *StoredKey) { k.Networks = []string{"everywhere"} })
	s.put(NewKey(), "nobody")
	s.put(NewKey(), "acme", func(k *StoredKey) { k.Scopes = nil })
	s.put(NewKey(), "acme", func(k *StoredKey) { k.SHA256 = "aa" })
	refresh()
	if _, err := ring.Authenticate(t.Context(), broken); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("a key whose networks cannot be read: %v", err)
	}
	for _, want := range []string{"everywhere", `account \"nobody\"`, "no scopes",
		"64 hex digits"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has nothing of %q:\n%s", want, log.String())
		}
	}

	// Guessing does not make the store be read more often than once a second.
	before := s.reads
	for range 100 {
		if _, err := ring.Authenticate(t.Context(), NewKey()); !errors.Is(err, ErrUnknownKey) {
			t.Fatal(err)
		}
	}
	if n := s.reads - before; n < 1 || n > missesBurst {
		t.Errorf("100 guesses made the store be read %d times", n)
	}
	// Run reads by itself.
	ring.config.Refresh = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- ring.Run(ctx) }()
	before = 0
	s.with(func() { before = s.reads })
	for n, deadline := before, time.Now().Add(time.Minute); n < before+3; s.with(func() {
		n = s.reads
	}) {
		if time.Now().After(deadline) {
			t.Fatal("Run reads nothing")
		}
		<-time.After(time.Millisecond)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestManyMissOneKeyAtOnce: the first requests of a page come together, with a session that the
// process does not know. All are let in, and who signs in next is, too.
func TestManyMissOneKeyAtOnce(t *testing.T) {
	s := &shelf{}
	r, err := NewRegistry([]Account{{Name: "acme"}})
	if err != nil {
		t.Fatal(err)
	}
	reads := 0
	ring := NewKeyring(DefaultKeyringConfig(), r, func(ctx context.Context) ([]StoredKey, error) {
		reads++                             // one reading at a time
		<-time.After(20 * time.Millisecond) // as long as a store takes: the others miss meanwhile
		return s.read(ctx)
	}, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	for range missesBurst / 2 {
		key := NewKey()
		s.put(key, "acme")
		var page sync.WaitGroup
		for range 4 * missesBurst {
			page.Go(func() {
				if _, err := ring.Authenticate(t.Context(), key); err != nil {
					t.Error(err)
				}
			})
		}
		page.Wait()
	}
	if reads > missesBurst {
		t.Errorf("the store was read %d times", reads)
	}
	written := NewKey()
	s.put(written, "acme")
	ring.Learn(t.Context())
	before := reads
	if _, err := ring.Authenticate(t.Context(), written); err != nil || reads > before {
		t.Errorf("what this process has written: %v, %d readings more", err, reads-before)
	}
}

// TestKeyringWaitsNoLongerThanItsRequest: the reading that a request has begun goes on for others.
func TestKeyringWaitsNoLongerThanItsRequest(t *testing.T) {
	registry, err := NewRegistry([]Account{{Name: "acme"}})
	if err != nil {
		t.Fatal(err)
	}
	key := NewKey()
	s := &shelf{}
	s.put(key, "acme")
	asked, answer := make(chan context.Context), make(chan struct{})
	ring := NewKeyring(DefaultKeyringConfig(), registry,
		func(ctx context.Context) ([]StoredKey, error) {
			asked <- ctx
			<-answer
			return s.read(ctx)
		}, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := ring.Authenticate(ctx, key)
		left <- err
	}()
	reading := <-asked
	leave()
	if err := <-left; !errors.Is(err, ErrKeysAway) {
		t.Errorf("a request that ended while the store was read: %v", err)
	}
	if err := reading.Err(); err != nil {
		t.Errorf("the reading ended with the request: %v", err)
	}
	close(answer)
	for deadline := time.Now().Add(time.Minute); ; <-time.After(time.Millisecond) {
		if _, err := ring.current.Load().Authenticate(t.Context(), key); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("what was read is not known")
		}
	}
}

func TestNetworks(t *testing.T) {
	key := "rw_" + strings.Repeat("n", 32)
	r, err := NewRegistry(
		[]Account{{Name: "a",
			Keys: []Key{{Name: "k", Key: key, Scopes: []Scope{Read},
				Networks: []string{"10.1.0.0/16", "192.0.2.7", "2001:db8::/32"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	d := NewDoor(r.Authenticate)
	for address, want := range map[string]error{
		"10.1.2.3:9": nil, "192.0.2.7:9": nil, "[2001:db8::1]:9": nil, "[::ffff:10.1.2.3]:9": nil,
		"10.2.0.1:9": ErrNetwork, "192.0.2.8:9": ErrNetwork, "[2001:db9::1]:9": ErrNetwork,
		"nowhere": ErrNetwork,
	} {
		if _, err := d.Admit(request(address, "Bearer "+key)); !errors.Is(err, want) {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := ParseNetworks([]string{"10.0.0.0/33", "fe80::1%eth0", "x",
		"::ffff:10.0.0.0/104"}); err == nil || strings.Count(err.Error(), "network ") != 4 {
		t.Errorf("wrong networks: %v", err)
	}
}

// TestDoorByKey: guessing at one key from many addresses is stopped, and shuts out nobody who has
// used it.
func TestDoorByKey(t *testing.T) {
	good, other := NewKey(), NewKey()
	configured, err := NewRegistry([]Account{{Name: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	s := &shelf{}
	s.put(good, "a")
	s.put(other, "a")
	r, errs := configured.With(s.keys)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	d := NewDoor(r.Authenticate)
	now := time.Unix(1_000_000, 0)
	d.now = func() time.Time { return now }
	reg := prometheus.NewRegistry()
	reg.MustRegister(d)
	admit := func(address, key string) error {
		_, err := d.Admit(request(address, "Bearer "+key))
		return err
	}
	if err := admit("10.0.0.1:1", good); err != nil {
		t.Fatal(err)
	}
	for i := range failuresBurst {
		guess := KeyPrefix + KeyID(good) + "_" + NewKey()[14:]
		if err := admit(fmt.Sprintf("10.1.0.%d:1", i), guess); !errors.Is(err, ErrUnknownKey) {
			t.Fatal(i, err)
		}
	}
	var tooMany *TooManyError
	if err := admit("10.2.0.1:1", good); !errors.As(err, &tooMany) ||
		tooMany.KeyID != KeyID(good) || tooMany.After <= 0 || strings.Contains(err.Error(), good) {
		t.Fatalf("an address that has not used the key: %v", err)
	}
	if err := admit("10.0.0.1:1", good); err != nil {
		t.Errorf("an address that has used the key: %v", err)
	}
	if err := admit("10.2.0.1:1", other); err != nil {
		t.Errorf("another key: %v", err)
	}
	now = now.Add(tooMany.After + time.Millisecond)
	if err := admit("10.2.0.1:1", good); err != nil {
		t.Errorf("after the wait: %v", err)
	}
	for range 3 * doorKeys {
		_ = admit("10.3.0.1:1", NewKey())
		now = now.Add(time.Minute)
	}
	if n := d.keys.len(); n > 2 {
		t.Errorf("%d keys are remembered where there are 2", n)
	}
	families, err := reg.Gather()
	if err != nil || len(families) != 1 {
		t.Fatal(families, err)
	}
	counts := map[string]float64{}
	for _, m := range families[0].Metric {
		counts[m.Label[0].GetValue()] = m.GetCounter().GetValue()
	}
	if counts["admitted"] != 4 || counts["too_many"] != 1 ||
		counts["unknown"] != failuresBurst+3*doorKeys {
		t.Error(counts)
	}
}
