package ring

import (
	"cmp"
	"slices"
)

// group is keys for one node; a nil host leaves it to the driver whom to ask.
type group struct {
	host  *host
	items []int32
}

// chooser groups keys by the replicas that serve most of them. It is one goroutine's; its slices
// are kept from one call to the next.
type chooser struct {
	replicas func(item int32) []int32 // nodes, at most 64 of which count
	hostOf   func(node int32) *host
	largest  int    // keys in a group at most
	rotation uint32 // whose turn it is among equals

	masks   []uint64 // by place in items: which of its replicas may be asked
	counts  []int32  // by node: keys that are in no group yet
	totals  []int32  // by node: keys that it could serve
	chosen  []int32  // by node: place among the groups, and one
	touched []int32  // nodes
}

// group covers items with few nodes, by a greedy search. It chooses the node that has most of the
// items that are left; among equals the one that is being asked for the fewest keys; among those
// each in turn. An item that several chosen nodes have goes to the one with the least, so that they
// have equally many. As long as the bound of keys per request makes as many requests necessary
// anyway, more nodes are chosen.
//
// may tells which of an item's replicas can be asked, as a bit mask. Items without any are returned
// as left. It costs a pass over the items for each node chosen.
func (c *chooser) group(nodes int, items []int32,
	may func(item int32, replicas []int32) uint64) (groups []group, left []int32) {
	c.reset(nodes, len(items))
	open := 0
	for at, item := range items {
		replicas := c.replicas(item)
		mask := may(item, replicas)
		c.masks[at] = mask
		if mask == 0 {
			left = append(left, item)
			continue
		}
		open++
		for bit, n := range replicas {
			if mask&(1<<bit) == 0 {
				continue
			}
			if c.totals[n] == 0 {
				c.touched = append(c.touched, n)
			}
			c.totals[n]++
			c.counts[n]++
		}
	}
	served := open
	slices.Sort(c.touched)
	covered := func(at int, replicas []int32) bool {
		for bit, n := range replicas {
			if c.masks[at]&(1<<bit) != 0 && c.chosen[n] != 0 {
				return true
			}
		}
		return false
	}
	choose := func(n int32) {
		groups = append(groups, group{host: c.hostOf(n)})
		c.chosen[n] = int32(len(groups))
	}
	for open > 0 {
		n := c.best(c.counts)
		for at, item := range items {
			replicas := c.replicas(item)
			bit := slices.Index(replicas, n)
			if bit < 0 || bit >= 64 || c.masks[at]&(1<<bit) == 0 || covered(at, replicas) {
				continue
			}
			open--
			for b, other := range replicas {
				if c.masks[at]&(1<<b) != 0 {
					c.counts[other]--
				}
			}
		}
		choose(n)
	}
	for want := (served + c.largest - 1) / c.largest; len(groups) < min(want, len(c.touched)); {
		choose(c.best(c.totals))
	}
	c.assign(groups, items)
	return c.cut(groups), left
}

func (c *chooser) reset(nodes, items int) {
	for _, s := range []*[]int32{&c.counts, &c.totals, &c.chosen} {
		if len(*s) < nodes {
			*s = make([]int32, nodes)
		}
		clear(*s)
	}
	if cap(c.masks) < items {
		c.masks = make([]uint64, items)
	}
	c.masks, c.touched = c.masks[:items], c.touched[:0]
}

// best is the node that is not chosen and has the highest count.
func (c *chooser) best(counts []int32) int32 {
	best, bestFlying := int32(-1), int64(0)
	for i := range c.touched {
		n := c.touched[(i+int(c.rotation)%len(c.touched))%len(c.touched)]
		if c.chosen[n] != 0 {
			continue
		}
		flying := c.hostOf(n).flying.Load()
		if best < 0 || counts[n] > counts[best] ||
			counts[n] == counts[best] && flying < bestFlying {
			best, bestFlying = n, flying
		}
	}
	return best
}

// assign gives each key to one of the chosen nodes: first those that only one of them has, then
// the others where there are fewest.
func (c *chooser) assign(groups []group, items []int32) {
	for pass := range 2 {
		for at, item := range items {
			to, choices := -1, 0
			for bit, n := range c.replicas(item) {
				g := int(c.chosen[n]) - 1
				if bit >= 64 || c.masks[at]&(1<<bit) == 0 || g < 0 {
					continue
				}
				choices++
				if to < 0 || len(groups[g].items) < len(groups[to].items) {
					to = g
				}
			}
			if choices == 1 && pass == 0 || choices > 1 && pass == 1 {
				groups[to].items = append(groups[to].items, item)
			}
		}
	}
	for i := range groups {
		slices.Sort(groups[i].items)
	}
}

// cut makes groups of no more keys than may be asked for at once, and all of a node's about as
// large.
func (c *chooser) cut(groups []group) []group {
	cut := groups[:0:0]
	for _, g := range groups {
		pieces := (len(g.items) + c.largest - 1) / c.largest
		for i := range pieces {
			cut = append(cut,
				group{g.host, g.items[i*len(g.items)/pieces : (i+1)*len(g.items)/pieces]})
		}
	}
	return cut
}

// together divides a group's keys into lots that one statement can ask for: keys of a lot differ in
// one part alone. It returns which part that is.
func together(items []int32, routing func(item int32) string,
	columns int) (lots [][]int32, part int) {
	if columns == 1 || len(items) == 1 {
		return [][]int32{items}, 0
	}
	var scratch [8]string
	var best map[string][]int32
	for p := range columns {
		lots := make(map[string][]int32, len(items))
		for _, item := range items {
			key, from := routing(item), 0
			for _, part := range parts(scratch[:0], key, columns)[:p] {
				from += 3 + len(part)
			}
			end := from + 3 + (int(key[from])<<8 | int(key[from+1]))
			rest := key[:from] + key[end:]
			lots[rest] = append(lots[rest], item)
		}
		if best == nil || len(lots) < len(best) {
			best, part = lots, p
		}
	}
	for _, lot := range best {
		lots = append(lots, lot)
	}
	slices.SortFunc(lots, func(a, b []int32) int { return cmp.Compare(a[0], b[0]) })
	return lots, part
}
