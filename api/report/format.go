package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/ringwatch/ringwatch/query/catalog"
)

// Format writes a figure with its unit for people; "-" if it is not known.
func Format(n Number, unit string) string {
	u := catalog.UnitOf(unit)
	v := float64(n) * max(u.Scale, 1e-9)
	if u.Scale == 0 {
		v = float64(n)
	}
	switch {
	case math.IsNaN(v):
		return "-"
	case u.Base == "seconds":
		return formatSeconds(v)
	case u.Base == "bytes":
		return formatBytes(v) + u.After
	}
	return short(v) + u.After
}

func formatSeconds(v float64) string {
	switch a := math.Abs(v); {
	case a == 0:
		return "0 s"
	case a < 1e-3:
		return short(v*1e6) + " µs"
	case a < 1:
		return short(v*1e3) + " ms"
	case a < 120:
		return short(v) + " s"
	}
	return length(v)
}

func formatBytes(v float64) string {
	for _, u := range []string{"B", "KiB", "MiB", "GiB"} {
		if math.Abs(v) < 1024 {
			return short(v) + " " + u
		}
		v /= 1024
	}
	return short(v) + " TiB"
}

// short writes a number with about three digits.
func short(v float64) string {
	a := math.Abs(v)
	switch {
	case v == math.Trunc(v) && a < 1e6 || math.IsInf(v, 0):
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 1e9:
		return trimmed(v/1e9, 1) + " G"
	case a >= 1e6:
		return trimmed(v/1e6, 1) + " M"
	case a >= 100 || v < 0 && a < 0.001:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return trimmed(v, 1)
	case a >= 0.01:
		return trimmed(v, 2)
	}
	if a >= 0.001 {
		return trimmed(v, 3)
	}
	return "<0.001"
}

// trimmed writes a number with so many decimals at most.
func trimmed(v float64, decimals int) string {
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// length writes a length of time: 5 min, 3 h 25 min, 2 d 4 h.
func length(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second)).Round(time.Minute)
	h, m := int(d.Hours()), int(d.Minutes())%60
	switch {
	case d < time.Hour:
		return fmt.Sprintf("%d min", m)
	case d < 24*time.Hour && m == 0:
		return fmt.Sprintf("%d h", h)
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %d min", h, m)
	case h%24 == 0:
		return fmt.Sprintf("%d d", h/24)
	}
	return fmt.Sprintf("%d d %d h", h/24, h%24)
}

// formatRange writes a healthy range: at most 75 %.
func formatRange(r *catalog.Range, unit string) string {
	end := func(v *float64) string { return Format(Number(*v), unit) }
	switch {
	case r == nil || r.Min == nil && r.Max == nil:
		return ""
	case r.Min == nil:
		return "≤ " + end(r.Max)
	case r.Max == nil:
		return "≥ " + end(r.Min)
	}
	return end(r.Min) + " to " + end(r.Max)
}

// full writes in how many days a disk is full.
func (d *Disk) full() string {
	switch {
	case !d.Growth.Known():
		return "not known yet"
	case !d.Full.Known():
		return "-"
	case d.Full < 1:
		return "within a day"
	}
	return fmt.Sprintf("%.0f days", float64(d.Full))
}

// growth writes what a disk gains in a day.
func (d *Disk) growth() string {
	if !d.Growth.Known() {
		return "-"
	}
	sign := ""
	if d.Growth > 0 {
		sign = "+"
	}
	return sign + formatBytes(float64(d.Growth)) + "/day"
}

// what names a breach: the entry, with the type where an entry has several, and the table.
func (b *Breach) what() string {
	name := b.Entry
	if b.Table != "" { // the table stands beside it
		name = name[strings.LastIndex(name, "::")+2:]
	}
	switch b.Type {
	case "value", "count", "percentage", "pendingtasks":
		return name
	case "latency_per_operation":
		return name + " mean"
	}
	if n, is := strings.CutSuffix(b.Type, "thPercentile"); is {
		return name + " p" + n
	}
	return name + " " + b.Type
}

// where names what a breach is of.
func (b *Breach) where() string {
	switch {
	case b.Node != "":
		return b.Address
	case b.Table != "":
		return b.Keyspace + "." + b.Table
	}
	return "the cluster"
}

// Tile is one figure of the summary.
type Tile struct {
	Label, Value string
	Bad          bool // it asks for attention
}

// Summary returns the few figures that one looks at first.
func (r *Report) Summary() []Tile {
	up, paused := 0, 0
	for _, n := range r.Nodes {
		switch {
		case n.Paused:
			paused++
		case n.Up:
			up++
		}
	}
	reads, writes := Number(math.NaN()), Number(math.NaN())
	for _, p := range r.Plots {
		switch p.Entry {
		case "n::reads":
			reads = p.Sum
		case "n::writes":
			writes = p.Sum
		}
	}
	list := []Tile{{"nodes up", fmt.Sprintf("%d of %d", up, len(r.Nodes)),
		up+paused < len(r.Nodes)}}
	if paused > 0 {
		list = append(list, Tile{"nodes paused", strconv.Itoa(paused), false})
	}
	if r.cassandra {
		list = append(list, Tile{"reads", Format(reads, "per_second"), false},
			Tile{"writes", Format(writes, "per_second"), false})
	}
	list = append(list,
		Tile{"values out of range", strconv.Itoa(len(r.Breaches)), len(r.Breaches) > 0})
	full := Tile{"first disk full in", "not known yet", false}
	if slices.ContainsFunc(r.Disks, func(d Disk) bool { return d.Growth.Known() }) {
		full.Value = "no disk grows"
		if d := &r.Disks[0]; d.Full.Known() {
			full.Value, full.Bad = d.full(), d.Full < 30
		}
	}
	if len(r.Disks) > 0 || r.cassandra {
		list = append(list, full)
	}
	alerts := strconv.Itoa(len(r.Alerts))
	if !r.AlertsRecorded {
		alerts = "not recorded"
	}
	return append(list, Tile{"alerts", alerts, len(r.Alerts) > 0})
}

// clean replaces what a terminal or an editor would obey in a name.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\ufffd'
		}
		return r
	}, text)
}
