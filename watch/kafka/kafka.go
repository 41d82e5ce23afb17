// Package kafka reads one Kafka cluster from outside, over the protocol that its clients speak.
// Begin with Reader. Of our packages it imports watch/reading, frame, access/broker and
// access/certs.
//
//	metadata ──► of each broker: ends and starts of logs, groups, log sizes ──► of each broker:
//	                                                         the offsets and members of its groups
//
// What it promises: a broker that does not answer, or answers nonsense, takes away only what it
// alone knows; a reading ends within its timeout; what it holds is bounded by the cluster's
// partitions and by max_series, not by groups × partitions.
package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringwatch/ringwatch/access/broker"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/watch/reading"
)

// Bounds of what is believed. A cluster beyond them is read in part.
const (
	mostPartitions  = 1 << 19
	mostGroups      = 100_000
	mostGroupTopics = 1 << 18
	mostBrokers     = 10_000
	mostEntities    = 1 << 20 // of a frame
	// mostAnswer is the largest answer: the offsets of a group on three million partitions.
	mostAnswer = 64 << 20
)

// Deps is what a Reader needs from outside.
type Deps struct {
	Log *slog.Logger
	Now func() time.Time // nil: time.Now
}

// Partial is the error of a reading that lacks something. The reading is there beside it.
type Partial struct {
	// Count is how many questions had no answer, or an error for one.
	Count int
	// Sentences say what is missing and what to do, one per cause.
	Sentences []string
}

// Error implements error.
func (p *Partial) Error() string { return strings.Join(p.Sentences, "; ") }

// Reader reads a cluster again and again. It remembers the ends of logs, and rows of labels. Use it
// from one goroutine.
type Reader struct {
	config         Config
	deps           Deps
	ask            asker
	close          func()
	topicNames     *filter
	groupNames     *filter
	clock          clock
	topics         map[string]*topic
	order          []*topic // by name
	groups         map[string]*group
	pass           uint64
	version        string
	pinned         rowCaches
	kraft          bool
	readSinceGuess int
}

// asker asks brokers. Tests have one that answers nonsense.
type asker interface {
	// any asks a broker that answers.
	any(context.Context, kmsg.Request) (kmsg.Response, error)
	one(ctx context.Context, broker int32, r kmsg.Request) (kmsg.Response, error)
}

type client struct{ *kgo.Client }

func (c client) any(ctx context.Context, r kmsg.Request) (kmsg.Response, error) {
	type answer struct {
		kmsg.Response
		error
	}
	answers := make(chan answer, 1)
	go func() { // Request waits for a connection's first answer longer than ctx
		a, err := c.Request(ctx, r)
		answers <- answer{a, err}
	}()
	select {
	case a := <-answers:
		return a.Response, a.error
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c client) one(ctx context.Context, id int32, r kmsg.Request) (kmsg.Response, error) {
	return c.Broker(int(id)).Request(ctx, r)
}

// New checks the configuration. Kafka may be away.
func New(c Config, deps Deps) (*Reader, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	opts, err := broker.Options(c.Brokers, c.TLS, c.SASL, deps.Log)
	if err != nil {
		return nil, err
	}
	kafka, err := kgo.NewClient(append(opts, kgo.BrokerMaxReadBytes(mostAnswer),
		kgo.ConnIdleTimeout(3*time.Minute))...) // longer than from one reading to the next
	if err != nil {
		return nil, fmt.Errorf("watch.kafka %q: cannot make a Kafka client: %w", c.Cluster, err)
	}
	return newReader(c, deps, client{kafka}, kafka.Close)
}

func newReader(c Config, deps Deps, ask asker, closes func()) (*Reader, error) {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	r := &Reader{config: c, deps: deps, ask: ask, close: closes, topics: map[string]*topic{},
		groups: map[string]*group{}}
	var errs [2]error
	r.topicNames, errs[0] = c.Topics.filter()
	r.groupNames, errs[1] = c.Groups.filter()
	return r, errors.Join(errs[:]...)
}

// Close ends the connections.
func (r *Reader) Close() { r.close() }

// Read reads the cluster. Beside a reading that lacks something the error is a *Partial; with any
// other error there is no reading.
func (r *Reader) Read(ctx context.Context) (*reading.Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, r.config.Timeout)
	defer cancel()
	p := &pass{reader: r, missing: &missing{timeout: r.config.Timeout}}
	if err := p.metadata(ctx); err != nil {
		return nil, fmt.Errorf("no broker of %s said what the cluster has: %w",
			strings.Join(r.config.Brokers, ", "), explained(err, r.config.Timeout))
	}
	r.pass++
	half, done := context.WithTimeout(ctx, r.config.Timeout/2)
	defer done()
	p.brokersSay(half)
	p.remember()
	p.groupsSay(ctx)
	rd := p.reading()
	return rd, p.missing.err()
}

