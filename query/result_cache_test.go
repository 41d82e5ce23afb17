package query

import (
	"fmt"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

// TestResultsAreBounded: an account has half at most and loses what it did not use for longest;
// who has most makes room for others; what is too large is not kept; and all is counted.
func TestResultsAreBounded(t *testing.T) {
	of := func(points int) *cachedResult {
		return &cachedResult{series: promql.Matrix{{Metric: labels.FromStrings("a", "b"),
			Floats: make([]promql.FPoint, points)}}}
	}
	key := func(account string, i int) resultKey {
		return resultKey{account: account, expr: fmt.Sprint(i)}
	}
	const most = 400_000
	r := newResultCache(most)
	kept := func(account string) (n int) {
		for k := range r.of {
			if k.account == account {
				n++
			}
		}
		return n
	}
	for i := range 50 {
		r.put(key("large", i), of(1000))
		if r.get(key("large", 0)) == nil {
			t.Fatal("what is used is lost first")
		}
	}
	if r.bytes > most/2 || kept("large") < 8 {
		t.Fatalf("one account has %d bytes in %d results", r.bytes, kept("large"))
	}
	for i := range 2 {
		r.put(key("small", i), of(1000))
	}
	for i := range 50 {
		r.put(key("other", i), of(1000))
	}
	for i := range 50 {
		r.put(key("large", i), of(1000))
	}
	if kept("small") != 2 {
		t.Error("accounts that ask for much take from one that does not")
	}
	var bytes int64
	for _, e := range r.of {
		bytes += e.Value.(*cacheEntry).bytes
	}
	if r.held() != bytes || bytes > most {
		t.Errorf("%d bytes are counted as %d, and %d are allowed", bytes, r.held(), most)
	}
	r.put(key("small", 0), of(most))
	if r.get(key("small", 0)) != nil {
		t.Error("a result that is too large is kept, or the one before it")
	}
	first := of(1)
	r.put(key("small", 1), first)
	r.put(key("small", 1), of(2))
	r.drop(key("small", 1), first)
	if r.get(key("small", 1)) == nil {
		t.Error("a newer result is dropped with an older one")
	}
	for k := range r.of {
		r.drop(k, r.get(k))
	}
	if r.held() != 0 || len(r.accounts) > 0 {
		t.Errorf("%d bytes are left when nothing is", r.held())
	}
}
