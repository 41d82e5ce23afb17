package report

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"time"
)

// What growth is judged by.
const (
	growthSpan  = 7 * 24 * time.Hour
	growthLeast = 6 * time.Hour
	growthStep  = time.Hour
	farDays     = 3650    // what is further is no news
	still       = 1 << 20 // bytes a day that are no growth
)

func (m *maker) disks(ctx context.Context) {
	where := "{cluster=" + strconv.Quote(m.Cluster) + "}"
	free := m.over(ctx, "how full disks are", "os_filesystem_available_bytes"+where,
		m.To.Add(-growthSpan), growthStep)
	sizes := map[string]float64{}
	id := func(s *Series) string {
		return s.Labels["node"] + "\x00" + s.Labels["mount"] + "\x00" + s.Labels["device"]
	}
	for _, s := range m.instant(ctx, "how large disks are", "os_filesystem_size_bytes"+where) {
		sizes[id(&s)] = s.last()
	}
	for _, s := range free {
		size, known := sizes[id(&s)]
		if !known || size <= 0 || m.gone[s.Labels["node"]] != nil {
			continue // it is gone
		}
		d := Disk{Node: s.Labels["node"], Address: m.address(s.Labels["node"]),
			Mount: s.Labels["mount"], Device: s.Labels["device"], Volume: s.Labels["volume"],
			Size: Number(size), Free: Number(s.last()), Used: Number(100 * (1 - s.last()/size)),
			Growth: Number(math.NaN()), Full: Number(math.NaN())}
		if span := s.Points[len(s.Points)-1].At - s.Points[0].At; span >=
			growthLeast.Milliseconds() {
			d.Growth = Number(-slope(s.Points) * 24 * 3600)
			if math.Abs(float64(d.Growth)) < still {
				d.Growth = 0
			}
			days := float64(d.Free) / float64(d.Growth)
			if d.Growth > 0 && days < farDays {
				d.Full = Number(days)
			}
		}
		m.report.Disks = append(m.report.Disks, d)
	}
	rank := func(d Disk) float64 {
		if !d.Full.Known() {
			return math.Inf(1)
		}
		return float64(d.Full)
	}
	slices.SortStableFunc(m.report.Disks, func(a, b Disk) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)),
			cmp.Compare(b.Used, a.Used))
	})
}

// slope returns by how much a second the values rise, by least squares.
func slope(points []Point) float64 {
	var t, v float64
	for _, p := range points {
		t += float64(p.At) / 1000
		v += p.Value
	}
	n := float64(len(points))
	t, v = t/n, v/n
	var covariance, variance float64
	for _, p := range points {
		d := float64(p.At)/1000 - t
		covariance += d * (p.Value - v)
		variance += d * d
	}
	if variance == 0 {
		return 0
	}
	return covariance / variance
}