// topic is what is known of a topic.
type topic struct {
	name  string
	id    [16]byte
	index int        // in Reader.order
	seen  uint64     // the pass that saw it last
	row   []string   // its label
	rows  [][]string // the labels of its partitions
	// of its partitions, in this pass
	leader, preferred  []int32
	replicas, inSync   []int32
	end, oldest        []int64
	history            ends
	offline, under     int64
	notPreferred, size int64
}

func (t *topic) partitions() int { return len(t.leader) }

// resize makes room for as many partitions. A topic with fewer than before is another.
func (t *topic) resize(n int, times *clock) {
	was := t.partitions()
	grow := func(list []int32) []int32 { return append(list, make([]int32, n-was)...) }
	t.leader, t.preferred = grow(t.leader), grow(t.preferred)
	t.replicas, t.inSync = grow(t.replicas), grow(t.inSync)
	t.end = append(t.end, make([]int64, n-was)...)
	t.oldest = append(t.oldest, make([]int64, n-was)...)
	t.history = append(t.history, make(ends, (n-was)*points)...)
	for i := was * points; i < n*points; i++ {
		t.history[i] = unknown
	}
	labels := make([]string, 2*(n-was))
	for i := was; i < n; i++ {
		l := labels[2*(i-was):]
		l[0], l[1] = t.name, number(i)
		t.rows = append(t.rows, l[:2:2])
	}
}

// node is what is known of a broker in one pass.
type node struct {
	id                          int32
	address                     string // empty: it is not alive
	up                          bool
	leaders, replicas, outOfISR int64
	logs                        bool // it told of its logs
	size                        int64
	dirs                        []logDir
	topicSizes                  []int64 // by topic.index
	groups                      []listed
}

type logDir struct {
	path                string
	up                  bool
	size, total, usable int64
}

// listed is a group as its coordinator lists it.
type listed struct{ name, state, kind string }

// pass is one reading in the making.
type pass struct {
	reader  *Reader
	missing *missing
	now     int64 // ms, when the ends of logs were asked for

	controller int32   // -1: none
	nodes      []*node // by id
	byID       map[int32]*node
	partitions int64
	quorum     *kmsg.DescribeQuorumResponseTopicPartition
	groups     []*group // by name
	kept       kept
	leftOut    []int64 // the column of p.groups
}

// noController is a controller that nobody tells us of.
const noController = -2

// metadata asks which brokers, topics and partitions there are.
func (p *pass) metadata(ctx context.Context) error {
	answer, err := p.reader.ask.any(ctx, kmsg.NewPtrMetadataRequest())
	if err != nil {
		return err
	}
	m, ok := answer.(*kmsg.MetadataResponse)
	if !ok {
		return errUnexpected
	}
	if len(m.Brokers) == 0 {
		return errors.New("the broker that answered names no brokers: is it one of a cluster?")
	}
	r := p.reader
	p.controller, p.byID = m.ControllerID, map[int32]*node{}
	for i := range m.Brokers {
		if n := p.node(m.Brokers[i].NodeID); n != nil {
			n.address = hostPort(m.Brokers[i].Host, m.Brokers[i].Port)
		}
	}
	changed := false
	for i := range m.Topics {
		said := &m.Topics[i]
		if said.Topic == nil || !r.topicNames.takes(*said.Topic) {
			continue
		}
		if len(said.Partitions) == 0 {
			p.missing.code("topics are not described", *said.Topic, said.ErrorCode)
			continue
		}
		if p.partitions+int64(len(said.Partitions)) > mostPartitions {
			p.missing.add("topics are left out", *said.Topic,
				fmt.Errorf("more than %d partitions: name fewer with topics.include",
					mostPartitions))
			continue
		}
		t := r.topics[*said.Topic]
		if t == nil || t.id != said.TopicID || t.partitions() > len(said.Partitions) {
			t = &topic{name: *said.Topic, id: said.TopicID, row: []string{*said.Topic}}
			r.topics[t.name] = t
			changed = true
		}
		if t.seen == r.pass+1 {
			p.missing.add("topics are named twice", t.name, errNonsense)
			continue
		}
		if n := len(said.Partitions); n > t.partitions() {
			t.resize(n, &r.clock)
		}
		t.seen = r.pass + 1
		p.topic(t, said.Partitions)
	}
	for name, t := range r.topics {
		if t.seen != r.pass+1 {
			delete(r.topics, name)
			changed = true
		}
	}
	if changed {
		r.order = r.order[:0:0]
		for _, t := range r.topics {
			r.order = append(r.order, t)
		}
		slices.SortFunc(r.order, func(a, b *topic) int { return strings.Compare(a.name, b.name) })
		for i, t := range r.order {
			t.index = i
		}
	}
	slices.SortFunc(p.nodes, func(a, b *node) int { return int(a.id) - int(b.id) })
	return nil
}

