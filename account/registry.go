package account

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Account is one account as configured.
type Account struct {
	Name     string   `yaml:"name"`     // [a-z0-9][a-z0-9-]{0,62}
	Clusters []string `yaml:"clusters"` // globs of the cluster names it owns, * for any run of characters; none: all names
	Keys     []Key    `yaml:"keys"`
}

// Key is one API key as configured. Exactly one of SHA256 and Key is set.
type Key struct {
	Name    string    `yaml:"name"`    // for logs and revocation, like an account's name
	SHA256  string    `yaml:"sha256"`  // 64 hex digits, as Hash gives them
	Key     string    `yaml:"key"`     // the key itself, for configurations that fill it in from the environment
	Scopes  []Scope   `yaml:"scopes"`  // at least one
	Expires time.Time `yaml:"expires"` // zero: never
}

// String leaves the secrets out, so that a dump of the configuration shows none.
func (k Key) String() string { return fmt.Sprintf("key %s %v (redacted)", k.Name, k.Scopes) }

// GoString is String: %#v shows no secret either.
func (k Key) GoString() string { return k.String() }

// Registry knows the accounts of a configuration. It does not change, so it is safe for concurrent use.
type Registry struct {
	// Looking a digest up in a map is not constant-time, and need not be: an attacker does not choose digests, only keys, and learns
	// at best a prefix of the SHA-256 of a key, from which no key follows.
	keys map[[sha256.Size]byte]entry
	now  func() time.Time
}

type entry struct {
	principal Principal
	expires   time.Time
}

// NewRegistry checks the accounts and reports everything wrong with them at once. No error names a key's text.
func NewRegistry(accounts []Account) (*Registry, error) {
	r := &Registry{keys: map[[sha256.Size]byte]entry{}, now: time.Now}
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	names := map[string]bool{}
	for i, a := range accounts {
		if err := CheckName(a.Name); err != nil {
			bad("account %d: %w", i+1, err)
		} else if names[a.Name] {
			bad("account %s: it is there twice, join the two", a.Name)
		}
		names[a.Name] = true
		clusters := a.Clusters
		if len(clusters) == 0 {
			clusters = []string{"*"}
		}
		if slices.Contains(clusters, "") {
			bad("account %s: a cluster's name is empty, write * for all", a.Name)
		}
		keyNames := map[string]bool{}
		for j, k := range a.Keys {
			if err := CheckName(k.Name); err != nil {
				bad("account %s: key %d: %w", a.Name, j+1, err)
			} else if keyNames[k.Name] {
				bad("account %s: key %s is there twice, rename one", a.Name, k.Name)
			}
			keyNames[k.Name] = true
			for _, s := range k.Scopes {
				if !slices.Contains(scopes, s) {
					bad("account %s: key %s: unknown scope %q, there are read, write and admin", a.Name, k.Name, s)
				}
			}
			if len(k.Scopes) == 0 {
				bad("account %s: key %s: it has no scopes, name at least one of read, write and admin", a.Name, k.Name)
			}
			digest, err := k.digest()
			if err != nil {
				bad("account %s: key %s: %w", a.Name, k.Name, err)
				continue
			}
			if other, ok := r.keys[digest]; ok {
				bad("account %s: key %s is the same key as %s of account %s, make a new one", a.Name, k.Name, other.principal.KeyName, other.principal.Account)
			}
			r.keys[digest] = entry{Principal{Account: a.Name, KeyName: k.Name, Scopes: slices.Clone(k.Scopes), clusters: slices.Clone(clusters)}, k.Expires}
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return r, nil
}

func (k *Key) digest() (d [sha256.Size]byte, err error) {
	switch {
	case (k.SHA256 == "") == (k.Key == ""):
		return d, errors.New("set one of sha256 and key")
	case k.Key == "":
		if n, err := hex.Decode(d[:], []byte(k.SHA256[:min(len(k.SHA256), 2*len(d))])); err != nil || n != len(d) || len(k.SHA256) != 2*len(d) {
			return d, errors.New("sha256 is not 64 hex digits")
		}
		return d, nil
	case !strings.HasPrefix(k.Key, KeyPrefix) || len(k.Key) < len(KeyPrefix)+16:
		return d, errors.New("key does not begin with rw_ or has fewer than 16 characters after it")
	}
	return sha256.Sum256([]byte(k.Key)), nil
}

// Authenticate returns whose key it is. The error is ErrUnknownKey or ErrExpired.
func (r *Registry) Authenticate(key string) (Principal, error) {
	e, ok := r.keys[sha256.Sum256([]byte(key))]
	switch {
	case !ok:
		return Principal{}, ErrUnknownKey
	case !e.expires.IsZero() && !r.now().Before(e.expires):
		return Principal{}, ErrExpired
	}
	return e.principal, nil
}
