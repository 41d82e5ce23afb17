package ring

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// topology is who owns what, as one node of the cluster said at one moment. It does not change.
type topology struct {
	nodes []node // all that own something, by id
	ring  []owned

	mu         sync.Mutex
	placements map[string]*placement // by replication
}

// node is a place on the ring.
type node struct {
	host             *host
	datacenter, rack string
}

// owned is the end of a range.
type owned struct {
	token int64
	node  int32
}

// place returns the replicas of everything under a replication; nil when they are not known.
func (t *topology) place(r replication, datacenter string) *placement {
	if r.kind == elsewhere || len(t.ring) == 0 {
		return nil
	}
	key := r.key()
	t.mu.Lock()
	defer t.mu.Unlock()
	p, ok := t.placements[key]
	if !ok {
		p = place(t.nodes, t.ring, r, datacenter)
		t.placements[key] = p
	}
	return p
}

// equal tells whether two topologies place everything alike.
func (t *topology) equal(o *topology) bool {
	return slices.Equal(t.nodes, o.nodes) && slices.Equal(t.ring, o.ring)
}

// peer is a row of system.local or system.peers.
type peer struct {
	id               string
	datacenter, rack string
	tokens           []string
}

// newTopology is for what a node told; a cluster of another partitioner has no ring here.
func newTopology(partitioner string, peers []peer, hostOf func(id string) *host) *topology {
	t := &topology{placements: map[string]*placement{}}
	if partitioner != murmur3 {
		return t
	}
	slices.SortFunc(peers, func(a, b peer) int { return cmp.Compare(a.id, b.id) })
	for _, p := range peers {
		if len(p.tokens) == 0 { // it joins, and owns nothing yet
			continue
		}
		n := int32(len(t.nodes))
		t.nodes = append(t.nodes, node{host: hostOf(p.id), datacenter: p.datacenter, rack: p.rack})
		for _, text := range p.tokens {
			if token, err := strconv.ParseInt(text, 10, 64); err == nil {
				t.ring = append(t.ring, owned{token, n})
			}
		}
	}
	slices.SortFunc(t.ring, func(a, b owned) int {
		return cmp.Or(cmp.Compare(a.token, b.token), cmp.Compare(a.node, b.node))
	})
	// A node that replaces another has its tokens for a moment too.
	t.ring = slices.CompactFunc(t.ring, func(a, b owned) bool { return a.token == b.token })
	return t
}

// readTopology asks one node.
func (r *Reader) readTopology(ctx context.Context, id string) (*topology, error) {
	ask := func(statement string, args ...any) *gocql.Iter {
		return r.control(statement, args...).SetHostID(id).IterContext(ctx)
	}
	var partitioner string
	var peers []peer
	var p peer
	iter := ask("SELECT host_id, data_center, rack, tokens, partitioner FROM system.local WHERE " +
		"key = 'local'")
	for iter.Scan(&p.id, &p.datacenter, &p.rack, &p.tokens, &partitioner) {
		peers, p = append(peers, p), peer{}
	}
	if err := iter.Close(); err != nil {
		return nil, fmt.Errorf("cannot read system.local: %w", err)
	}
	iter = ask("SELECT host_id, data_center, rack, tokens FROM system.peers")
	for iter.Scan(&p.id, &p.datacenter, &p.rack, &p.tokens) {
		peers, p = append(peers, p), peer{}
	}
	if err := iter.Close(); err != nil {
		return nil, fmt.Errorf("cannot read system.peers: %w", err)
	}
	return newTopology(partitioner, peers, r.hosts.get), nil
}

// control is a query of the reader's own.
func (r *Reader) control(statement string, args ...any) *gocql.Query {
	return r.session.Query(statement, args...).Consistency(gocql.One).Idempotent(true).RetryPolicy(
		nil).PageSize(1000)
}
