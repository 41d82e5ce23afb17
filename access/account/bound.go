package account

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"
)

// FirstNode is the node of a key that is bound to the node that first uses it.
const FirstNode = "first"

// bound is what a key is bound to, beside its account.
type bound struct {
	clusters []string  // globs; none: all that the account owns
	node     uuid.UUID // zero: see first
	first    bool      // the node that first uses it; neither: all nodes
	id       string    // of the key, where its first node is remembered
}

// CheckBinding reports what is wrong with what a key is bound to: globs of clusters, and a node's
// id, FirstNode or "".
func CheckBinding(clusters []string, node string, scopes []Scope) error {
	var errs []error
	if slices.Contains(clusters, "") {
		errs = append(errs,
			errors.New("the name of a cluster is empty: leave clusters out to allow all"))
	}
	if node != "" && node != FirstNode {
		if id, err := uuid.Parse(node); err != nil || id == uuid.Nil {
			errs = append(errs, fmt.Errorf(
				"node %q: write the node's id as /v1/nodes shows it, or %s", node, FirstNode))
		}
	}
	if len(clusters) > 0 && slices.ContainsFunc(scopes, func(s Scope) bool {
		return s != Read && s != Write
	}) {
		errs = append(errs, errors.New("rules and keys are of the whole account: give a key that "+
			"is limited to clusters the scopes read and write only"))
	}
	if node != "" && !slices.Equal(scopes, []Scope{Write}) {
		errs = append(errs, errors.New(
			"node binds what a key writes: give it the scope write alone"))
	}
	return errors.Join(errs...)
}

// newBound is for what CheckBinding has let through.
func newBound(clusters []string, node, id string) bound {
	b := bound{clusters: slices.Clone(clusters), first: node == FirstNode, id: id}
	if node != "" && !b.first {
		b.node = uuid.MustParse(node)
	}
	return b
}

// configuredID names a key of the configuration where its first node is remembered. Another key of
// the same name is another key.
func configuredID(digest []byte) string { return "configured-" + hex.EncodeToString(digest[:8]) }

// within reports whether the key is not limited to other clusters.
func (p Principal) within(cluster string) bool {
	return len(p.bound.clusters) == 0 || anyMatch(p.bound.clusters, cluster)
}

// OtherCluster returns the clusters that the key is limited to, in words, if the account owns the
// cluster and the key is not for it; "" otherwise.
func (p Principal) OtherCluster(cluster string) string {
	if p.within(cluster) || !anyMatch(p.clusters, cluster) {
		return ""
	}
	return strings.Join(p.bound.clusters, ", ")
}

// OtherNodeError says that a key is bound to another node.
type OtherNodeError struct{ Key, Node string }

// Error implements error.
func (e *OtherNodeError) Error() string {
	return fmt.Sprintf(
		"key %s is bound to node %s: make a key for each node, with ringwatch key create --node "+
			"first", e.Key, e.Node)
}

// Bindings knows which node each key that is bound to its first one was first used by.
type Bindings struct {
	bind func(ctx context.Context, id, account string, node uuid.UUID) (uuid.UUID, error)

	mu    sync.Mutex
	known remembered[string, uuid.UUID]
}

// rememberedBindings bounds the memory to some MB; what is forgotten is read again.
const rememberedBindings = 50_000

// NewBindings returns Bindings that ask bind, which binds a key to a node unless it is bound and
// returns the node that it is bound to. nil: nobody knows.
func NewBindings(bind func(ctx context.Context, id, account string,
	node uuid.UUID) (uuid.UUID, error)) *Bindings {
	b := &Bindings{bind: bind}
	b.known.limit = rememberedBindings
	return b
}

// Check returns nil if the key may be used for frames of a node, and binds it if that is its first
// one. The error is an *OtherNodeError, or wraps ErrKeysAway while that cannot be known.
func (b *Bindings) Check(ctx context.Context, p Principal, node uuid.UUID) error {
	is := p.bound.node
	switch {
	case !p.bound.first && is == uuid.Nil:
		return nil
	case p.bound.first:
		var err error
		if is, err = b.first(ctx, p, node); err != nil {
			return err
		}
	}
	if is != node {
		return &OtherNodeError{p.Key(), is.String()}
	}
	return nil
}

func (b *Bindings) first(ctx context.Context, p Principal, node uuid.UUID) (uuid.UUID, error) {
	b.mu.Lock()
	is, known := b.known.get(p.bound.id)
	b.mu.Unlock()
	if known {
		return is, nil
	}
	if b.bind == nil {
		return is, ErrKeysAway
	}
	is, err := b.bind(ctx, p.bound.id, p.Account, node)
	if err != nil {
		return is, fmt.Errorf("%w: %w", ErrKeysAway, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.known.put(p.bound.id, is)
	return is, nil
}
