package profile

import (
	"testing"
)

func TestEveryProfileIsMade(t *testing.T) {
	for _, p := range profiles {
		if _, err := p.renderer(); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		if b, ok := p.by.(*byRules); ok {
			n := 0
			for _, list := range b.series {
				n += len(list)
			}
			t.Logf("%s: %d names of %d series", p.Name, n, len(b.series))
			if n < 100 && p.Name != "opentelemetry" || n < 26 {
				t.Errorf("%s shows %d attributes", p.Name, n)
			}
		}
	}
}
