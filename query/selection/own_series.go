package selection

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/query/fleet"
	"github.com/ringwatch/ringwatch/query/plan"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/series"
	"github.com/ringwatch/ringwatch/window"
)

// OwnInterval is how often nodes' own series have a sample, in ms, in a range: they change
// seldom, and no query looks back less.
const OwnInterval = 60_000

// ownSeries returns the nodes' own series that are asked for: what is known now, for instants up to
// a minute old; and what frames say for earlier ones, see Reader.Instants.
func (s *Selection) ownSeries(ctx context.Context, nodes *fleet.Fleet) ([]*series.Series, error) {
	v := ownSeries{selection: s, up: s.Plan.Named(series.MetricUp),
		lastSeen: s.Plan.Named(series.MetricSeen),
		info:     s.Plan.Named(series.MetricInfo)}
	if !v.up && !v.lastSeen && !v.info {
		return nil, nil
	}
	chosen := s.Plan.Place.Pick(nodes).List(nodes)
	last, missing, err := s.Query.Source.Reader.LastSeen(ctx, s.Query.Who.Account, chosen)
	s.addMissing(missing)
	if err != nil {
		s.addMissing([]string{"when nodes were last heard of: the store does not answer now"})
		return nil, nil
	}
	for i := range chosen {
		if last[chosen[i].ID] > 0 {
			v.nodes = append(v.nodes, &chosen[i])
		} else {
			s.Query.Unheard.Store(true)
		}
	}
	v.last, v.times, v.lists = last, s.ownTimes(), make([][]*series.Series, len(v.nodes))
	if err := v.read(ctx); err != nil {
		return nil, err
	}
	return slices.Concat(v.lists...), nil
}

// ownSeries makes the nodes' own series that a selector asks for. Instants are in ms.
type ownSeries struct {
	selection          *Selection
	up, lastSeen, info bool                // which are asked for
	nodes              []*window.Node      // that have been heard of
	last               map[uuid.UUID]int64 // when each was heard of
	times              []int64
	lists              [][]*series.Series // by node
}

// read makes all of them. What frames say is read only of nodes of which it is not known by when
// they were last heard of.
func (v *ownSeries) read(ctx context.Context) error {
	var places []int
	var nodes []window.Node
	for i := range v.nodes {
		if !v.makesUp(v.nodes[i]) && !v.lastSeen ||
			v.selection.IsInstant() && v.selection.Hints.End >= v.last[v.nodes[i].ID] {
			if err := v.node(i, nil); err != nil {
				return err
			}
			continue
		}
		places, nodes = append(places, i), append(nodes, *v.nodes[i])
	}
	if len(nodes) == 0 {
		return nil
	}
	from := max(v.selection.Hints.Start-OwnInterval,
		v.selection.now-v.selection.Query.Source.Limits.RawRetention.Milliseconds())
	missing, err := v.selection.Query.Source.Reader.Instants(ctx, v.selection.Query.Who.Account,
		nodes, from, v.selection.Hints.End,
		func(i int, instants []int64, err error) error {
			if err != nil {
				v.selection.addMissing([]string{"when a node was heard of: " + err.Error()})
				instants = nil
			}
			return v.node(places[i], instants)
		})
	v.selection.addMissing(missing)
	return err
}

// makesUp reports whether up is asked for and made of when a node was heard of.
func (v *ownSeries) makesUp(n *window.Node) bool { return v.up && !n.Watched() }

// node makes the series of a node that sent frames at some instants, and was last heard of later or
// with the last of them.
func (v *ownSeries) node(i int, instants []int64) error {
	n := v.nodes[i]
	beats, ends := v.untilLeft(n)
	if v.info {
		if err := v.take(i, series.InfoLabels(n), beats, series.Presence(beats), ends); err != nil {
			return err
		}
	}
	if !v.makesUp(n) && !v.lastSeen {
		return nil
	}
	if at := v.last[n.ID]; len(instants) == 0 || at > instants[len(instants)-1] {
		instants = append(instants, at)
	}
	first, _ := slices.BinarySearch(beats, instants[0])
	beats = beats[first:]
	if v.lastSeen {
		of := follow(beats, instants, func(_, heard int64) float64 { return float64(heard) / 1000 })
		if err := v.take(i, series.NodeLabels(n, series.MetricSeen), beats, of, ends); err != nil {
			return err
		}
	}
	if v.makesUp(n) {
		of := follow(beats, instants, func(at, heard int64) float64 {
			if v.selection.Query.Source.Reader.StateAt(at, heard, n.Interval) == read.StateDown {
				return 0
			}
			return 1
		})
		return v.take(i, series.NodeLabels(n, series.MetricUp), beats, of, ends)
	}
	return nil
}

// follow returns a value for each of the times: what value makes of the last instant that is not
// later. The first of them has one.
func follow(beats, instants []int64, value func(at, heard int64) float64) *series.Points {
	list := make([]float64, len(beats))
	k := 0
	for i, at := range beats {
		for k+1 < len(instants) && instants[k+1] <= at {
			k++
		}
		list[i] = value(at, instants[k])
	}
	return &series.Points{Times: beats, Values: list}
}

// take takes a series that is asked for, with its memory.
func (v *ownSeries) take(
	i int, l labels.Labels, beats []int64, of series.Samples, ends []int64,
) error {
	if len(beats) == 0 || !v.selection.Plan.Means(l) {
		return nil
	}
	if err := v.selection.Lease.Take(series.SeriesCost + 8*int64(len(beats))); err != nil {
		return err
	}
	v.lists[i] = append(v.lists[i], &series.Series{Metric: l,
		Segments: []series.Segment{{Samples: of, Ends: ends}},
		Context:  v.selection.Query.Ctx})
	return nil
}

// untilLeft returns the times at which a node had not left, and where its series end: when it left.
func (v *ownSeries) untilLeft(n *window.Node) (beats, ends []int64) {
	end := v.selection.Query.Source.Reader.Left(v.selection.Query.Who.Account, n)
	if end == nil {
		return v.times, nil
	}
	k, _ := slices.BinarySearch(v.times, end.At)
	if k < len(v.times) {
		ends = []int64{end.At}
	}
	return v.times[:k], ends
}

// ownTimes are the instants at which nodes' own series have samples: the end, and every
// minute, or every step if that is longer. A query of one step has one of them.
func (s *Selection) ownTimes() []int64 {
	every := int64(OwnInterval)
	end := min(s.Hints.End, s.now)
	// What is no query, such as a remote read, says no step: whoever reads may look anywhere.
	one := s.Query.Within != nil && s.Hints.Range == 0 && s.windows.Step == 0
	if one && s.windows.Known { // it may lie before the end
		end = min(end, s.windows.End)
	}
	if s.Hints.Range == 0 && s.windows.Step > every { // then where they are looked at
		every = s.windows.Step
		end -= plan.Mod(end-s.windows.End, every)
	}
	// nobody knows before that
	start := max(s.Hints.Start, s.now-s.Query.Source.Limits.RawRetention.Milliseconds())
	var list []int64
	for t := start + (end-start)%every; t <= end; t += every {
		if one && t < end {
			continue
		}
		list = append(list, t)
	}
	return list
}
