package account

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits of a Door. A person who mistypes a key never meets them.
const (
	failuresPerMinute = 10
	failuresBurst     = 20
	// doorAddresses bounds the memory to a few MB, whatever the number of remote addresses.
	doorAddresses = 20_000
	// rememberedKeys is how many different wrong keys of an address count once only, see Door.
	rememberedKeys = 8
)

// TooManyError says that an address has tried too many wrong keys.
type TooManyError struct {
	After time.Duration // when it may try again
}

// Error implements error.
func (e *TooManyError) Error() string {
	return fmt.Sprintf("too many wrong API keys from this address: try again in %s", e.After.Round(time.Second))
}

// Door admits HTTP requests by their key and slows down who guesses keys: each remote address may try 20 wrong keys at once and 10 a
// minute after that; beyond that its requests are refused unread, with a right key too. A wrong key that comes again and
// again counts once: that is an agent with an old configuration, and must not shut out others behind the same address.
//
// A proxy in front makes all clients one address; then the proxy must do the limiting.
type Door struct {
	authenticate func(key string) (Principal, error)
	now          func() time.Time

	mu sync.Mutex
	// Two generations bound the map without a list: when the young one is full it becomes the old one, and what nobody asks for in
	// a whole generation is forgotten.
	young, old map[netip.Prefix]*visitor
}

type visitor struct {
	failures *rate.Limiter
	wrong    [][sha256.Size]byte // the last few wrong keys' digests
}

// NewDoor returns a Door that asks authenticate whose key it is, as Registry.Authenticate does.
func NewDoor(authenticate func(key string) (Principal, error)) *Door {
	return &Door{authenticate: authenticate, now: time.Now, young: map[netip.Prefix]*visitor{}}
}

// Admit returns who r comes from. The error is ErrNoKey, *TooManyError or authenticate's.
func (d *Door) Admit(r *http.Request) (Principal, error) {
	key, err := FromRequest(r)
	if err != nil {
		return Principal{}, err // no guess
	}
	address := network(r.RemoteAddr)
	if after := d.shut(address); after > 0 {
		return Principal{}, &TooManyError{After: after}
	}
	p, err := d.authenticate(key)
	if err != nil {
		d.failed(address, sha256.Sum256([]byte(key)))
	}
	return p, err
}

// network is what counts as one visitor: an IPv4 address, or the /64 that one IPv6 host can choose its addresses from.
func network(remote string) netip.Prefix {
	ap, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{} // all unknown addresses are one visitor
	}
	a := ap.Addr().Unmap().WithZone("")
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

// shut returns how long the address must wait, 0 if it need not.
func (d *Door) shut(address netip.Prefix) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	v := d.visitor(address)
	if v == nil {
		return 0
	}
	tokens := v.failures.TokensAt(d.now())
	if tokens >= 1 {
		return 0
	}
	return time.Duration((1 - tokens) / float64(v.failures.Limit()) * float64(time.Second))
}

func (d *Door) failed(address netip.Prefix, digest [sha256.Size]byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v := d.visitor(address)
	if v == nil {
		v = &visitor{failures: rate.NewLimiter(failuresPerMinute/60.0, failuresBurst)}
		d.keep(address, v)
	}
	if slices.Contains(v.wrong, digest) {
		return
	}
	if len(v.wrong) == rememberedKeys {
		v.wrong = slices.Delete(v.wrong, 0, 1)
	}
	v.wrong = append(v.wrong, digest)
	v.failures.AllowN(d.now(), 1)
}

// visitor returns what is known of the address, or nil. The caller holds d.mu.
func (d *Door) visitor(address netip.Prefix) *visitor {
	if v := d.young[address]; v != nil {
		return v
	}
	v := d.old[address]
	if v != nil {
		delete(d.old, address)
		d.keep(address, v)
	}
	return v
}

// keep remembers v. The caller holds d.mu.
func (d *Door) keep(address netip.Prefix, v *visitor) {
	if len(d.young) >= doorAddresses/2 {
		d.old, d.young = d.young, map[netip.Prefix]*visitor{}
	}
	d.young[address] = v
}
