package frame

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Limits of a frame's events: FORMAT.md §4.0.
const (
	MaxEvents       = 64
	MaxEventText    = 1024
	MaxEventLabels  = 16
	MaxEventsLength = 64 << 10 // bytes of the whole section
)

// maxEventsBytes is what a section of events takes at most, its length included.
const maxEventsBytes = MaxEventsLength + binary.MaxVarintLen32

// Severity is how much an event matters.
type Severity uint8

// The severities.
const (
	Info Severity = iota
	Warning
	Error
	severities // their number
)

var severityNames = [severities]string{"info", "warning", "error"}

// String returns the severity's name in FORMAT.md.
func (s Severity) String() string {
	if s < severities {
		return severityNames[s]
	}
	return fmt.Sprintf("severity(%d)", uint8(s))
}

// ParseSeverity returns the severity of a name, and whether there is one.
func ParseSeverity(name string) (Severity, bool) {
	i := slices.Index(severityNames[:], name)
	return Severity(max(i, 0)), i >= 0
}

// SeverityNames returns the names of the severities, the least first.
func SeverityNames() []string { return slices.Clone(severityNames[:]) }

// Event is something that happened on the node. What tells an event from all others is its node,
// the frame's At and its index in the frame.
type Event struct {
	At       int64  // when, in milliseconds since the Unix epoch; not after the frame's At
	Kind     string // what, such as node_down: [a-z][a-z0-9_]*
	Severity Severity
	Labels   []Label // what it is about, by ascending name
	Text     string  // for people, at most MaxEventText bytes
}

// Label is one named text about an event, such as its table. The value is not empty.
type Label struct{ Name, Value string }

// Label returns the value of a label, or "".
func (e *Event) Label(name string) string {
	for _, l := range e.Labels {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}

// What decoded events take, in bytes, without their texts.
const (
	eventSize      = 96
	eventLabelSize = 32
)

// Events returns a frame's events, nil if it has none. It needs no key frame and unpacks no more
// than the events: whether the rest can be decoded stays open. The error wraps one of the package's
// sentinels.
func Events(b []byte) ([]Event, error) {
	h, packed, err := Parse(b)
	if err != nil || !h.HasEvents {
		return nil, err
	}
	head, err := unpackFirst(&h, packed, min(h.RawLength, binary.MaxVarintLen32))
	if err != nil {
		return nil, err
	}
	size := eventsSize(head, min(h.RawLength, maxEventsBytes))
	if head, err = unpackFirst(&h, packed, size); err != nil {
		return nil, err
	}
	d := decoder{reader: reader{b: head}, f: &Frame{Header: h}}
	d.events()
	return d.f.Events, d.err
}

// eventsSize returns how many bytes the section of events takes that a payload begins with, as its
// first bytes say: raw, those of the payload, at most.
func eventsSize(head []byte, raw int) int {
	r := reader{b: head}
	n := r.uvarint()
	return len(head) - len(r.b) + int(min(n, uint64(raw-len(head)+len(r.b))))
}

// eventsSection takes the section of events off the payload and returns what is in it.
func (d *decoder) eventsSection() []byte {
	n := d.count("bytes of events", MaxEventsLength, 1)
	section := d.b[:n]
	d.b = d.b[n:]
	return section
}

// events reads what happened.
func (d *decoder) events() {
	in := decoder{allow: d.allow, f: d.f}
	in.b = d.eventsSection()
	if in.err = d.err; d.err == nil {
		in.eventList()
	}
	if in.err == nil && len(in.b) > 0 {
		in.fail(ErrMalformed, "%d bytes behind the last event", len(in.b))
	}
	if d.err = in.err; d.err != nil {
		d.b = nil
	}
}

func (d *decoder) eventList() {
	n := d.count("events", MaxEvents, 5)
	if n == 0 {
		d.fail(ErrMalformed, "a section of events without any")
	}
	if d.take(int64(n*eventSize + len(d.b))); d.err != nil {
		return
	}
	d.f.Events = make([]Event, 0, n)
	last := int64(0)
	for i := 0; i < n && d.err == nil; i++ {
		e := d.event()
		if e.At < last {
			d.fail(ErrMalformed, "events are not in order")
		}
		last = e.At
		d.f.Events = append(d.f.Events, e)
	}
}

func (d *decoder) event() Event {
	age := d.uvarint()
	if age >= uint64(d.f.At) {
		d.fail(ErrMalformed, "an event is older than time")
		return Event{}
	}
	e := Event{At: d.f.At - int64(age), Kind: d.text("an event's kind", MaxNameBytes),
		Severity: Severity(d.u8())}
	if d.err == nil && !isType(e.Kind) {
		d.fail(ErrMalformed, "%q is no kind of an event", e.Kind)
	}
	if e.Severity >= severities {
		d.fail(ErrMalformed, "unknown severity %d", e.Severity)
	}
	n := d.count("labels of an event", MaxEventLabels, 3)
	if d.take(int64(n * eventLabelSize)); n > 0 && d.err == nil {
		e.Labels = make([]Label, 0, n)
	}
	for i := 0; i < n && d.err == nil; i++ {
		l := Label{Name: d.text("a label's name", MaxNameBytes),
			Value: d.text("a label value", MaxLabelBytes)}
		switch {
		case d.err != nil:
		case !isLabel(l.Name):
			d.fail(ErrMalformed, "%q is no name of a label", l.Name)
		case l.Value == "":
			d.fail(ErrMalformed, "a label of an event is empty")
		case i > 0 && l.Name <= e.Labels[i-1].Name:
			d.fail(ErrMalformed, "labels of an event are not in order")
		}
		e.Labels = append(e.Labels, l)
	}
	e.Text = d.text("an event's text", MaxEventText)
	return e
}

// appendEvents appends the section of events, if there are any.
func (f *Frame) appendEvents(dst []byte) ([]byte, error) {
	if len(f.Events) == 0 {
		return dst, nil
	}
	list := appendUvarint(nil, uint64(len(f.Events)))
	for i := range f.Events {
		e := &f.Events[i]
		list = appendUvarint(list, uint64(f.At-e.At))
		list = append(appendText(list, e.Kind), byte(e.Severity))
		list = appendUvarint(list, uint64(len(e.Labels)))
		for _, l := range e.Labels {
			list = appendText(appendText(list, l.Name), l.Value)
		}
		list = appendText(list, e.Text)
	}
	if len(list) > MaxEventsLength {
		return dst, fmt.Errorf("%w: %d bytes of events where %d are allowed", ErrTooLarge,
			len(list), MaxEventsLength)
	}
	return appendText(dst, string(list)), nil
}
