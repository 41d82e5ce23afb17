package throttle

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestQueue: whatever comes and leaves, each client's requests keep their order, and of two
// clients that both wait all the time neither gets more than the other by more than one request
// of each.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue
		lines := map[string][]*waiter{} // by client
		const most = 20
		// since both of a pair wait, what each has got
		type pair [2]string
		got := map[pair][2]float64{}
		names := []string{"a", "b", "c", "d"}
		both := func(p pair) bool { return len(lines[p[0]]) > 0 && len(lines[p[1]]) > 0 }
		steps := map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				name := rapid.SampledFrom(names).Draw(t, "client")
				w := &waiter{n: float64(rapid.IntRange(1, most).Draw(t, "n"))}
				q.push(name, w)
				lines[name] = append(lines[name], w)
			},
			"pop": func(t *rapid.T) {
				w := q.head()
				if w == nil {
					return
				}
				if q.pop() != w {
					t.Fatal("pop returns another than head")
				}
				name := w.client.name
				if lines[name][0] != w {
					t.Fatalf("client %s is served out of order", name)
				}
				for i, a := range names {
					for _, b := range names[i+1:] {
						p := pair{a, b}
						if !both(p) {
							continue
						}
						g := got[p]
						for side, of := range p {
							if of == name {
								g[side] += w.n
							}
						}
						got[p] = g
						if d := g[0] - g[1]; d > 2*most || d < -2*most {
							t.Fatalf("%s has got %g and %s %g while both waited", a, g[0], b, g[1])
						}
					}
				}
				lines[name] = lines[name][1:]
			},
			"leave": func(t *rapid.T) {
				name := rapid.SampledFrom(names).Draw(t, "client")
				if len(lines[name]) == 0 {
					return
				}
				i := rapid.IntRange(0, len(lines[name])-1).Draw(t, "which")
				q.remove(lines[name][i])
				lines[name] = slices.Delete(lines[name], i, i+1)
			},
			"longest": func(t *rapid.T) {
				w, most := q.longest(), 0
				for _, line := range lines {
					most = max(most, len(line))
				}
				if most == 0 {
					if w != nil {
						t.Fatal("somebody is longest of none")
					}
					return
				}
				if line := lines[w.client.name]; len(line) != most || line[most-1] != w {
					t.Fatalf("longest is of %s with %d, the most are %d", w.client.name, len(line),
						most)
				}
			},
			"": func(t *rapid.T) {
				requests, ops := 0, 0.0
				for _, line := range lines {
					requests += len(line)
					for _, w := range line {
						ops += w.n
					}
				}
				if q.waiting != requests || q.ops != ops || (q.head() == nil) != (requests == 0) {
					t.Fatalf("%d requests of %g operations wait, it says %d of %g", requests, ops,
						q.waiting, q.ops)
				}
				for p := range got {
					if !both(p) {
						delete(got, p)
					}
				}
			},
		}
		for range 10 { // thirty steps each
			t.Repeat(steps)
		}
	})
}

// TestGreedy: a client with a thousand requests in line holds up another by one of them.
func TestGreedy(t *testing.T) {
	var q queue
	for range 1000 {
		q.push("greedy", &waiter{n: 50})
	}
	for range 10 {
		q.pop()
	}
	for i := range 20 {
		modest := &waiter{n: 1}
		q.push("modest", modest)
		between := 0
		for q.pop() != modest {
			between++
		}
		if between > 1 {
			t.Fatalf("request %d waits for %d of the other's", i, between)
		}
	}
}

// TestByOperations: a client of large requests gets as many operations as one of small ones, not
// as many requests.
func TestByOperations(t *testing.T) {
	var q queue
	for range 100 {
		q.push("large", &waiter{n: 50})
	}
	for range 5000 {
		q.push("small", &waiter{n: 1})
	}
	got := map[string]float64{}
	for range 4000 {
		w := q.pop()
		got[w.client.name] += w.n
		if d := got["large"] - got["small"]; d > 51 || d < -51 {
			t.Fatalf("%v operations", got)
		}
	}
}

// TestNewcomer: who comes when others have had much begins where they are.
func TestNewcomer(t *testing.T) {
	var q queue
	for range 1000 {
		q.push("a", &waiter{n: 1})
		q.push("b", &waiter{n: 1})
	}
	for range 1000 {
		q.pop()
	}
	for range 100 {
		q.push("late", &waiter{n: 1})
	}
	got := map[string]int{}
	for range 30 {
		got[q.pop().client.name]++
	}
	for name, n := range got {
		if n < 9 || n > 11 {
			t.Errorf("%s has got %d of 30", name, n)
		}
	}
}

// TestQueueForgets: clients that have had their share are not remembered.
func TestQueueForgets(t *testing.T) {
	var q queue
	q.push("always", &waiter{n: 1})
	for i := range 10_000 {
		q.push(fmt.Sprint(i), &waiter{n: 1})
		q.push("always", &waiter{n: 1})
		q.pop()
		q.pop()
	}
	if len(q.clients) > 100 {
		t.Errorf("%d clients are remembered", len(q.clients))
	}
}
