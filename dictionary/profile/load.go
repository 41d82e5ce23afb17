package profile

import (
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// loadOf is what is made of the CPU time that frames have: how busy the process kept the machine,
// and how busy that was in all, from 0 to 1, as the JVM's OperatingSystem bean says it.
var loadOf = map[string]string{
	"jvm_process_cpu_seconds_total": "jvm_process_cpu_load",
	"os_cpu_seconds_total":          "os_cpu_load",
}

// loads returns the loads since the state before, or since the JVM began.
func (s *state) loads() []window.Series {
	var process, machine *window.Series // what the load stands at the time of
	var used, cpus, busy, all float64
	for i := range s.now[:s.given] {
		of := &s.now[i]
		switch of.Metric.Name {
		case "os_cpus":
			cpus = scaled(of)
		case "jvm_process_cpu_seconds_total":
			process, used = of, shifted(s.rate(of), of.Metric.Exponent)
		case "os_cpu_seconds_total":
			machine = of
			rate := s.rate(of)
			all += rate
			if mode := of.Labels.Get("mode"); mode != "idle" && mode != "iowait" {
				busy += rate
			}
		}
	}
	var list []window.Series
	add := func(of *window.Series, part, whole float64) {
		if of == nil || whole <= 0 {
			return
		}
		m := &window.Metric{Type: "node" + sumSuffix, Name: loadOf[of.Metric.Name],
			Kind: frame.GaugeDouble}
		list = append(list, window.Series{Metric: m, At: last(of.At),
			Doubles: []float64{min(part/whole, 1)},
			Labels:  labels.FromStrings(labels.MetricName, m.Type+"/"+m.Name)})
	}
	add(process, used, cpus)
	add(machine, busy, all)
	return list
}
