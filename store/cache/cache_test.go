package cache

import "testing"

func TestBoundedKeepsWhatIsUsed(t *testing.T) {
	b := New[int, int](100)
	for i := range 1000 {
		b.Put(i, i, 5)
		if _, found := b.Get(7); i >= 7 && !found {
			t.Fatalf("7 is gone after %d", i)
		}
		total := 0
		for _, w := range b.young {
			total += w.weight
		}
		for _, w := range b.old {
			total += w.weight
		}
		if total > 100 {
			t.Fatalf("it weighs %d", total)
		}
	}
}
