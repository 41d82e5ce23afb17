package account

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// StoredKey is an API key as the store keeps it. Rows are never deleted, so together they are the
// record of who made and who revoked which key, and when.
type StoredKey struct {
	ID       string // KeyID of the key
	Account  string // one of the configuration's
	Name     string
	SHA256   string // Hash of the key
	Scopes   []Scope
	Networks []string  // CIDR; none: anywhere
	Expires  time.Time // zero: never
	// globs of those that the key may read and write; none: all of the account's
	Clusters []string
	// the one node whose frames it may write; FirstNode: the one that first uses it; empty: all
	Node string
	// Hash of the key that a session is of; empty: this is a key. A session may do what its key may
	// do then.
	SessionOf string

	Created   time.Time
	CreatedBy string
	Revoked   time.Time // zero: it was not
	RevokedBy string
}

// The states of a key.
const (
	StateActive  = "active"
	StateExpired = "expired"
	StateRevoked = "revoked"
)

// State tells whether the key can be used at that time.
func (k *StoredKey) State(now time.Time) string {
	switch {
	case !k.Revoked.IsZero():
		return StateRevoked
	case !k.Expires.IsZero() && !now.Before(k.Expires):
		return StateExpired
	}
	return StateActive
}

// With returns a registry that knows the stored keys as well, and what is wrong with those that
// it left out. A key of the configuration wins over a stored one of the same text.
func (r *Registry) With(stored []StoredKey) (*Registry, []error) {
	more := &Registry{accounts: r.accounts, keys: maps.Clone(r.keys), ids: maps.Clone(r.ids),
		now: r.now}
	for bucket, list := range more.keys {
		more.keys[bucket] = slices.Clip(list) // so that adding copies
	}
	var errs []error
	for i := range stored {
		k := &stored[i]
		clusters, known := r.accounts[k.Account]
		if !known {
			errs = append(errs,
				fmt.Errorf("key %s: account %q is not in the configuration: add it, or revoke "+
					"the key", k.ID, k.Account))
			continue
		}
		digest, err := parseDigest(k.SHA256)
		if err == nil && k.SessionOf != "" {
			of, err := parseDigest(k.SessionOf)
			if err == nil && more.find(digest) == nil {
				more.add(entry{digest: digest, expires: k.Expires, revoked: !k.Revoked.IsZero(),
					session: k.ID, of: of})
			}
			continue // one that cannot be read signs nobody in
		}
		var scopes []Scope
		if err == nil {
			scopes, err = NamedScopes(k.Scopes)
		}
		networks, wrong := ParseNetworks(k.Networks)
		if err == nil {
			err = wrong // without its networks a key would be good anywhere
		}
		if err == nil {
			err = CheckBinding(k.Clusters, k.Node, scopes)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("key %s of account %s: %w", k.ID, k.Account, err))
			continue
		}
		if more.find(digest) != nil {
			continue
		}
		principal := Principal{Account: k.Account, KeyName: k.Name, KeyID: k.ID, Scopes: scopes,
			clusters: clusters, networks: networks, bound: newBound(k.Clusters, k.Node, k.ID)}
		more.add(entry{digest: digest, principal: principal, expires: k.Expires,
			revoked: !k.Revoked.IsZero()})
	}
	return more, errs
}
