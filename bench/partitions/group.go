package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const topic = "frames"

// group is a consumer group: its members, by id, and what each owns.
type group struct {
	partitions int
	owned      map[string][]int32
	generation int32
}

// balance lets the members agree as stream/kafka's do. A partition that moves is given up in one
// round and taken in the next, so there are several.
func (g *group) balance() error {
	balancer := kgo.CooperativeStickyBalancer()
	for range 10 {
		var members []kmsg.JoinGroupResponseMember
		for _, id := range slices.Sorted(maps.Keys(g.owned)) {
			m := kmsg.NewJoinGroupResponseMember()
			m.MemberID = id
			m.ProtocolMetadata = balancer.JoinGroupMetadata([]string{topic},
				map[string][]int32{topic: slices.Clone(g.owned[id])}, g.generation)
			members = append(members, m)
		}
		b, _, err := balancer.MemberBalancer(members)
		if err != nil {
			return fmt.Errorf("members cannot be read: %w", err)
		}
		balancing, ok := b.(kgo.GroupMemberBalancerOrError)
		if !ok {
			return fmt.Errorf("a %T cannot be asked for a plan", b)
		}
		plan, err := balancing.BalanceOrError(map[string]int32{topic: int32(g.partitions)})
		if err != nil {
			return fmt.Errorf("there is no plan: %w", err)
		}
		given, changed := 0, false
		for _, a := range plan.IntoSyncAssignment() {
			owned, err := balancer.ParseSyncAssignment(a.MemberAssignment)
			if err != nil {
				return fmt.Errorf("an assignment cannot be read: %w", err)
			}
			list := owned[topic]
			slices.Sort(list)
			given += len(list)
			changed = changed || !slices.Equal(list, g.owned[a.MemberID])
			g.owned[a.MemberID] = list
		}
		g.generation++
		if given == g.partitions && !changed {
			return nil
		}
	}
	return errors.New("the group does not settle")
}

// owners returns the owner of each partition.
func (g *group) owners() []string {
	owners := make([]string, g.partitions)
	for id, list := range g.owned {
		for _, p := range list {
			owners[p] = id
		}
	}
	return owners
}
