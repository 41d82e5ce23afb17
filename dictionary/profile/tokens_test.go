package profile

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// TestTokens holds names that were made with words in the place of values against those that rules
// give the values themselves.
func TestTokens(t *testing.T) {
	c, err := loadBeans()
	if err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	value := func() string {
		words := []string{"system", "system_auth", "KeyCache", "Read", "ks", "T1", "t-2",
			"READ_REQ", "a.b", "10.0.0.1_7000", "Zq", "x_total"}
		return words[random.IntN(len(words))] + strings.Repeat("y", random.IntN(2))
	}
	for _, p := range profiles {
		if _, err := p.renderer(); err != nil {
			t.Fatal(err)
		}
		by, ok := p.by.(*byRules)
		if of, ofInstaclustr := p.by.(*instaclustr); ofInstaclustr {
			by, ok = of.rest, true
		}
		if !ok {
			continue // no rules
		}
		n := namerOf(t, p.Name)
		compared := 0
		var named []*beanMetric // so that a profile of few names is compared, too
		for i := range c.sources {
			if len(by.series[c.sources[i].series]) > 0 {
				named = append(named, &c.sources[i])
			}
		}
		for i := range 300 {
			s := &c.sources[random.IntN(len(c.sources))]
			if i%2 == 0 {
				s = named[random.IntN(len(named))]
			}
			_, ofArrays := n.(*criteo)
			if s.kind == "buckets" && !ofArrays {
				continue
			}
			values := map[string]string{}
			b := newBean(label.ReplaceAllStringFunc(s.bean, func(l string) string {
				l = strings.Trim(l, "{}")
				if values[l] == "" {
					values[l] = value()
				}
				if l == "keyspace" { // of letters, digits and underscores
					values[l] = strings.NewReplacer(".", "", "-", "").Replace(values[l])
				}
				return values[l]
			}))
			var want []string
			for _, f := range s.statistics {
				if n := n.name(&b, attribute{name: attributes[f]}); n != nil {
					want = append(want, said(f, n, nil))
				}
			}
			builder := labels.NewBuilder(labels.EmptyLabels())
			for name, v := range values {
				builder.Set(name, v)
			}
			of := window.Series{Labels: builder.Labels(),
				Metric: &window.Metric{Type: s.entity, Name: s.series, Kind: frame.Gauge}}
			var got, scratch []string
			for i := range by.series[s.series] {
				one := &by.series[s.series][i]
				if one.entity == s.entity && slices.Contains(s.statistics, one.statistic) &&
					one.values(&scratch, &of) {
					got = append(got, said(one.statistic, one.named, scratch))
				}
			}
			for _, w := range want {
				if compared++; !slices.Contains(got, w) {
					t.Errorf("%s: %v: no %s in %s", p.Name, b, w, got)
				}
			}
			if want == nil && s.kind != "total" && s.statistics != nil && len(got) > 0 &&
				len(c.beansOf(s)) == 1 {
				t.Errorf("%s: %v is not shown, and %s are", p.Name, b, got)
			}
		}
		if compared < 5 {
			t.Errorf("%s: only %d names were compared", p.Name, compared)
		}
	}
}

// beansOf are all names of beans of a source's metric.
func (c *beanTable) beansOf(s *beanMetric) (names []string) {
	for i := range c.sources {
		if of := &c.sources[i]; of.entity == s.entity && of.series == s.series {
			names = append(names, of.bean)
		}
	}
	return names
}

func namerOf(t *testing.T, name string) namer {
	t.Helper()
	file, err := files.ReadFile(name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var n namer
	if name == "criteo_exporter" {
		n, err = newCriteo(string(file))
	} else {
		n, err = newRules(string(file))
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func said(f statistic, n *named, values []string) string {
	s := fmt.Sprint(f, n.fill(values), n.kind, n.factor)
	for i := range n.labels {
		if name, value := n.labels[i].fill(values); value != "" {
			s += " " + name + "=" + value
		}
	}
	return s
}
