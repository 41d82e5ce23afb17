package window

import (
	"github.com/ringwatch/ringwatch/blob"
	"github.com/ringwatch/ringwatch/frame"
)

// EncodedColumn is a column's blob. Key and Metric tell it apart within its window.
type EncodedColumn struct {
	Key    string // Dictionary.Key
	Metric string // Dictionary.MetricKey
	Blob   []byte
}

// Columns encodes the window. Equal windows give equal bytes. rep is kept in meta.
func (w *Window) Columns(rep Report) Encoded {
	var out Encoded
	times := appendTimes(nil, w.Start, w.Times)
	meta := w.metaHead(rep, times)
	meta = blob.AppendUvarint(meta, uint64(len(w.Types)))
	var buf []byte
	for _, t := range w.Types {
		d := t.Dictionary.Append(nil)
		e := columnEncoder{Type: t, hash: HashOf(d), times: times, instants: int32(len(w.Times)), live: appendPresence(nil, t.live)}
		out.Dictionaries = append(out.Dictionaries, EncodedDictionary{t.Key, e.hash, d})
		meta = append(blob.AppendText(meta, t.Key), e.hash[:]...)
		meta = append(meta, e.live...)
		meta = blob.AppendUvarint(meta, uint64(len(t.Metrics)))
		states := make([]uint64, len(t.Metrics))
		for m, c := range t.columns {
			states[m] = uint64(t.state(c))
			if states[m] != stateStored || !c.whole() {
				continue
			}
			from := len(buf)
			buf = e.append(buf, m)
			out.Columns = append(out.Columns, EncodedColumn{t.Key, t.MetricKey(m), buf[from:len(buf):len(buf)]})
		}
		meta = appendPacked(meta, states, stateBits)
	}
	out.Meta = meta
	return out
}

func (t *Type) state(c *column) byte {
	switch {
	case c == nil:
		return stateZero
	case c != unknown && c.present.none(len(t.Rows)):
		return stateAbsent
	}
	return stateStored
}

const metaVersion = 1

func (w *Window) metaHead(rep Report, times []byte) []byte {
	dst := []byte{metaVersion}
	for _, s := range []string{w.Node.Cluster, w.Node.Datacenter, w.Node.Rack} {
		dst = blob.AppendText(dst, s)
	}
	dst = blob.AppendUvarint(dst, uint64(w.Node.Interval))
	for _, n := range []int{rep.Frames, rep.Duplicates, rep.Corrupt, rep.MissingKey, rep.Excess} {
		dst = blob.AppendUvarint(dst, uint64(n))
	}
	return append(dst, times...)
}

// Meta is what a window's meta blob says, without its dictionaries.
type Meta struct {
	Node   Node // account and facts are not stored
	Start  int64
	Times  []int64
	Report Report // of the Build that made the window, or the last part of it
	Types  []MetaType
}

// MetaType is what meta says of one entity type.
type MetaType struct {
	Key    string
	Hash   Hash
	blob   []byte // presence, number of metrics and states: what needs the dictionary
	states []byte
}

// Stored reports whether metric number i has a column of its own.
func (t *MetaType) Stored(i int) bool {
	return i < len(t.states) && t.states[i] == stateStored
}

// DecodeMeta reads the meta blob of the window that begins at start. The error wraps ErrVersion or ErrMalformed.
func DecodeMeta(start int64, b []byte) (*Meta, error) {
	r := read(b)
	r.Version(metaVersion)
	m := &Meta{Start: start}
	for _, s := range []*string{&m.Node.Cluster, &m.Node.Datacenter, &m.Node.Rack} {
		*s = r.Text("a name")
	}
	m.Node.Interval = int64(r.Number("the interval", 3_600_001))
	for _, n := range []*int{&m.Report.Frames, &m.Report.Duplicates, &m.Report.Corrupt, &m.Report.MissingKey, &m.Report.Excess} {
		*n = r.Number("a count of frames", 1<<31)
	}
	m.Times = r.times(start, frame.WindowMillis)
	for range r.Count("types", 2*frame.MaxTemplates) {
		t := MetaType{Key: r.Text("a type")}
		copy(t.Hash[:], r.Take(len(t.Hash)))
		from := r.Rest
		r.skipPresence(int32(len(m.Times)))
		t.blob = from[:len(from)-len(r.Rest)]
		n := r.Number("metrics", 2*frame.MaxMetrics+1)
		packed := r.Take((n*stateBits + 7) / 8)
		if r.Err != nil {
			break
		}
		t.states = make([]byte, n)
		for i := range t.states {
			t.states[i] = byte(packedAt(packed, i, stateBits))
		}
		m.Types = append(m.Types, t)
	}
	if err := r.Done(); err != nil {
		return nil, err
	}
	return m, nil
}

// skipPresence reads over a presence whose dictionary is not at hand.
func (r *reader) skipPresence(instants int32) {
	for range r.Count("patterns", len(r.Rest)) {
		for range r.Count("edges", int(instants)) {
			r.Uvarint()
		}
		for range r.Count("runs", len(r.Rest)) {
			r.Uvarint()
			r.Uvarint()
		}
		if r.Err != nil {
			return
		}
	}
}
