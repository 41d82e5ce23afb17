package results

import (
	"fmt"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

// TestResultsAreBounded: an account has half at most and loses what it did not use for longest;
// who has most makes room for others; what is too large is not kept; and all is counted.
func TestResultsAreBounded(t *testing.T) {
	of := func(points int) *Result {
		return &Result{Series: promql.Matrix{{Metric: labels.FromStrings("a", "b"),
			Floats: make([]promql.FPoint, points)}}}
	}
	key := func(account string, i int) Key {
		return Key{Account: account, Expr: fmt.Sprint(i)}
	}
	const most = 400_000
	r := NewCache(most)
	kept := func(account string) (n int) {
		for k := range r.entries {
			if k.Account == account {
				n++
			}
		}
		return n
	}
	for i := range 50 {
		r.Put(key("large", i), of(1000))
		if r.Get(key("large", 0)) == nil {
			t.Fatal("what is used is lost first")
		}
	}
	if r.bytes > most/2 || kept("large") < 8 {
		t.Fatalf("one account has %d bytes in %d results", r.bytes, kept("large"))
	}
	for i := range 2 {
		r.Put(key("small", i), of(1000))
	}
	for i := range 50 {
		r.Put(key("other", i), of(1000))
	}
	for i := range 50 {
		r.Put(key("large", i), of(1000))
	}
	if kept("small") != 2 {
		t.Error("accounts that ask for much take from one that does not")
	}
	var bytes int64
	for _, e := range r.entries {
		bytes += e.Value.(*cacheEntry).bytes
	}
	if r.held() != bytes || bytes > most {
		t.Errorf("%d bytes are counted as %d, and %d are allowed", bytes, r.held(), most)
	}
	r.Put(key("small", 0), of(most))
	if r.Get(key("small", 0)) != nil {
		t.Error("a result that is too large is kept, or the one before it")
	}
	first := of(1)
	r.Put(key("small", 1), first)
	r.Put(key("small", 1), of(2))
	r.Drop(key("small", 1), first)
	if r.Get(key("small", 1)) == nil {
		t.Error("a newer result is dropped with an older one")
	}
	for k := range r.entries {
		r.Drop(k, r.Get(k))
	}
	if r.held() != 0 || len(r.accounts) > 0 {
		t.Errorf("%d bytes are left when nothing is", r.held())
	}
}
