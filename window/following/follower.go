// Package following reads a node's frames one by one as they come, and says of each what the cells
// of wanted metrics are. Start with Follower. Rules live on it, and who reads the stream.
package following

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/numbering"
)

// Follower reads one node's frames as they come and says, frame by frame, what each cell of the
// wanted metrics is. Nothing is kept of a frame but what later ones are decoded against: its last
// key frames. A frame costs what it says and a visit to each wanted cell that is there.
//
// Rows and metrics keep their numbers (of Cell.Of) for as long as the Follower lives. It is for one
// goroutine.
type Follower struct {
	node         window.Node
	want         *frame.Wanted
	keys         []*keyFrame // in the order in which they were last of use
	dictionaries numbering.Dictionaries
	wanted       map[*numbering.Dictionary][]bool
}

// New returns a Follower for the metrics that are wanted; nil wants all.
func New(node window.Node, want *frame.Wanted) *Follower {
	return &Follower{node: node, want: want, wanted: map[*numbering.Dictionary][]bool{}}
}

// KeyFrames is how many key frames a Follower keeps: late frames name older ones.
const KeyFrames = 3

// ErrNoKey says that a delta frame came whose key frame the Follower has not seen, or no more.
var ErrNoKey = fmt.Errorf("window: the frame's key frame is not known: %w", frame.ErrKey)

// Heading is what a frame says beside the values.
type Heading struct {
	frame.Header
	Identity frame.Identity
}

// Frame takes the node's next frame and calls visit with each wanted cell that is there, unless
// visit is nil. The frame may be older than the one before. An error says that it cannot be read;
// that harms no later frame.
func (f *Follower) Frame(allow frame.Allowance, b []byte, visit func(*Cell)) (*Heading, error) {
	h, _, err := frame.Parse(b)
	if err != nil {
		return nil, err
	}
	id := numbering.KeyOf(&h)
	key := f.key(id)
	var p *numbering.Pass
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
		decoded, err := frame.DecodeWanted(allow, b, key.pass.Frame, f.want)
		if err != nil {
			return nil, err
		}
		p = numbering.NewPass(decoded, key.pass)
		p.Resolve(&f.dictionaries)
	}
	if visit != nil {
		f.visit(key, p, visit)
	}
	return &Heading{Header: h, Identity: key.pass.Frame.Identity}, nil
}

// Rows returns how many entities the Follower has numbered, those that are gone among them.
func (f *Follower) Rows() int {
	n := 0
	for _, d := range f.dictionaries.List {
		n += len(d.Result.Rows)
	}
	return n
}

func (f *Follower) key(id numbering.KeyID) *keyFrame {
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
func (f *Follower) keep(id numbering.KeyID, decoded *frame.Frame) *keyFrame {
	k := &keyFrame{pass: numbering.NewKeyPass(decoded), id: id,
		absent: map[*numbering.Metrics]map[int]map[int32]bool{},
		base:   map[*numbering.Metrics]map[int]*keyColumn{}}
	k.pass.Resolve(&f.dictionaries)
	for i, m := range k.pass.Templates {
		if m == nil || k.pass.Entities[i] == nil {
			continue
		}
		r := k.pass.Entities[i]
		k.absent[m], k.base[m] = map[int]map[int32]bool{}, map[int]*keyColumn{}
		for metric, s := range k.pass.ColumnsByMetric(m) {
			if s == nil {
				continue
			}
			if s.Presence != nil {
				gone := map[int32]bool{}
				for _, e := range r.Selected(s.Presence) {
					gone[e] = true
				}
				k.absent[m][metric] = gone
			}
			if s.Values != nil {
				kind := m.Dictionary.Result.Metrics[metric].Kind
				k.base[m][metric] = keyColumnOf(s.Values, r, kind)
			}
		}
	}
	if len(f.keys) == KeyFrames {
		newest := slices.MaxFunc(f.keys, func(a, b *keyFrame) int {
			return cmp.Compare(a.id.At, b.id.At)
		})
		i := 0
		if f.keys[0] == newest && newest.id.At > k.id.At {
			i = 1
		}
		f.keys = slices.Delete(f.keys, i, i+1)
	}
	f.keys = append(f.keys, k)
	return k
}

// visit visits the wanted cells of a pass.
func (f *Follower) visit(key *keyFrame, p *numbering.Pass, visit func(*Cell)) {
	var c Cell
	for i, m := range p.Templates {
		if m == nil || p.Entities[i] == nil {
			continue
		}
		r := p.Entities[i]
		var list []*numbering.Columns
		if p != key.pass {
			list = p.ColumnsByMetric(m)
		}
		c.Of = m.Dictionary.Result
		c.Of.Node, c.Of.Cluster = p.Frame.Node, p.Frame.Cluster
		identity := &key.pass.Frame.Identity
		c.Of.Datacenter, c.Of.Rack = identity.Datacenter, identity.Rack
		for metric, wanted := range f.wantedOf(m.Dictionary) {
			if !wanted || !m.Has(metric) {
				continue
			}
			c.Metric = metric
			f.column(key, m, r, numbering.ColumnsOf(list, metric), &c, visit)
		}
	}
}

// wantedOf says by metric of a dictionary whether it is wanted.
func (f *Follower) wantedOf(d *numbering.Dictionary) []bool {
	list := f.wanted[d]
	for i := len(list); i < len(d.Result.Metrics); i++ {
		list = append(list, f.want.Metric(d.Result.Metrics[i].Name))
	}
	f.wanted[d] = list
	return list
}

// column visits the cells of one metric.
func (f *Follower) column(
	key *keyFrame, m *numbering.Metrics, r *numbering.Entities, s numbering.Columns, c *Cell,
	visit func(*Cell),
) {
	metric := &m.Dictionary.Result.Metrics[c.Metric]
	absent, base := key.absent[m][c.Metric], key.base[m][c.Metric]
	flipped := map[int32]bool{} // whose presence differs from the key frame's
	if s.Presence != nil {
		for _, e := range r.Selected(s.Presence) {
			flipped[e] = true
		}
	}
	next := 0 // entry of the values; entities ascend in both lists
	for _, e := range r.Live {
		entry := -1
		if s.Values != nil {
			if s.Values.All {
				entry = next
				next++
			} else {
				for next < len(s.Values.Entities) && s.Values.Entities[next] < int(e) {
					next++
				}
				if next < len(s.Values.Entities) && s.Values.Entities[next] == int(e) {
					entry = next
				}
			}
		}
		if absent[e] != flipped[e] {
			continue
		}
		c.Row = int(r.Rows[e])
		keyed := int32(-1)
		if base != nil && int(e) < r.KeyEntities {
			keyed = e
		}
		c.set(metric, base, keyed, s.Values, entry)
		visit(c)
	}
}
