// Package account decides who may do what: accounts own clusters and hold API keys. Begin with
// Door, which says who sends a request. It imports none of our packages.
//
// What it promises:
//   - A key's text is never kept, compared or printed; only its SHA-256 digest is.
//   - A Principal knows nothing of another account's clusters.
//   - Guessing keys is slowed, by remote address and by key.
//   - A key that is revoked in the store stops in every process within KeyringConfig.Refresh and
//     one reading of the store.
//
// What bites: two accounts may both own a cluster named "prod". So whatever is stored has the
// account's name beside the cluster's.
package account

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Why a request was not admitted.
var (
	// ErrNoKey says that a request carries no key.
	ErrNoKey = errors.New("no API key: send it as \"Authorization: Bearer rw_…\" or as the " +
		"password of HTTP Basic")
	// ErrUnknownKey says that no account has the key.
	ErrUnknownKey = errors.New("unknown API key: check it for missing characters, or ask " +
		"for a new one")
	// ErrExpired says that the key is right and its time is over.
	ErrExpired = errors.New("expired API key: ask for a new one")
	// ErrRevoked says that the key is right and was revoked.
	ErrRevoked = errors.New("revoked API key: ask for a new one")
	// ErrNetwork says that the key is right and may not be used from the request's address.
	ErrNetwork = errors.New("this API key does not allow your address: use it from the networks " +
		"that it was made for, or ask for another key")
	// ErrKeysAway says that nobody here knows the key and the store that may know it cannot be
	// read.
	ErrKeysAway = errors.New("the API key cannot be checked now: try again later")
)

// Scope is one thing that a key allows.
type Scope string

// The scopes.
const (
	Read  Scope = "read"  // the API's answers
	Write Scope = "write" // frames to ingest
	Rules Scope = "rules" // changing the account's rules
	Admin Scope = "admin" // keys, of all scopes; by itself it implies none of the others
)

// Operator is written for all scopes together. No key has it: NamedScopes puts them in its place.
const Operator Scope = "operator"

var scopes = []Scope{Read, Write, Rules, Admin}

// Principal is who a request comes from. The zero Principal may do nothing and owns nothing.
type Principal struct {
	Account string
	KeyName string
	KeyID   string // empty for a key of the configuration
	Scopes  []Scope
	Session string // the id of the session that the request came with; empty: the key itself

	clusters []string       // globs
	networks []netip.Prefix // where the key may be used; none: anywhere
	expires  time.Time      // zero: never
	bound    bound          // what it may be used for
}

// Clusters returns the globs of the clusters that the key is for: those that it is limited to, or
// else all that the account owns.
func (p Principal) Clusters() []string {
	if len(p.bound.clusters) > 0 {
		return slices.Clone(p.bound.clusters)
	}
	return slices.Clone(p.clusters)
}

// Sight tells keys of an account apart that do not see the same clusters, for whoever keeps
// answers.
func (p Principal) Sight() string {
	return fmt.Sprintf("%q %q", slices.Sorted(slices.Values(p.clusters)),
		slices.Sorted(slices.Values(p.bound.clusters)))
}

// Limited reports whether the key is for some of the account's clusters only.
func (p Principal) Limited() bool { return len(p.bound.clusters) > 0 }

// Networks returns where the key may be used, as CIDR; none: anywhere.
func (p Principal) Networks() []string {
	var list []string
	for _, n := range p.networks {
		list = append(list, n.String())
	}
	return list
}

// Expires returns when the key ends; the zero time: never.
func (p Principal) Expires() time.Time { return p.expires }

// Inside is who asks where a process itself reads for an account, without a key: it sees the
// clusters that globs name, all of the account's without any, and may do nothing else.
func Inside(name string, globs ...string) Principal {
	if len(globs) == 0 {
		globs = []string{"*"}
	}
	return Principal{Account: name, KeyName: "inside", Scopes: []Scope{Read},
		clusters: slices.Clone(globs)}
}

// Key names the key for logs: its id and its name.
func (p Principal) Key() string {
	if p.KeyID == "" {
		return p.KeyName
	}
	return p.KeyID + "/" + p.KeyName
}

// from reports whether the key may be used from that address. An address that cannot be read is
// in no network.
func (p Principal) from(a netip.Addr) bool {
	return len(p.networks) == 0 || slices.ContainsFunc(p.networks, func(n netip.Prefix) bool {
		return n.Contains(a)
	})
}

// Can reports whether the key allows s.
func (p Principal) Can(s Scope) bool { return slices.Contains(p.Scopes, s) }

// Owns reports whether the key is for the cluster of that name: the account owns it, and the key is
// not limited to others.
func (p Principal) Owns(cluster string) bool {
	return anyMatch(p.clusters, cluster) && p.within(cluster)
}

func anyMatch(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool { return match(glob, name) })
}

var namePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// CheckName reports what is wrong with an account's or a key's name. Names have no slash, so
// account + "/" + cluster is unambiguous.
func CheckName(name string) error {
	if !namePattern.MatchString(name) {
		return fmt.Errorf("name %q: use 1 to 63 characters of a-z, 0-9 and -, and do not "+
			"begin with -", name)
	}
	return nil
}

// match reports whether all of name fits the glob: * stands for any run of bytes, also none,
// everything else for itself. path.Match would not let * cross a slash, which a cluster's name
// may have.
func match(glob, name string) bool {
	first, rest, star := strings.Cut(glob, "*")
	if !star {
		return glob == name
	}
	if !strings.HasPrefix(name, first) {
		return false
	}
	name = name[len(first):]
	for {
		var part string
		part, rest, star = strings.Cut(rest, "*")
		if !star {
			return strings.HasSuffix(name, part)
		}
		// The leftmost place is as good as any: what follows is another run of anything.
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
}
