// Package encoder makes frames of readings: a key frame at the start of each window and when the
// shape of a reading changes, and else a delta frame with what differs from it. Begin with Encoder.
// Of our packages it imports frame and watch/reading.
//
// What it promises: each frame that it returns can be decoded. What a frame cannot hold is left out
// and counted.
//
// What bites: a delta frame needs its key frame. Who loses a key frame says so with Lost.
package encoder

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/watch/reading"
)

// Encoder makes the frames of one target. It is used by one goroutine at a time.
type Encoder struct {
	target   reading.Target
	labels   []frame.Fact // labels that every series gets
	started  uint64
	sequence uint64
	last     int64 // ms: the newest frame
	key      *keyed
}

// keyed is a key frame and the state that it says. Values are copies.
type keyed struct {
	frame    *frame.Frame
	identity frame.Identity
	tables   map[string]*keyedTable // by type
}

type keyedTable struct {
	number int // of the template
	table  reading.Table
	at     map[string]int // where a row is, by its joined values
}

// New returns the encoder of a target that is read from started on, in ms since the Unix epoch.
// labels are added to every series.
func New(t reading.Target, started int64, labels ...frame.Fact) *Encoder {
	return &Encoder{target: t, started: uint64(started), labels: labels}
}

// Of says who the target is now: all may have changed but its id.
func (e *Encoder) Of(t reading.Target) { e.target = t }

// Last returns when the newest frame is of, in ms since the Unix epoch.
func (e *Encoder) Last() int64 { return e.last }

// Lost says that the frame of an instant will not arrive. If others need it, the next one is a key
// frame.
func (e *Encoder) Lost(at int64) {
	if e.key != nil && e.key.frame.At == at {
		e.key = nil
	}
}

// clockBack is how far a clock may go back before the target begins anew, in ms, as agents do.
const clockBack = 60_000

// Frame returns the frame of what was read at an instant, in ms since the Unix epoch, and how many
// series were left out of it because no frame can hold them. cost is the CPU time of the reading
// before, in ns.
func (e *Encoder) Frame(at int64, cost uint64, r *reading.Reading) (b []byte, left int, err error) {
	if e.last-at > clockBack {
		e.started, e.sequence, e.last, e.key = uint64(at), 0, 0, nil
	}
	at = max(at, e.last+1)
	f := &frame.Frame{Header: frame.Header{Compression: frame.Zstd, Node: e.target.ID(),
		Cluster: e.target.Cluster, Started: e.started, Sequence: e.sequence, At: at,
		Interval: max(1, e.target.Interval.Milliseconds()), Cost: cost}}
	identity := e.identity(r)
	tables, left := e.fit(r)
	if e.key == nil || frame.WindowOf(at) != e.key.frame.Window() ||
		!sameIdentity(&identity, &e.key.identity) || !e.delta(f, tables) {
		f.KeyAge = 0
		f.Added, f.Removed, f.Presence, f.Values = nil, nil, nil, nil
		f.Identity = identity
		e.keyFrame(f, tables)
		if b, err = f.Append(nil, nil); err == nil {
			// What delta frames need of it.
			e.key.frame = &frame.Frame{Header: f.Header, Bounds: f.Bounds, Templates: f.Templates}
		}
	} else {
		b, err = f.Append(nil, e.key.frame)
	}
	if err != nil {
		e.key = nil
		return nil, left, err
	}
	e.last = at
	e.sequence++
	return b, left, nil
}

// identity says what the target is.
func (e *Encoder) identity(r *reading.Reading) frame.Identity {
	facts := map[string]string{}
	for _, f := range r.Facts {
		facts[f.Name] = f.Value
	}
	facts["kind"], facts["job"], facts["instance"] = e.target.Kind, e.target.Job, e.target.Instance
	id := frame.Identity{Datacenter: Clipped(e.target.Datacenter), Rack: Clipped(e.target.Rack)}
	for name, value := range facts {
		if value != "" && name != "" && len(name) <= frame.MaxNameBytes &&
			len(id.Facts) < frame.MaxFacts {
			id.Facts = append(id.Facts, frame.Fact{Name: name, Value: Clipped(value)})
		}
	}
	slices.SortFunc(id.Facts, func(a, b frame.Fact) int { return cmp.Compare(a.Name, b.Name) })
	return id
}

