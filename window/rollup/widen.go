package rollup

import "github.com/ringwatch/ringwatch/frame"

// Widen joins a series' periods into steps, in milliseconds, aligned to the Unix epoch: each then
// says of its step what it said of its period. A step that is a level's gives what Select gives of
// that level.
func (s *Series) Widen(step int64) {
	out := Series{Labels: s.Labels, Metric: s.Metric, Level: Level{Millis: step}}
	for _, l := range Levels {
		if l.Millis == step {
			out.Level = l
		}
	}
	var wide Point
	for i := range s.Start {
		p := s.At(i)
		p.Start -= (p.Start%step + step) % step
		if i > 0 && wide.Start == p.Start {
			wide.add(s.Metric.Kind, &p)
			continue
		}
		if i > 0 {
			out.Append(&wide)
		}
		wide = p
	}
	if len(s.Start) > 0 {
		out.Append(&wide)
	}
	*s = out
}

// add adds the point of a later period.
func (p *Point) add(kind frame.Kind, later *Point) {
	p.Count += later.Count
	p.Last, p.LastDouble, p.LastCounts = later.Last, later.LastDouble, later.LastCounts
	p.Increase += later.Increase
	switch kind {
	case frame.Gauge:
		p.Min, p.Max, p.Sum = min(p.Min, later.Min), max(p.Max, later.Max), p.Sum.Add(later.Sum)
	case frame.GaugeDouble:
		if later.MinDouble < p.MinDouble { // not min, for which -0 is less than 0
			p.MinDouble = later.MinDouble
		}
		if later.MaxDouble > p.MaxDouble {
			p.MaxDouble = later.MaxDouble
		}
		p.SumDouble += later.SumDouble
	default:
		if len(later.Increases) > 0 {
			sum := make([]int64, max(len(p.Increases), len(later.Increases)))
			copy(sum, p.Increases)
			for i, n := range later.Increases {
				sum[i] += n
			}
			p.Increases = sum // points may share what they have
		}
	}
}
