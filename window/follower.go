package window

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
)

// Follower reads one node's frames as they come and says, frame by frame, what each cell of the
// wanted metrics is. Nothing is kept of a frame but what later ones are decoded against: its last
// key frames. A frame costs what it says and a visit to each wanted cell that is there.
//
// Rows and metrics keep their numbers (of Cell.Of) for as long as the Follower lives. It is for one
// goroutine.
type Follower struct {
	node         Node
	want         *frame.Wanted
	keys         []*followed // in the order in which they were last of use
	dictionaries dictionaryBuilders
	wanted       map[*dictionaryBuilder][]bool
}

// followed is a key frame with the values of its wanted cells.
type followed struct {
	pass *pass
	id   keyID

	// by metric of the dictionary: entities without a value
	absent map[*metricMap]map[int]map[int32]bool
	base   map[*metricMap]map[int]*keyColumn // by metric of the dictionary
}

// keyColumn is a key frame's values of one metric, by entity.
type keyColumn struct {
	words      []int64
	texts      []string
	buckets    []*frame.Buckets
	histograms []Histogram // of buckets, made when first asked for
}

// FollowedKeys is how many key frames a Follower keeps: late frames name older ones.
const FollowedKeys = 3

// Cell is the value of one metric of one entity at one instant.
type Cell struct {
	Of          *Dictionary // its Rows and Metrics grow; its cluster and rack are the frame's
	Row, Metric int

	Int       int64 // counters and gauges
	Double    float64
	Histogram Histogram // shared: do not change it
	Text      string
}

// Labels returns the labels of the cell's series, as Window.Select has them.
func (c *Cell) Labels() labels.Labels {
	b := labels.NewScratchBuilder(5 + len(c.Of.Labels))
	return c.Of.labels(&b, c.Of.Node.String(), c.Metric, int32(c.Row))
}

// Pass is what a frame says beside the values.
type Pass struct {
	frame.Header
	Identity frame.Identity
}

// NewFollower returns a Follower for the metrics that are wanted; nil wants all.
func NewFollower(node Node, want *frame.Wanted) *Follower {
	return &Follower{node: node, want: want, wanted: map[*dictionaryBuilder][]bool{}}
}

// ErrNoKey says that a delta frame came whose key frame the Follower has not seen, or no more.
var ErrNoKey = fmt.Errorf("window: the frame's key frame is not known: %w", frame.ErrKey)

// Frame takes the node's next frame and calls visit with each wanted cell that is there, unless
// visit is nil. The frame may be older than the one before. An error says that it cannot be read;
// that harms no later frame.
func (f *Follower) Frame(allow frame.Allowance, b []byte, visit func(*Cell)) (*Pass, error) {
	h, _, err := frame.Parse(b)
	if err != nil {
		return nil, err
	}
	id := keyOf(&h)
	key := f.key(id)
	var p *pass
	if h.IsKey() {
		if key == nil {
			decoded, err := frame.DecodeWanted(allow, b, nil, f.want)
			if err != nil {
				return nil, err
			}
			key = f.keep(id, decoded)
		}
		p = key.pass
	} else {
		if key == nil {
			return nil, ErrNoKey
		}
		decoded, err := frame.DecodeWanted(allow, b, key.pass.frame, f.want)
		if err != nil {
			return nil, err
		}
		p = &pass{frame: decoded, key: key.pass}
		p.resolve(&f.dictionaries)
	}
	if visit != nil {
		f.visit(key, p, visit)
	}
	return &Pass{Header: h, Identity: key.pass.frame.Identity}, nil
}

// Rows returns how many entities the Follower has numbered, those that are gone among them.
func (f *Follower) Rows() int {
	n := 0
	for _, d := range f.dictionaries.list {
		n += len(d.result.Rows)
	}
	return n
}

func (f *Follower) key(id keyID) *followed {
	for i, k := range f.keys {
		if k.id == id {
			f.keys = append(slices.Delete(f.keys, i, i+1), k)
			return k
		}
	}
	return nil
}

