package account

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
)

// Limits of a Door. A person who mistypes a key never meets them.
const (
	failuresPerMinute = 10
	failuresBurst     = 20
	// doorAddresses and doorKeys bound the memory to a few MB, whatever the number of remote
	// addresses.
	doorAddresses = 20_000
	doorKeys      = 5_000
	// rememberedWrong is how many different wrong keys of an address count once only, see Door.
	rememberedWrong = 8
	// rememberedUsers is how many addresses of a key stay admitted while others guess at it.
	rememberedUsers = 32
)

// TooManyError says that too many wrong keys were tried: from an address, or for a key's id.
type TooManyError struct {
	After time.Duration // when to try again
	KeyID string        // empty: from this address
}

// Error implements error.
func (e *TooManyError) Error() string {
	if e.KeyID != "" {
		return fmt.Sprintf("too many wrong API keys with the id %s: try again in %s, or from an "+
			"address that has used it", e.KeyID, e.After.Round(time.Second))
	}
	return fmt.Sprintf("too many wrong API keys from this address: try again in %s",
		e.After.Round(time.Second))
}

// Door admits HTTP requests by their key, and slows down guessing.
//
//   - By address: a remote address may try 20 wrong keys at once, and then 10 a minute. Beyond that
//     its requests are refused unread, also those with a right key.
//   - By key: all addresses together may try as many wrong keys with one key's id. Beyond that only
//     addresses that have used the key are let through, so that guessing does not shut them out.
//   - A wrong key that comes again and again counts once. It is an agent with an old configuration,
//     and must not shut out others behind the same address.
//
// The address is http.Request.RemoteAddr. Behind a proxy all clients have one address, unless
// something before the Door puts the client's own there, as listener.Observer does for trusted
// proxies.
type Door struct {
	authenticate func(ctx context.Context, key string) (Principal, error)
	now          func() time.Time
	results      *prometheus.CounterVec

	mu        sync.Mutex
	addresses remembered[netip.Prefix, *guesses]
	keys      remembered[string, *guesses] // by id; only of keys that there are
}

// guesses is what is remembered of an address, or of a key's id.
type guesses struct {
	failures *rate.Limiter
	wrong    [][sha256.Size]byte // the last few wrong keys' digests
	users    []netip.Prefix      // of a key: the last few addresses that were admitted
}

func newGuesses() *guesses {
	return &guesses{failures: rate.NewLimiter(failuresPerMinute/60.0, failuresBurst)}
}

// wait returns how long to refuse, 0 for not at all.
func (g *guesses) wait(now time.Time) time.Duration {
	tokens := g.failures.TokensAt(now)
	if tokens >= 1 {
		return 0
	}
	return time.Duration((1 - tokens) / float64(g.failures.Limit()) * float64(time.Second))
}

func (g *guesses) count(now time.Time, digest [sha256.Size]byte) {
	if slices.Contains(g.wrong, digest) {
		return
	}
	if len(g.wrong) == rememberedWrong {
		g.wrong = slices.Delete(g.wrong, 0, 1)
	}
	g.wrong = append(g.wrong, digest)
	g.failures.AllowN(now, 1)
}

// NewDoor returns a Door that asks authenticate whose key it is, as Registry.Authenticate and
// Keyring.Authenticate do.
func NewDoor(authenticate func(ctx context.Context, key string) (Principal, error)) *Door {
	d := &Door{
		authenticate: authenticate, now: time.Now,
		results: prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: "ringwatch_account_admissions_total",
				Help: "Requests that needed an API key, by what came of it."}, []string{"result"}),
	}
	d.addresses.limit, d.keys.limit = doorAddresses, doorKeys
	for _, o := range outcomes {
		d.results.WithLabelValues(o.name)
	}
	return d
}

// Describe implements prometheus.Collector.
func (d *Door) Describe(c chan<- *prometheus.Desc) { d.results.Describe(c) }

// Collect implements prometheus.Collector.
func (d *Door) Collect(c chan<- prometheus.Metric) { d.results.Collect(c) }

var outcomes = []struct {
	name string
	err  error
}{{"admitted", nil}, {"no_key", ErrNoKey}, {"unknown", ErrUnknownKey}, {"expired", ErrExpired},
	{"revoked", ErrRevoked}, {"network", ErrNetwork}, {"too_many", nil}, {"away", nil}}

func outcome(err error) string {
	if err == nil {
		return "admitted"
	}
	for _, o := range outcomes {
		if o.err != nil && errors.Is(err, o.err) {
			return o.name
		}
	}
	if errors.As(err, new(*TooManyError)) {
		return "too_many"
	}
	return "away"
}

// Admit returns who r comes from. The error is or wraps ErrNoKey, ErrNetwork, *TooManyError or
// authenticate's.
func (d *Door) Admit(r *http.Request) (Principal, error) {
	p, err := d.admit(r)
	d.results.WithLabelValues(outcome(err)).Inc()
	return p, err
}

func (d *Door) admit(r *http.Request) (Principal, error) {
	key, err := FromRequest(r)
	if err != nil {
		return Principal{}, err // no guess
	}
	from, address := network(r.RemoteAddr)
	if shut := d.shut(address, KeyID(key)); shut != nil {
		return Principal{}, shut
	}
	p, err := d.authenticate(r.Context(), key)
	if err != nil {
		d.failed(address, key, err)
		return Principal{}, err
	}
	if !p.from(from) {
		return Principal{}, ErrNetwork
	}
	d.used(address, p.KeyID)
	return p, nil
}

// network returns a request's address and what counts as one visitor: an IPv4 address, or the /64
// that one IPv6 host can choose its addresses from.
func network(remote string) (netip.Addr, netip.Prefix) {
	ap, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}, netip.Prefix{} // all unknown addresses are one visitor
	}
	a := ap.Addr().Unmap().WithZone("")
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return a, netip.Prefix{}
	}
	return a, p
}

// Visitor returns what counts as one sender: the IPv4 address in an http.Request.RemoteAddr, or the
// /64 of an IPv6 one. All addresses that cannot be read are one.
func Visitor(remote string) netip.Prefix {
	_, p := network(remote)
	return p
}

// shut returns why a request is refused unread, or nil.
func (d *Door) shut(address netip.Prefix, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if g, ok := d.addresses.get(address); ok {
		if after := g.wait(d.now()); after > 0 {
			return &TooManyError{After: after}
		}
	}
	if g, ok := d.keys.get(id); ok && !slices.Contains(g.users, address) {
		if after := g.wait(d.now()); after > 0 {
			return &TooManyError{After: after, KeyID: id}
		}
	}
	return nil
}

func (d *Door) failed(address netip.Prefix, key string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	digest := sha256.Sum256([]byte(key))
	g, ok := d.addresses.get(address)
	if !ok {
		g = newGuesses()
		d.addresses.put(address, g)
	}
	g.count(d.now(), digest)
	var wrong wrongSecret
	if errors.As(err, &wrong) {
		d.ofKey(wrong.id).count(d.now(), digest)
	}
}

// ofKey returns what is remembered of a key's id. The caller holds d.mu.
func (d *Door) ofKey(id string) *guesses {
	g, ok := d.keys.get(id)
	if !ok {
		g = newGuesses()
		d.keys.put(id, g)
	}
	return g
}

// used remembers an address that has used a key.
func (d *Door) used(address netip.Prefix, id string) {
	if id == "" {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.ofKey(id)
	if slices.Contains(g.users, address) {
		return
	}
	if len(g.users) == rememberedUsers {
		g.users = slices.Delete(g.users, 0, 1)
	}
	g.users = append(g.users, address)
}
