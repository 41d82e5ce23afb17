package nearest_test

import (
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/query/nearest"
)

// TestOffer: the nearest name is said, and what there is, a bounded number of it.
func TestOffer(t *testing.T) {
	many := strings.Fields("a1 b1 c1 d1 e1 f1 g1 h1 i1 j1 a2 b2 c2 d2 e2 f2 g2 h2 i2 j2 k1 l1")
	for _, c := range []struct {
		text  string
		names []string
		want  string
	}{
		{"prdo", []string{"test", "prod", "test"}, "did you mean prod? There are test, prod"},
		{"PROD", []string{"test", "prod"}, "did you mean prod? There are test, prod"},
		{"nope", []string{"ringwatch", "shop"}, "use one of ringwatch, shop"},
		{"nope", []string{"shop"}, "use shop, the only one"},
		{"", []string{"b", "a"}, "use one of b, a"},
		{"x", nil, "there is none yet"},
		{"x", []string{""}, "there is none yet"},
		{"zzzz", many, "use one of " + strings.Join(many[:20], ", ") + " and 2 more"},
		{strings.Repeat("prod", 1<<18), []string{"prod", "dev"},
			"did you mean prod? There are prod, dev"},
	} {
		if got := nearest.Offer(c.text, c.names); got != c.want {
			t.Errorf("%.20q of %q: %q, want %q", c.text, c.names, got, c.want)
		}
	}
}
