package blobs

import (
	"slices"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/codec"
	"github.com/ringwatch/ringwatch/window"
)

const dictionaryVersion = 1

// AppendDictionary appends a dictionary as COLUMNS.md describes it. Equal dictionaries give equal
// bytes.
func AppendDictionary(dst []byte, d *window.Dictionary) []byte {
	dst = append(dst, dictionaryVersion)
	dst = append(dst, d.Node[:]...)
	for _, s := range []string{d.Cluster, d.Datacenter, d.Rack, d.Key, d.Type} {
		dst = codec.AppendText(dst, s)
	}
	dst = codec.AppendUvarint(dst, uint64(len(d.Labels)))
	for _, l := range d.Labels {
		dst = codec.AppendText(dst, l)
	}
	var bounds []*frame.Bounds
	for i := range d.Metrics {
		if b := d.Metrics[i].Bounds; b != nil && boundsIndex(bounds, b) < 0 {
			bounds = append(bounds, b)
		}
	}
	dst = codec.AppendUvarint(dst, uint64(len(bounds)))
	for _, b := range bounds {
		dst = codec.AppendSvarint(dst, int64(b.Exponent))
		dst = codec.AppendUvarint(dst, uint64(len(b.Upper)))
		last := int64(0)
		for _, u := range b.Upper {
			dst = codec.AppendSvarint(dst, u-last)
			last = u
		}
	}
	dst = codec.AppendUvarint(dst, uint64(len(d.Metrics)))
	for i := range d.Metrics {
		m := &d.Metrics[i]
		dst = append(codec.AppendText(dst, m.Name), byte(m.Kind))
		dst = codec.AppendSvarint(codec.AppendText(dst, m.Unit), int64(m.Exponent))
		if m.Kind.IsHistogram() {
			set := uint64(boundsIndex(bounds, m.Bounds)) << 1
			if m.HasSum {
				set |= 1
			}
			dst = codec.AppendUvarint(dst, set)
		}
	}
	dst = codec.AppendUvarint(dst, uint64(len(d.Rows)))
	last := make([]string, len(d.Labels))
	for _, row := range d.Rows {
		for i, v := range row {
			n := shared(last[i], v)
			dst = codec.AppendText(codec.AppendUvarint(dst, uint64(n)), v[n:])
		}
		last = row
	}
	return dst
}

func boundsIndex(list []*frame.Bounds, b *frame.Bounds) int {
	return slices.IndexFunc(list, func(o *frame.Bounds) bool { return window.EqualBounds(o, b) })
}

// shared returns how many bytes a and b begin with alike.
func shared(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// maxRows bounds the entities of a dictionary; a decoder's allocations are bounded by the input
// already.
const maxRows = frame.MaxCells

// maxMetrics bounds the metrics of a dictionary: one that changed its definition is there twice.
const maxMetrics = 2 * frame.MaxMetrics

// DecodeDictionary reads a dictionary's blob. The error wraps ErrVersion or ErrMalformed.
func DecodeDictionary(b []byte) (*window.Dictionary, error) {
	r := read(b)
	r.Version(dictionaryVersion)
	d := &window.Dictionary{}
	copy(d.Node[:], r.Take(len(d.Node)))
	for _, s := range []*string{&d.Cluster, &d.Datacenter, &d.Rack, &d.Key, &d.Type} {
		*s = r.Text("a name")
	}
	for range r.Count("labels", frame.MaxLabels) {
		d.Labels = append(d.Labels, r.Text("a label"))
	}
	bounds := make([]*frame.Bounds, r.Count("bounds sets", frame.MaxBoundsSets))
	for i := range bounds {
		bounds[i] = r.bounds()
	}
	for range r.Count("metrics", 2*frame.MaxMetrics) {
		m := window.Metric{Type: d.Type, Name: r.Text("a name"), Kind: frame.Kind(r.Byte()),
			Unit: r.Text("a unit"), Exponent: int(r.Svarint())}
		if m.Kind > frame.String || m.Exponent < -18 || m.Exponent > 18 {
			r.Fail("metric %q has kind %d and exponent %d", m.Name, m.Kind, m.Exponent)
		}
		if m.Kind.IsHistogram() {
			set := r.Number("a bounds set", 2*len(bounds))
			if r.Err == nil {
				m.Bounds, m.HasSum = bounds[set/2], set%2 == 1
			}
		}
		d.Metrics = append(d.Metrics, m)
	}
	r.rows(d)
	if err := r.Done(); err != nil {
		return nil, err
	}
	return d, nil
}

func (r *reader) bounds() *frame.Bounds {
	b := &frame.Bounds{Exponent: int(r.Svarint())}
	last := int64(0)
	for i := range r.Count("bounds", frame.MaxBounds) {
		u := last + r.Svarint()
		if i > 0 && u <= last {
			r.Fail("bounds do not rise")
		}
		b.Upper = append(b.Upper, u)
		last = u
	}
	if len(b.Upper) == 0 || b.Exponent < -18 || b.Exponent > 18 {
		r.Fail("a bounds set is empty or of exponent %d", b.Exponent)
	}
	return b
}

// rows reads the entities. A value that repeats its predecessor's costs two bytes and may be
// long, so what all values take together is bounded, too.
func (r *reader) rows(d *window.Dictionary) {
	n := r.Uvarint()
	limit := uint64(1)
	if len(d.Labels) > 0 {
		limit = uint64(min(maxRows, len(r.Rest)/(2*len(d.Labels))))
	}
	if n > limit {
		r.Fail("%d entities, at most %d can be", n, limit)
	}
	if r.Err != nil {
		return
	}
	d.Rows = make([][]string, n)
	values := make([]string, int(n)*len(d.Labels))
	last := make([]string, len(d.Labels))
	total := 0
	for i := range d.Rows {
		row := values[i*len(d.Labels) : (i+1)*len(d.Labels) : (i+1)*len(d.Labels)]
		for j := range row {
			keep := r.Number("a shared beginning", len(last[j])+1)
			tail := string(r.Take(r.Count("bytes of a label value", frame.MaxLabelBytes)))
			if r.Err != nil {
				return
			}
			switch {
			case tail == "" && keep == len(last[j]):
				row[j] = last[j] // no copy
			default:
				row[j] = last[j][:keep] + tail
				total += len(row[j])
			}
		}
		if total > frame.MaxRawBytes {
			r.Fail("label values take more than %d bytes", frame.MaxRawBytes)
			return
		}
		if i > 0 && slices.Compare(last, row) >= 0 {
			r.Fail("entities are not in order")
			return
		}
		d.Rows[i] = row
		last = row
	}
}