// node returns the broker with the id; nil: there are too many.
func (p *pass) node(id int32) *node {
	n := p.byID[id]
	if n == nil {
		if id < 0 || len(p.nodes) >= mostBrokers {
			p.missing.add("brokers have an id that is not believed", number(int(id)), errNonsense)
			return nil
		}
		n = &node{id: id}
		p.byID[id] = n
		p.nodes = append(p.nodes, n)
	}
	return n
}

// topic takes over what the metadata say of a topic's partitions.
func (p *pass) topic(t *topic, said []kmsg.MetadataResponseTopicPartition) {
	t.offline, t.under, t.notPreferred, t.size = 0, 0, 0, 0
	for i := range t.leader {
		t.leader[i], t.replicas[i] = -2, 0 // nothing was said
		t.end[i], t.oldest[i] = unknown, unknown
	}
	p.partitions += int64(len(said))
	for i := range said {
		s := &said[i]
		at := int(s.Partition)
		if at < 0 || at >= t.partitions() || t.leader[at] != -2 {
			p.missing.add("topics have partitions that cannot be", t.name, errNonsense)
			continue
		}
		t.leader[at] = max(s.Leader, -1)
		t.replicas[at], t.inSync[at] = int32(len(s.Replicas)), int32(len(s.ISR))
		t.preferred[at] = -1
		if len(s.Replicas) > 0 {
			t.preferred[at] = s.Replicas[0]
		}
		if s.Leader < 0 {
			t.offline++
		} else if n := p.node(s.Leader); n != nil {
			n.leaders++
			if s.Leader != t.preferred[at] {
				t.notPreferred++
			}
		}
		if len(s.ISR) < len(s.Replicas) {
			t.under++
		}
		for _, id := range s.Replicas {
			if n := p.node(id); n != nil {
				n.replicas++
				if !slices.Contains(s.ISR, id) {
					n.outOfISR++
				}
			}
		}
	}
}

// brokersSay asks each broker for what it knows, all at once.
func (p *pass) brokersSay(ctx context.Context) {
	var all sync.WaitGroup
	p.now = p.reader.deps.Now().UnixMilli()
	for _, n := range p.nodes {
		if n.address == "" {
			continue
		}
		var answered [4]bool
		var of sync.WaitGroup
		of.Go(func() { answered[0] = p.logEnds(ctx, n, -1) })
		of.Go(func() { answered[1] = p.logEnds(ctx, n, -2) })
		of.Go(func() { answered[2] = p.listGroups(ctx, n) })
		of.Go(func() { answered[3] = p.logDirs(ctx, n) })
		all.Go(func() {
			of.Wait()
			n.up = slices.Contains(answered[:], true)
		})
	}
	all.Go(func() {
		if p.guessVersion(ctx); p.reader.kraft {
			p.askQuorum(ctx)
		}
	})
	all.Wait()
}

// clockBack is how far the clock may go back before the history begins anew, in ms.
const clockBack = 60_000

// remember takes a sample of all logs' ends.
func (p *pass) remember() {
	r := p.reader
	if r.clock.n > 0 && r.clock.times[r.clock.n-1]-p.now > clockBack {
		r.clock.n = 0 // what was known is of times that are still to come
		for _, t := range r.order {
			for i := range t.history {
				t.history[i] = unknown
			}
		}
	}
	if r.clock.n > 0 && p.now <= r.clock.times[r.clock.n-1] { // the clock was set back a little
		p.now = r.clock.times[r.clock.n-1] + 1
	}
	drop := r.clock.next(p.now)
	for _, t := range r.order {
		for i, end := range t.end {
			t.history.add(i, drop, &r.clock, end)
		}
	}
}

// budget returns how many rows of groups' partitions the reading may have, beside so many series
// and entities.
func (r *Reader) budget(series, entities int) int {
	rows := mostEntities - entities
	if r.config.MaxSeries > 0 {
		rows = min(rows, (r.config.MaxSeries-series)/partitionColumns)
	}
	return max(rows, 0)
}

// facts say what the cluster is.
func (r *Reader) facts() []frame.Fact {
	facts := []frame.Fact{{Name: "address", Value: strings.Join(r.config.Brokers, ",")}}
	if r.version != "" {
		facts = append(facts, frame.Fact{Name: "version", Value: r.version})
	}
	return facts
}

const noValue = int64(reading.NoInt)