func sameIdentity(a, b *frame.Identity) bool {
	return a.Datacenter == b.Datacenter && a.Rack == b.Rack && slices.Equal(a.Facts, b.Facts)
}

var (
	typeName   = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	metricName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
	labelName  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	unitName   = regexp.MustCompile(`^[a-z_]*$`)
)

// fit returns the tables that a frame can hold, and how many series it cannot.
func (e *Encoder) fit(r *reading.Reading) (list []reading.Table, left int) {
	types, names := map[string]bool{}, map[string]bool{}
	entities, cells := 0, 0
	for i := range r.Tables {
		t := r.Tables[i]
		if len(t.Rows) == 0 || len(t.Columns) == 0 {
			continue
		}
		t.Labels = e.labelNames(t.Labels)
		columns := make([]reading.Column, 0, len(t.Columns))
		for _, c := range t.Columns {
			if !names[c.Name] && fits(&c, len(t.Rows)) && len(columns) < frame.MaxMetrics {
				names[c.Name] = true
				columns = append(columns, c)
			} else {
				left += len(t.Rows)
			}
		}
		t.Columns = columns
		entities += len(t.Rows)
		cells += len(t.Rows) * len(columns)
		if types[t.Type] || t.Labels == nil || len(columns) == 0 ||
			len(list) == frame.MaxTemplates || !typeName.MatchString(t.Type) ||
			len(t.Type) > frame.MaxNameBytes || entities > frame.MaxEntities ||
			cells > frame.MaxCells {
			left += len(t.Rows) * len(columns)
			entities -= len(t.Rows)
			cells -= len(t.Rows) * len(columns)
			continue
		}
		types[t.Type] = true
		list = append(list, t)
	}
	return list, left
}

// labelNames returns the names under which a frame has labels, those that every series gets among
// them; nil if it cannot have them.
func (e *Encoder) labelNames(names []string) []string {
	list := make([]string, 0, len(names)+len(e.labels))
	for _, name := range names {
		switch name {
		case "cluster", "datacenter", "rack", "node", "le":
			name = "exported_" + name
		case "quantile":
			name = frame.RecordedLabel(name)
		}
		if !labelName.MatchString(name) || strings.HasPrefix(name, "__") ||
			len(name) > frame.MaxNameBytes || slices.Contains(list, name) {
			return nil
		}
		list = append(list, name)
	}
	for _, l := range e.labels {
		if slices.Contains(list, l.Name) {
			return nil
		}
		list = append(list, l.Name)
	}
	if len(list) > frame.MaxLabels {
		return nil
	}
	return list
}

// fits reports whether a frame can hold a column of so many rows.
func fits(c *reading.Column, rows int) bool {
	if !metricName.MatchString(c.Name) || len(c.Name) > frame.MaxNameBytes ||
		!unitName.MatchString(c.Unit) || len(c.Unit) > frame.MaxNameBytes ||
		c.Exponent < -18 || c.Exponent > 18 {
		return false
	}
	switch c.Kind {
	case frame.Counter, frame.Gauge:
		return len(c.Ints) == rows
	case frame.GaugeDouble:
		return len(c.Doubles) == rows && c.Exponent == 0
	case frame.Histogram, frame.GaugeHistogram:
		return len(c.Histograms) == rows && len(c.Bounds.Upper) > 0 &&
			len(c.Bounds.Upper) <= frame.MaxBounds
	}
	return false
}

// Clipped returns a text as a frame can have it as a label's value: valid and not too long.
func Clipped(text string) string {
	if len(text) > frame.MaxLabelBytes {
		text = text[:frame.MaxLabelBytes]
	}
	return strings.ToValidUTF8(text, "")
}

// joined returns a row as one text.
func joined(b []byte, row []string) []byte {
	for _, v := range row {
		b = append(append(b, v...), 0xff)
	}
	return b
}

// present reports whether a column has a value of a row. A counter's is not negative.
func present(c *reading.Column, row int) bool {
	switch c.Kind {
	case frame.Counter:
		return c.Ints[row] >= 0
	case frame.Gauge:
		return c.Ints[row] != reading.NoInt
	case frame.GaugeDouble:
		return !math.IsNaN(c.Doubles[row])
	}
	return len(c.Histograms[row].Counts) == len(c.Bounds.Upper)+1
}
