package profile

import (
	"fmt"
	"strings"

	"github.com/ringwatch/ringwatch/window"
)

// plain is another name of a number of ours.
type plain struct {
	name, kind, series string
	labels             [][2]string // a value of {label} is ours of that name
}

var plainKinds = map[string]string{"g": "gauge", "c": "counter", "u": "untyped"}

// newPlain reads a file of such names, by series.
func newPlain(name string) (map[string][]plain, error) {
	file, err := files.ReadFile(name)
	if err != nil {
		return nil, err
	}
	list := map[string][]plain{}
	for line := range strings.Lines(string(file)) {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if len(f) < 3 || plainKinds[f[0]] == "" {
			return nil, fmt.Errorf("profile: %s: %q", name, line)
		}
		p := plain{name: f[1], kind: plainKinds[f[0]], series: f[2]}
		for _, l := range f[3:] {
			name, value, _ := strings.Cut(l, "=")
			p.labels = append(p.labels, [2]string{name, value})
		}
		list[p.series] = append(list[p.series], p)
	}
	return list, nil
}

func (p *plain) addTo(o *output, of *window.Series) {
	if !isNumber(of) {
		return
	}
	o.add(of, p.name, p.kind, scaled(of), func(label func(name, value string)) {
		for _, l := range p.labels {
			value := l[1]
			if name, ok := strings.CutPrefix(value, "{"); ok {
				value = of.Labels.Get(strings.TrimSuffix(name, "}"))
			}
			label(l[0], value)
		}
	})
}
