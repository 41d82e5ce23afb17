package report

import (
	"cmp"
	"context"
	"slices"

	"github.com/ringwatch/ringwatch/query/catalog"
)

// plotted are what is plotted.
var plotted = []struct{ name, title string }{
	{"n::reads", "Reads"},
	{"n::writes", "Writes"},
	{"n::clientRequestRead::99thPercentile", "Read latency, p99"},
	{"n::clientRequestWrite::99thPercentile", "Write latency, p99"},
	{"n::cpuUtilization", "Processors"},
	{"n::diskUtilization", "Fullest disk"},
	{"n::compactions", "Pending compactions"},
	{"n::gcTime", "Garbage collection"},
}

func (m *maker) plots(ctx context.Context) {
	for _, plotting := range plotted {
		a, err := m.Catalog.Lookup(plotting.name)
		if err != nil {
			m.lack(plotting.name, err) // cannot be: a test asks for all of them
			continue
		}
		v := &a.Picked[0]
		list := m.over(
			ctx,
			plotting.name,
			v.Expr(m.scope, catalog.NodeLabels, Step),
			m.From.Add(Step),
			Step,
		)
		if len(list) == 0 {
			continue
		}
		p := Plot{Entry: a.Name, Title: plotting.title, Description: a.Description, Unit: v.Unit}
		if v.Healthy != nil {
			p.Max = v.Healthy.Max
		}
		m.draw(&p, list)
		m.report.Plots = append(m.report.Plots, p)
	}
}

// draw fills a plot with what nodes had.
func (m *maker) draw(p *Plot, list []Series) {
	top := slices.MaxFunc(list, func(a, b Series) int {
		if gone := m.gone[a.Labels["node"]] != nil; gone != (m.gone[b.Labels["node"]] != nil) {
			if gone {
				return -1
			}
			return 1
		}
		return cmp.Compare(mean(a.Points), mean(b.Points))
	})
	p.TopNode = m.address(top.Labels["node"])
	at := map[int64][]float64{}
	for _, s := range list {
		for _, point := range s.Points {
			at[point.At] = append(at[point.At], point.Value)
		}
	}
	sum, seconds := 0.0, 0.0
	tops := map[int64]float64{}
	for _, point := range top.Points {
		tops[point.At] = point.Value
	}
	for t := m.From.Add(Step).UnixMilli(); t <= m.To.UnixMilli(); t += Step.Milliseconds() {
		values := at[t]
		p.At = append(p.At, t)
		unknown := Number(median(nil))
		least, most, highest := unknown, unknown, unknown
		if len(values) > 0 {
			least, most = Number(slices.Min(values)), Number(slices.Max(values))
		}
		if v, known := tops[t]; known {
			highest = Number(v)
		}
		p.Least, p.Most = append(p.Least, least), append(p.Most, most)
		p.Top = append(p.Top, highest)
		p.Median = append(p.Median, Number(median(values)))
		if len(values) > 0 {
			// Of the first step the nodes were heard of in a part.
			seconds += max(0, min(Step.Seconds(), float64(t-m.heard.since)/1000))
			for _, v := range values {
				sum += v * Step.Seconds()
			}
		}
	}
	p.Sum = Number(sum / seconds) // there is a series, and each has points
}

func mean(points []Point) float64 {
	sum := 0.0
	for _, p := range points {
		sum += p.Value
	}
	return sum / float64(len(points))
}
