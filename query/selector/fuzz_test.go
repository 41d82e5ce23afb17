package selector

import (
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/memory/memorytest"
)

// FuzzSelector compiles hostile selectors, within the limits that a request has.
func FuzzSelector(f *testing.F) {
	p, err := New(DefaultConfig())
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{`up`, `{__name__=~"a{0,9}b{0,9}"}`, `a{b=~"(?i)(x|y){2,30}"}`,
		`{a!~"[[:^alpha:]\\p{Greek}]*"}`, `a{b="\xff"}`} {
		f.Add(text)
	}
	bound := memorytest.Bound{Base: 16 << 20, Factor: 256, Time: time.Minute}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 16<<10 {
			return
		}
		bound.Within(t, len(text), func() {
			r := p.Request(t.Context())
			first, err := r.Selector(text)
			if err != nil {
				return
			}
			again, err := r.Selector(text)
			if err == nil && len(again) != len(first) {
				t.Errorf("%q has %d matchers, then %d", text, len(first), len(again))
			}
		})
	})
}
