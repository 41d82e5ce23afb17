package kafka

import (
	"container/heap"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// group is what is known of a consumer group.
type group struct {
	name     string
	seen     uint64
	row      []string // its label
	stateRow []string // its labels with the state
	state    string
	kind     string // classic, consumer, share, streams; empty before Kafka 3.8
	members  int64
	answered bool // it told its offsets in this pass

	coordinator *node // in this pass

	topics     []*groupTopic // by name
	partitions int           // with committed offsets
	gone       int           // partitions with committed offsets that are not read
	lag, ms    int64
	commit     int64      // when an offset was last seen to be another, ms; noValue: never
	rows       *committed // what its partitions' rows are made of; nil: they are left out
}

// groupTopic is what is known of a topic of a group.
type groupTopic struct {
	topic *topic
	seen  uint64
	row   []string // labels
	print uint64   // changes when an offset does
	// of the partitions that have offsets
	partitions, lag, offsets int64
	lagging, beyond, lost    int64
	ms, commit               int64
	ahead                    int64
	past                     map[int32]int64 // offsets beyond the ends that were read before them
	labelled                 []int32         // partitions whose labels are remembered
	labels                   [][]string      // and these
}

// OffsetFetch asks for as many groups at once as had together so many partitions.
const (
	offsetsAsked = 100_000
	mostAtOnce   = 50
	supposed     = 10_000 // partitions of a group that is asked for the first time
)

// forgotten is how many readings later a group is forgotten that nobody lists.
const forgotten = 30

// groupsSay asks each coordinator for the offsets and members of its groups, all coordinators at
// once.
func (p *pass) groupsSay(ctx context.Context) {
	r := p.reader
	var others int
	of := map[*node][]*group{}
	for _, n := range p.nodes {
		for _, l := range n.groups {
			if !r.groupNames.takes(l.name) {
				continue
			}
			g := r.groups[l.name]
			if g == nil {
				if len(r.groups) >= mostGroups {
					others++
					continue
				}
				g = &group{name: l.name, row: []string{l.name}, commit: noValue}
				r.groups[l.name] = g
			}
			if g.seen == r.pass { // it moves from one coordinator to the other
				continue
			}
			g.seen, g.state, g.kind, g.answered, g.rows = r.pass, l.state, l.kind, false, nil
			g.members, g.coordinator = 0, n
			p.groups = append(p.groups, g)
			of[n] = append(of[n], g)
		}
	}
	if others > 0 {
		p.missing.add("consumer groups are left out", number(others),
			fmt.Errorf("more than %d groups: name fewer with groups.include", mostGroups))
	}
	for name, g := range r.groups {
		// While its coordinator is away nobody lists it. When its last commit was is kept
		// meanwhile.
		if g.seen+forgotten < r.pass {
			delete(r.groups, name)
		}
	}
	p.kept.budget = r.budget(p.seriesBeside(), 0)
	var all sync.WaitGroup
	for n, groups := range of {
		all.Go(func() { p.members(ctx, n, groups) })
		all.Go(func() { p.offsets(ctx, n, groups) })
	}
	all.Wait()
	slices.SortFunc(p.groups, func(a, b *group) int { return strings.Compare(a.name, b.name) })
}

// offsets asks a coordinator for its groups' offsets. While it works on one answer, the next one is
// on its way.
func (p *pass) offsets(ctx context.Context, n *node, groups []*group) {
	answers := make(chan *offsetsResponse, 1)
	go func() {
		defer close(answers)
		for len(groups) > 0 && ctx.Err() == nil {
			request := &offsetsRequest{topics: p.reader.topics}
			request.Default()
			for partitions := 0; len(groups) > 0; groups = groups[1:] {
				g := groups[0]
				if g.kind == "share" { // it has no offsets of this sort
					continue
				}
				expected := supposed
				if g.topics != nil {
					expected = g.partitions
				}
				partitions += expected
				if len(request.Groups) > 0 && partitions > offsetsAsked ||
					len(request.Groups) == mostAtOnce {
					break
				}
				one := kmsg.NewOffsetFetchRequestGroup()
				one.Group = g.name
				one.Topics = nil // all
				request.Groups = append(request.Groups, one)
			}
			if len(request.Groups) == 0 {
				return
			}
			answer, err := p.reader.ask.one(ctx, n.id, request)
			said, ok := answer.(*offsetsResponse)
			switch {
			case err != nil:
			case !ok:
				err = errUnexpected
			case len(said.groups) != len(request.Groups):
				err = errNonsense
			}
			if err != nil {
				for i := range request.Groups {
					p.missing.add("groups told no offsets", request.Groups[i].Group, err)
				}
				continue
			}
			answers <- said
		}
		for _, g := range groups {
			p.missing.add("groups told no offsets", g.name, ctx.Err())
		}
	}()
	for said := range answers {
		for i := range said.groups {
			c := &said.groups[i]
			g := p.reader.groups[c.group]
			switch {
			case g == nil || g.coordinator != n || g.answered:
				p.missing.add("groups were told of that nobody asked for", c.group, errNonsense)
			case c.err != nil:
				p.missing.add("groups told no offsets", g.name, c.err)
			default:
				if c.failed > 0 {
					p.missing.add("groups told no offset of some partitions", g.name,
						kerr.TopicAuthorizationFailed)
				}
				p.take(g, c)
			}
		}
	}
}

// take works out what a group's offsets say.
func (p *pass) take(g *group, c *committed) {
	r := p.reader
	g.answered, g.partitions, g.gone = true, len(c.partitions), c.gone
	g.lag, g.ms = 0, noValue
	if len(c.topics) == 0 {
		g.topics = g.topics[:0]
	}
	known := map[*topic]*groupTopic{}
	if len(g.topics) > 8 {
		for _, of := range g.topics {
			known[of.topic] = of
		}
	}
	changed, twice, from := false, false, 0
	for _, ct := range c.topics {
		var of *groupTopic
		if len(known) > 0 {
			of = known[ct.topic]
		} else if i := slices.IndexFunc(g.topics, func(o *groupTopic) bool {
			return o.topic == ct.topic
		}); i >= 0 {
			of = g.topics[i]
		}
		if of == nil {
			of = &groupTopic{topic: ct.topic, row: []string{g.name, ct.topic.name},
				commit: noValue}
			g.topics = append(g.topics, of)
			if len(known) > 0 {
				known[ct.topic] = of
			}
			changed = true
		}
		if of.seen == r.pass {
			twice = true
		} else {
			of.take(r, p.now, c.partitions[from:ct.until], c.offsets[from:ct.until])
		}
		from = ct.until
	}
	g.topics = slices.DeleteFunc(g.topics, func(of *groupTopic) bool { return of.seen != r.pass })
	if changed {
		slices.SortFunc(g.topics, func(a, b *groupTopic) int {
			return strings.Compare(a.topic.name, b.topic.name)
		})
	}
	for _, of := range g.topics {
		g.lag += of.lag
		g.ms = max(g.ms, of.ms)
		g.commit = max(g.commit, of.commit)
	}
	if twice || c.twice > 0 {
		p.missing.add("groups told of a topic or a partition twice", g.name, errNonsense)
		return
	}
	p.kept.add(g, c)
}

// take works out what a group's offsets of one topic say.
func (of *groupTopic) take(r *Reader, now int64, partitions []int32, offsets []int64) {
	t, first := of.topic, of.seen == 0
	of.seen = r.pass
	of.partitions, of.lag, of.offsets = int64(len(partitions)), 0, 0
	of.lagging, of.beyond, of.lost, of.ahead, of.ms = 0, 0, 0, 0, noValue
	before := of.past
	of.past = nil
	print := uint64(len(partitions))
	for i, at := range partitions {
		offset := offsets[i]
		of.offsets += offset
		print += uint64(offset+1) * (uint64(2*at+1) * 0x9e3779b97f4a7c15)
		lag, ms, beyond := r.lag(t, int(at), offset)
		if lag == noValue {
			continue
		}
		if lag > 0 {
			of.lag += lag
			of.lagging++
			if beyond {
				of.beyond++
			}
		}
		if t.oldest[at] > offset {
			of.lost++
		}
		if offset > t.end[at] {
			// A group that reads commits what came after the end was asked for. One that had
			// committed the same a reading before is beyond it.
			if was, there := before[at]; there && was == offset {
				of.ahead++
			}
			if of.past == nil {
				of.past = map[int32]int64{}
			}
			of.past[at] = offset
		}
		of.ms = max(of.ms, ms)
	}
	if !first && print != of.print {
		of.commit = now
	}
	of.print = print
}

// lag returns how far an offset is behind the end of a partition's log, in records that can still
// be read and in ms; noValue where that is not known. What was deleted is not waited for.
func (r *Reader) lag(t *topic, at int, offset int64) (lag, ms int64, beyond bool) {
	end := t.end[at]
	offset = max(offset, t.oldest[at])
	switch {
	case end < 0:
		return noValue, noValue, false
	case offset >= end:
		return 0, 0, false
	case r.clock.n == 1: // there is no history yet
		return end - offset, noValue, true
	}
	ms, beyond = r.clock.behind(t.history.of(at, &r.clock), offset)
	return end - offset, ms, beyond
}

// members asks a coordinator for the members of those of its groups that have some.
func (p *pass) members(ctx context.Context, n *node, groups []*group) {
	const what = "groups told no members"
	var classic, consumer []string
	for _, g := range groups {
		switch {
		case g.state == "Empty" || g.state == "Dead":
		case g.kind == "consumer":
			consumer = append(consumer, g.name)
			g.members = noValue
		case g.kind == "" || strings.EqualFold(g.kind, "classic"):
			classic = append(classic, g.name)
			g.members = noValue
		default: // share and streams
			g.members = noValue
		}
	}
	took := func(name string, code int16, members int) {
		if g := p.reader.groups[name]; g == nil || g.coordinator != n {
			p.missing.add("groups were told of that nobody asked for", name, errNonsense)
		} else if code != int16(kerr.GroupIDNotFound.Code) && // it has ended meanwhile
			!p.missing.code(what, name, code) {
			g.members = int64(members)
		}
	}
	ask := func(request kmsg.Request, names []string) {
		answer, err := p.reader.ask.one(ctx, n.id, request)
		switch said := answer.(type) {
		case *kmsg.DescribeGroupsResponse:
			for i := range said.Groups {
				g := &said.Groups[i]
				took(g.Group, g.ErrorCode, len(g.Members))
			}
		case *kmsg.ConsumerGroupDescribeResponse:
			for i := range said.Groups {
				g := &said.Groups[i]
				took(g.Group, g.ErrorCode, len(g.Members))
			}
		default:
			if err == nil {
				err = errUnexpected
			}
			for _, name := range names {
				p.missing.add(what, name, err)
			}
		}
	}
	for names := range slices.Chunk(classic, groupsAsked) {
		request := kmsg.NewPtrDescribeGroupsRequest()
		request.Groups = names
		ask(request, names)
	}
	for names := range slices.Chunk(consumer, groupsAsked) {
		request := kmsg.NewPtrConsumerGroupDescribeRequest()
		request.Groups = names
		ask(request, names)
	}
}

// kept are the groups whose partitions have rows: the smallest, as many as the budget has room for.
// It never holds more than the budget and one group.
type kept struct {
	mu     sync.Mutex
	budget int
	rows   int
	groups []*group // a heap, the largest first
}

func (k *kept) add(g *group, c *committed) {
	k.mu.Lock()
	defer k.mu.Unlock()
	g.rows = c
	k.rows += len(c.partitions)
	heap.Push(k, g)
	k.shrink(k.budget)
}

// shrink lets go of the largest groups until the rest has no more rows than that.
func (k *kept) shrink(budget int) {
	for k.rows > budget {
		g := heap.Pop(k).(*group)
		k.rows -= len(g.rows.partitions)
		g.rows = nil
		for _, of := range g.topics {
			of.labelled, of.labels = nil, nil
		}
	}
}

// Len implements heap.Interface.
func (k *kept) Len() int { return len(k.groups) }

// Less implements heap.Interface.
func (k *kept) Less(i, j int) bool {
	a, b := k.groups[i], k.groups[j]
	if len(a.rows.partitions) != len(b.rows.partitions) {
		return len(a.rows.partitions) > len(b.rows.partitions)
	}
	return a.name > b.name
}

// Swap implements heap.Interface.
func (k *kept) Swap(i, j int) { k.groups[i], k.groups[j] = k.groups[j], k.groups[i] }

// Push implements heap.Interface.
func (k *kept) Push(g any) { k.groups = append(k.groups, g.(*group)) }

// Pop implements heap.Interface.
func (k *kept) Pop() any {
	last := k.groups[len(k.groups)-1]
	k.groups = k.groups[:len(k.groups)-1]
	return last
}

// partitionRows returns the labels of a group's partitions of one topic. They are those of the
// reading before while the partitions are.
func (of *groupTopic) partitionRows(partitions []int32) [][]string {
	if slices.Equal(of.labelled, partitions) {
		return of.labels
	}
	labels := make([]string, 3*len(partitions))
	of.labels = make([][]string, len(partitions))
	for i, at := range partitions {
		l := labels[3*i : 3*i+3 : 3*i+3]
		l[0], l[1], l[2] = of.row[0], of.row[1], of.topic.rows[at][1]
		of.labels[i] = l
	}
	of.labelled = slices.Clone(partitions)
	return of.labels
}