// keep keeps a key frame, and forgets the one that was of no use for longest. The newest stays: a
// backlog of many windows may come at once while frames of now need it.
func (f *Follower) keep(id keyID, decoded *frame.Frame) *followed {
	k := &followed{pass: newKeyPass(decoded), id: id,
		absent: map[*metricMap]map[int]map[int32]bool{}, base: map[*metricMap]map[int]*keyColumn{}}
	k.pass.resolve(&f.dictionaries)
	for i, m := range k.pass.templates {
		if m == nil || k.pass.entities[i] == nil {
			continue
		}
		r := k.pass.entities[i]
		k.absent[m], k.base[m] = map[int]map[int32]bool{}, map[int]*keyColumn{}
		for metric, s := range k.pass.columnsByMetric(m) {
			if s == nil {
				continue
			}
			if s.presence != nil {
				gone := map[int32]bool{}
				for _, e := range r.selected(s.presence) {
					gone[e] = true
				}
				k.absent[m][metric] = gone
			}
			if s.values != nil {
				k.base[m][metric] = keyColumnOf(s.values, r, m.dictionary.result.Metrics[metric].Kind)
			}
		}
	}
	if len(f.keys) == FollowedKeys {
		newest := slices.MaxFunc(f.keys, func(a, b *followed) int {
			return cmp.Compare(a.id.at, b.id.at)
		})
		i := 0
		if f.keys[0] == newest && newest.id.at > k.id.at {
			i = 1
		}
		f.keys = slices.Delete(f.keys, i, i+1)
	}
	f.keys = append(f.keys, k)
	return k
}

// keyColumnOf spreads a column's values over the entities of a key frame.
func keyColumnOf(col *frame.Column, r *entityMap, kind frame.Kind) *keyColumn {
	k := &keyColumn{}
	switch kind {
	case frame.String:
		k.texts = make([]string, r.keyEntities)
		for i, e := range r.selected(col) {
			k.texts[e] = col.Strings[i]
		}
	case frame.Histogram, frame.GaugeHistogram:
		k.buckets = make([]*frame.Buckets, r.keyEntities)
		k.histograms = make([]Histogram, r.keyEntities)
		for i, e := range r.selected(col) {
			k.buckets[e] = &col.Histograms[i]
		}
	default:
		k.words = make([]int64, r.keyEntities)
		for i, e := range r.selected(col) {
			if kind == frame.GaugeDouble {
				k.words[e] = int64(math.Float64bits(col.Doubles[i]))
			} else {
				k.words[e] = col.Ints[i]
			}
		}
	}
	return k
}

// visit visits the wanted cells of a pass.
func (f *Follower) visit(key *followed, p *pass, visit func(*Cell)) {
	var c Cell
	for i, m := range p.templates {
		if m == nil || p.entities[i] == nil {
			continue
		}
		r := p.entities[i]
		var list []*metricColumns
		if p != key.pass {
			list = p.columnsByMetric(m)
		}
		c.Of = m.dictionary.result
		c.Of.Node, c.Of.Cluster = p.frame.Node, p.frame.Cluster
		identity := &key.pass.frame.Identity
		c.Of.Datacenter, c.Of.Rack = identity.Datacenter, identity.Rack
		for metric, wanted := range f.wantedOf(m.dictionary) {
			if !wanted || !m.has(metric) {
				continue
			}
			c.Metric = metric
			f.column(key, m, r, metricColumnsOf(list, metric), &c, visit)
		}
	}
}

// wantedOf says by metric of a dictionary whether it is wanted.
func (f *Follower) wantedOf(d *dictionaryBuilder) []bool {
	list := f.wanted[d]
	for i := len(list); i < len(d.result.Metrics); i++ {
		list = append(list, f.want.Metric(d.result.Metrics[i].Name))
	}
	f.wanted[d] = list
	return list
}

