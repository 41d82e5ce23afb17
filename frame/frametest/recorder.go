package frametest

import (
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
)

// Recorded is a sample as a rule records it.
type Recorded struct {
	Name   string
	Labels map[string]string // without empty values
	Value  float64           // not NaN
}

// Recorder makes the frames of what rules of a group record in a cluster, as package rules does:
// each is a key frame, a template a metric, with all labels that any of its series has.
type Recorder struct {
	Account, Cluster, Group string
	Interval                int64     // ms
	Node                    uuid.UUID // another id than the recorder's, such as a process's

	sequence uint64
}

// Frame returns the next frame. No two samples have one name and labels.
func (r *Recorder) Frame(at int64, list []Recorded) ([]byte, error) {
	f := frame.Frame{Header: frame.Header{Compression: frame.Zstd, Cluster: r.Cluster, Started: 1,
		Node: r.Node, Sequence: r.sequence, At: at,
		Interval: r.Interval}}
	r.sequence++
	if r.Node == uuid.Nil {
		f.Node = frame.RecorderID(r.Account, r.Cluster, r.Group)
	}
	byName := map[string][]Recorded{}
	for _, one := range list {
		byName[one.Name] = append(byName[one.Name], one)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		r.template(&f, name, byName[name])
	}
	return f.Append(nil, nil)
}

func (r *Recorder) template(f *frame.Frame, name string, list []Recorded) {
	names := map[string]bool{}
	for _, one := range list {
		for l := range one.Labels {
			names[l] = true
		}
	}
	order := slices.Sorted(maps.Keys(names))
	row := func(one Recorded) (values []string) {
		for _, l := range order {
			values = append(values, one.Labels[l])
		}
		return values
	}
	slices.SortFunc(list, func(a, b Recorded) int { return slices.Compare(row(a), row(b)) })
	number := len(f.Templates)
	h := fnv.New64a()
	h.Write([]byte(name))
	t := frame.Template{Type: "recorded_" + strconv.FormatUint(h.Sum64(), 16),
		Metrics: []frame.Metric{{Name: name, Kind: frame.GaugeDouble}}}
	for _, l := range order {
		t.Labels = append(t.Labels, frame.RecordedLabel(l))
	}
	var rows [][]string
	var c frame.Column
	for i, one := range list {
		rows = append(rows, row(one))
		if math.Float64bits(one.Value) != 0 {
			c.Entities, c.Doubles = append(c.Entities, i), append(c.Doubles, one.Value)
		}
	}
	f.Templates = append(f.Templates, t)
	f.Added = append(f.Added, frame.Entities{Template: number, Rows: rows})
	if len(c.Doubles) == len(rows) {
		c.All, c.Entities = true, nil
	}
	if len(c.Doubles) > 0 {
		f.Values = append(f.Values, frame.Group{Template: number, Columns: []frame.Column{c}})
	}
}
