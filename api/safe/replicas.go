package safe

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// count asks once what replicas there are. Nodes that are silent are a reason by themselves: only
// those that are known to be away count.
func (a *asking) count(ctx context.Context) {
	if a.copies != nil {
		return
	}
	a.copies = &copies{down: map[string]bool{}, away: map[string]bool{}}
	ask := func(promql string) []Series {
		list, lacks, err := a.source.Query(ctx, a.placed(promql), a.At)
		a.copies.why = append(a.copies.why, notWhole(lacks, err)...)
		return list
	}
	found, said := map[string]*keyspace{}, map[string]bool{}
	// A schema that changes has two answers: the smaller one counts.
	for _, s := range ask("min by (datacenter, keyspace, strategy) " +
		"(cassandra_keyspace_replicas{$scope})") {
		name, strategy, datacenter := s.Labels["keyspace"], s.Labels["strategy"], ""
		said[s.Labels["datacenter"]] = true
		if isOurs(name) {
			continue
		}
		if strategy == networkTopology {
			datacenter = s.Labels["datacenter"]
		}
		key := name + " " + strategy
		if found[key] == nil {
			found[key] = &keyspace{name, strategy, map[string]int{}}
		}
		found[key].replicas[datacenter] = int(s.Value)
	}
	silent := map[string]bool{}
	for _, n := range a.nodes {
		silent[n.Datacenter] = !said[n.Datacenter]
	}
	for _, datacenter := range slices.Sorted(maps.Keys(silent)) {
		if silent[datacenter] && len(said) > 0 {
			a.copies.why = append(a.copies.why, Reason{Text: fmt.Sprintf("No node of datacenter "+
				"%s says how many copies are there.", datacenter)})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		a.copies.keyspaces = append(a.copies.keyspaces, *found[key])
	}
	for _, s := range ask("up{$scope} == 0 or on (node) " +
		"cassandra_node_gossip_running{$scope} == 0 or on (node) " +
		"cassandra_node_normal{$scope} == 0") {
		a.copies.down[s.Labels["node"]] = true
		a.copies.away[s.Labels["node"]] = true
	}
	for _, s := range ask(`group by (node) (label_replace(ringwatch_node_info{$scope}, "peer", ` +
		`"$1", "address", "(.+)") and on (peer) cassandra_peer_up{$scope} == 0)`) {
		a.copies.away[s.Labels["node"]] = true
	}
}

// lost are the keyspaces that lose what is counted while the node is away, or whichever is.
func (a *asking) lost(what string) (list []Series) {
	ids := []string{a.Node}
	if a.whichever() {
		ids = slices.Sorted(maps.Keys(a.nodes))
	}
	for i := range a.copies.keyspaces {
		k := &a.copies.keyspaces[i]
		if slices.ContainsFunc(slices.Collect(maps.Values(k.replicas)),
			func(n int) bool { return n < 0 }) {
			a.reason(false, "", "The copies of keyspace %s are not known: nothing counts those "+
				"of %s.", k.name, k.strategy)
			continue
		}
		for _, id := range ids {
			if a.nodes[id].ID == "" || a.copies.down[id] {
				continue // it has nothing that could be lost by this step
			}
			labels := map[string]string{"node": a.Node, "keyspace": k.name}
			single, levels := a.without(k, id)
			switch {
			case what == One && single != "":
				labels["where"] = single
			case what == Quorum && len(levels) > 0:
				labels["copies"], labels["levels"] = k.text(), and(levels)
				if labels["others"] = a.others(id); labels["others"] != "" {
					labels["others"] = ", with " + labels["others"] + " away as well"
				}
			default:
				continue
			}
			list = append(list, Series{Labels: labels})
		}
	}
	return list
}

// without says what a keyspace loses while a node is away, and those that are anyway: where the
// only copy of some data may be on it, and the consistency levels at which some cannot be had.
//
// Which nodes have a copy of what is not looked at: any of a datacenter may have one of the same
// data. Only with at least as many racks as copies no two of them are in one rack.
func (a *asking) without(k *keyspace, id string) (single string, levels []string) {
	total, stay, has := 0, 0, false
	for _, datacenter := range slices.Sorted(maps.Keys(k.replicas)) {
		replicas := k.replicas[datacenter]
		nodes, gone := 0, 0
		racks, goneRacks := map[string]bool{}, map[string]bool{}
		for _, n := range a.nodes {
			if datacenter != "" && n.Datacenter != datacenter {
				continue
			}
			nodes++
			racks[n.Rack] = true
			if n.ID == id || a.copies.away[n.ID] {
				gone++
				goneRacks[n.Rack] = true
			}
		}
		if datacenter != "" && len(racks) >= replicas {
			gone = len(goneRacks)
		}
		rest := max(0, min(replicas, nodes)-gone)
		total += replicas
		stay += rest
		if replicas == 0 || datacenter != "" && a.nodes[id].Datacenter != datacenter {
			continue
		}
		has = true
		switch {
		case replicas == 1 && datacenter == "":
			single = "the cluster"
		case replicas == 1:
			single = "datacenter " + datacenter
		case datacenter != "" && rest < replicas/2+1:
			levels = append(levels, "LOCAL_QUORUM")
		}
	}
	if has && total > 1 && stay < total/2+1 {
		levels = append(levels, "QUORUM")
	}
	if has && total > 1 && stay == 0 {
		levels = append(levels, "ONE")
	}
	return single, levels
}

// others names the nodes that are away beside one.
func (a *asking) others(id string) string {
	const most = 5
	var list []string
	for other := range a.copies.away {
		if other != id && a.nodes[other].ID != "" {
			list = append(list, a.called(other))
		}
	}
	slices.Sort(list)
	if rest := len(list) - most; rest > 0 {
		list = append(list[:most], fmt.Sprintf("%d more", rest))
	}
	return and(list)
}
