package account

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Account is one account as configured.
type Account struct {
	Name string `yaml:"name"` // [a-z0-9][a-z0-9-]{0,62}
	// globs of the cluster names it owns, * for any run of characters; none: all names
	Clusters []string `yaml:"clusters"`
	// those that live in the configuration; others are in the store, see StoredKey
	Keys []Key `yaml:"keys"`
	// Catalog is a file with the account's own entries of the catalogue, see package catalog;
	// empty: there are none.
	Catalog string `yaml:"catalog"`
	// Safe is a file with the account's own conditions for maintenance, see package safe; empty:
	// the shipped ones.
	Safe string `yaml:"safe"`
	// Advice is a file with what the account is told of its alerts, see package advice; empty: what
	// is shipped.
	Advice string `yaml:"advice"`
}

// Key is one API key as configured. Exactly one of SHA256 and Key is set.
type Key struct {
	Name   string `yaml:"name"`   // for logs and revocation, like an account's name
	SHA256 string `yaml:"sha256"` // 64 hex digits, as Hash gives them
	// the key itself, for configurations that fill it in from the environment
	Key      string    `yaml:"key"`
	Scopes   []Scope   `yaml:"scopes"`   // at least one
	Networks []string  `yaml:"networks"` // where it may be used, as CIDR; none: anywhere
	Expires  time.Time `yaml:"expires"`  // zero: never
	// globs of those that the key may read and write; none: all of the account's
	Clusters []string `yaml:"clusters"`
	// the id of the one node whose frames it may write; first: of the node that first uses it;
	// empty: of all
	Node string `yaml:"node"`
}

// String leaves the secrets out, so that a dump of the configuration shows none.
func (k Key) String() string { return fmt.Sprintf("key %s %v (redacted)", k.Name, k.Scopes) }

// GoString is String: %#v shows no secret either.
func (k Key) GoString() string { return k.String() }

// Registry knows accounts and keys. It does not change, so it is safe for concurrent use; With
// returns another one.
type Registry struct {
	accounts map[string][]string // name → globs
	// Keys are found by the first eight bytes of their digest, which is as much as the time of a
	// lookup can tell, and compared whole in constant time.
	keys map[uint64][]entry
	ids  map[string]bool // of the keys that have one
	now  func() time.Time
}

type entry struct {
	digest    [sha256.Size]byte
	principal Principal
	expires   time.Time
	revoked   bool
	session   string            // the id of a session; empty: a key
	of        [sha256.Size]byte // the digest of a session's key
}

// wrongSecret is an ErrUnknownKey whose id is that of a key.
type wrongSecret struct{ id string }

func (wrongSecret) Error() string { return ErrUnknownKey.Error() }
func (wrongSecret) Unwrap() error { return ErrUnknownKey }