// column visits the cells of one metric.
func (f *Follower) column(
	key *followed, m *metricMap, r *entityMap, s metricColumns, c *Cell, visit func(*Cell),
) {
	metric := &m.dictionary.result.Metrics[c.Metric]
	absent, base := key.absent[m][c.Metric], key.base[m][c.Metric]
	flipped := map[int32]bool{} // whose presence differs from the key frame's
	if s.presence != nil {
		for _, e := range r.selected(s.presence) {
			flipped[e] = true
		}
	}
	next := 0 // entry of the values; entities ascend in both lists
	for _, e := range r.live {
		entry := -1
		if s.values != nil {
			if s.values.All {
				entry = next
				next++
			} else {
				for next < len(s.values.Entities) && s.values.Entities[next] < int(e) {
					next++
				}
				if next < len(s.values.Entities) && s.values.Entities[next] == int(e) {
					entry = next
				}
			}
		}
		if absent[e] != flipped[e] {
			continue
		}
		c.Row = int(r.rows[e])
		keyed := int32(-1)
		if base != nil && int(e) < r.keyEntities {
			keyed = e
		}
		c.set(metric, base, keyed, s.values, entry)
		visit(c)
	}
}

// set sets the value: the key frame's of an entity (−1: zero) and entry i of a column (−1: none).
func (c *Cell) set(m *Metric, base *keyColumn, keyed int32, col *frame.Column, i int) {
	c.Int, c.Double, c.Text, c.Histogram = 0, 0, "", Histogram{}
	switch m.Kind {
	case frame.String:
		if keyed >= 0 {
			c.Text = base.texts[keyed]
		}
		if i >= 0 {
			c.Text = col.Strings[i]
		}
	case frame.GaugeDouble:
		if keyed >= 0 {
			c.Double = math.Float64frombits(uint64(base.words[keyed]))
		}
		if i >= 0 {
			c.Double = col.Doubles[i]
		}
	case frame.Histogram, frame.GaugeHistogram:
		var first *frame.Buckets
		if keyed >= 0 {
			first = base.buckets[keyed]
		}
		if i < 0 && keyed >= 0 {
			if h := &base.histograms[keyed]; h.Size == 0 {
				*h = sumOf(m, first, nil)
			}
			c.Histogram = base.histograms[keyed]
			return
		}
		var difference *frame.Buckets
		if i >= 0 {
			difference = &col.Histograms[i]
		}
		c.Histogram = sumOf(m, first, difference)
	default:
		if keyed >= 0 {
			c.Int = base.words[keyed]
		}
		if i >= 0 {
			c.Int += col.Ints[i]
		}
	}
}

// unionSize returns how many buckets are in one list or the other; both ascend. It is counted first
// because histograms are kept: most buckets that move are in both.
func unionSize(a, b []int32) int {
	n, j := len(a)+len(b), 0
	for _, bucket := range a {
		for j < len(b) && b[j] < bucket {
			j++
		}
		if j < len(b) && b[j] == bucket {
			n--
		}
	}
	return n
}

// sumOf adds up a key frame's buckets and a difference; either may be nil.
func sumOf(m *Metric, a, b *frame.Buckets) Histogram {
	h := Histogram{Size: m.Buckets()}
	var none frame.Buckets
	if a == nil {
		a = &none
	}
	if b == nil {
		b = &none
	}
	h.Sum = a.Sum + b.Sum
	size := unionSize(a.Index, b.Index)
	if size == 0 {
		return h
	}
	h.Filled, h.Counts = make([]uint16, 0, size), make([]int64, 0, size)
	for i, j := 0, 0; i < len(a.Index) || j < len(b.Index); {
		var bucket int32
		var n int64
		switch {
		case j == len(b.Index) || i < len(a.Index) && a.Index[i] < b.Index[j]:
			bucket, n = a.Index[i], a.Count[i]
			i++
		case i == len(a.Index) || b.Index[j] < a.Index[i]:
			bucket, n = b.Index[j], b.Count[j]
			j++
		default:
			bucket, n = a.Index[i], a.Count[i]+b.Count[j]
			i, j = i+1, j+1
		}
		if n != 0 {
			h.Filled, h.Counts = append(h.Filled, uint16(bucket)), append(h.Counts, n)
		}
	}
	return h
}