// NewRegistry checks the accounts and reports everything wrong with them at once. No error names
// a key's text.
func NewRegistry(accounts []Account) (*Registry, error) {
	r := &Registry{accounts: map[string][]string{}, keys: map[uint64][]entry{},
		ids: map[string]bool{}, now: time.Now}
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for i, a := range accounts {
		_, twice := r.accounts[a.Name]
		if err := CheckName(a.Name); err != nil {
			bad("account %d: %w", i+1, err)
		} else if twice {
			bad("account %s is defined twice: join the two", a.Name)
		}
		clusters := a.Clusters
		if len(clusters) == 0 {
			clusters = []string{"*"}
		}
		if slices.Contains(clusters, "") {
			bad("account %s: the name of a cluster is empty: write * for all", a.Name)
		}
		r.accounts[a.Name] = slices.Clone(clusters)
		keyNames := map[string]bool{}
		for j, k := range a.Keys {
			if err := CheckName(k.Name); err != nil {
				bad("account %s: key %d: %w", a.Name, j+1, err)
			} else if keyNames[k.Name] {
				bad("account %s: two keys are named %s: rename one", a.Name, k.Name)
			}
			keyNames[k.Name] = true
			scopes, err := NamedScopes(k.Scopes)
			if err != nil {
				bad("account %s: key %s: %w", a.Name, k.Name, err)
			}
			networks, err := ParseNetworks(k.Networks)
			if err != nil {
				bad("account %s: key %s: %w", a.Name, k.Name, err)
			}
			if err := CheckBinding(k.Clusters, k.Node, scopes); err != nil {
				bad("account %s: key %s: %w", a.Name, k.Name, err)
				continue
			}
			digest, err := k.digest()
			if err != nil {
				bad("account %s: key %s: %w", a.Name, k.Name, err)
				continue
			}
			if other := r.find(digest); other != nil {
				bad("account %s: key %s is the same key as %s of account %s: make a new one",
					a.Name, k.Name, other.principal.KeyName, other.principal.Account)
			}
			r.add(entry{digest: digest, principal: Principal{Account: a.Name, KeyName: k.Name,
				Scopes: scopes, clusters: r.accounts[a.Name], networks: networks,
				bound: newBound(k.Clusters, k.Node, configuredID(digest[:]))}, expires: k.Expires})
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return r, nil
}

// NamedScopes returns the scopes that a list names, each once, and says what is wrong with it.
// Operator names all.
func NamedScopes(list []Scope) (named []Scope, err error) {
	var errs []error
	for _, s := range list {
		if s != Operator && !slices.Contains(scopes, s) {
			errs = append(errs, fmt.Errorf("unknown scope %q: use read, write, rules, admin, or "+
				"operator for all", s))
		}
	}
	if len(list) == 0 {
		errs = append(errs, errors.New("it has no scopes: name at least one of read, write, "+
			"rules and admin, or operator for all"))
	}
	if slices.Contains(list, Operator) {
		return slices.Clone(scopes), errors.Join(errs...)
	}
	for _, s := range list {
		if !slices.Contains(named, s) {
			named = append(named, s)
		}
	}
	return named, errors.Join(errs...)
}

// ParseNetworks reads networks as CIDR; an address alone is a network of one.
func ParseNetworks(list []string) ([]netip.Prefix, error) {
	var networks []netip.Prefix
	var errs []error
	for _, text := range list {
		p, err := netip.ParsePrefix(text)
		if a, notAddress := netip.ParseAddr(text); notAddress == nil && a.Zone() == "" {
			p, err = a.Prefix(a.BitLen())
		}
		if err != nil || p.Addr().Is4In6() {
			errs = append(errs, fmt.Errorf("network %q: write it as 10.1.0.0/16 or 2001:db8::/32",
				text))
			continue
		}
		networks = append(networks, p.Masked())
	}
	return networks, errors.Join(errs...)
}

// Accounts returns the accounts' names, sorted.
func (r *Registry) Accounts() []string { return slices.Sorted(maps.Keys(r.accounts)) }

func (r *Registry) add(e entry) {
	e.principal.expires = e.expires
	bucket := binary.BigEndian.Uint64(e.digest[:])
	r.keys[bucket] = append(r.keys[bucket], e)
	if e.principal.KeyID != "" {
		r.ids[e.principal.KeyID] = true
	}
}

func (r *Registry) find(digest [sha256.Size]byte) *entry {
	list := r.keys[binary.BigEndian.Uint64(digest[:])]
	for i := range list {
		if subtle.ConstantTimeCompare(list[i].digest[:], digest[:]) == 1 {
			return &list[i]
		}
	}
	return nil
}

func (k *Key) digest() (d [sha256.Size]byte, err error) {
	switch {
	case (k.SHA256 == "") == (k.Key == ""):
		return d, errors.New("set one of sha256 and key")
	case k.Key == "":
		return parseDigest(k.SHA256)
	case !strings.HasPrefix(k.Key, KeyPrefix) || len(k.Key) < len(KeyPrefix)+16:
		return d, errors.New("key must begin with rw_ and have at least 16 characters after it")
	}
	return sha256.Sum256([]byte(k.Key)), nil
}

func parseDigest(text string) (d [sha256.Size]byte, err error) {
	if n, err := hex.Decode(d[:], []byte(text[:min(len(text), 2*len(d))])); err != nil ||
		n != len(d) || len(text) != 2*len(d) {
		return d, errors.New("sha256 must be 64 hex digits")
	}
	return d, nil
}

// Authenticate returns whose key it is. The error is or wraps ErrUnknownKey, ErrRevoked or
// ErrExpired.
func (r *Registry) Authenticate(_ context.Context, key string) (Principal, error) {
	e := r.find(sha256.Sum256([]byte(key)))
	switch {
	case e == nil:
		if id := KeyID(key); r.ids[id] {
			return Principal{}, wrongSecret{id}
		}
		return Principal{}, ErrUnknownKey
	case e.revoked:
		return Principal{}, ErrRevoked
	case !e.expires.IsZero() && !r.now().Before(e.expires):
		return Principal{}, ErrExpired
	case e.session == "":
		return e.principal, nil
	}
	of := r.find(e.of)
	switch {
	case of == nil || of.revoked || of.session != "":
		return Principal{}, ErrRevoked
	case !of.expires.IsZero() && !r.now().Before(of.expires):
		return Principal{}, ErrExpired
	}
	p := of.principal
	p.Session = e.session
	return p, nil
}
