package ring

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
	"unique"

	"pgregory.net/rapid"
)

// modelled is a load and what the model knows of it.
type modelled struct {
	*heldLoad
	number int
	keys   []string
	asked  time.Time
	fresh  bool
	// the version of each key when it was last forgotten before the load began
	least   map[string]int
	gone    bool
	first   *held             // what it read when it began
	flights map[string]string // of each key: loads that began with the same may not both read it
	checked map[int]bool
}

// model is the cache beside what it may answer. A value is "KEY VERSION TIME": the version that
// was stored when the read of it ended, and when that read began.
type model struct {
	rt        *rapid.T
	t         *testing.T
	c         *rowCache
	stored    map[string]int
	forgotten map[string]int
	spoiled   map[string]int // how often reads under way became useless for who comes later
	loads     []*modelled
	loaded    int
	began     map[*held]time.Time
	answered  map[*held]map[string]bool
	versions  map[*held]map[string]int // what was stored when the fetch began
}

var modelKeys = []string{"a", "b", "c", "d"}

var errModel = errors.New("a replica failed")

func (m *model) begin() {
	keys := rapid.SliceOfN(rapid.SampledFrom(modelKeys), 1, 5).Draw(m.rt, "keys")
	fresh := rapid.IntRange(0, 4).Draw(m.rt, "fresh") == 0
	l := &modelled{number: m.loaded, keys: keys, asked: time.Now(), fresh: fresh,
		least: map[string]int{}, flights: map[string]string{}, checked: map[int]bool{}}
	m.loaded++
	for _, k := range keys {
		l.least[k] = m.forgotten[k]
		l.flights[k] = fmt.Sprint(k, m.spoiled[k])
	}
	if fresh {
		for _, k := range keys {
			m.spoiled[k]++
		}
	}
	l.heldLoad = begin(m.t, m.c, fresh, keys...)
	if len(l.fetches) > 0 {
		l.first = l.fetches[0]
	}
	m.loads = append(m.loads, l)
	m.note()
}

// note takes down when fetches that are new began, and what they will find at least.
func (m *model) note() {
	for _, l := range m.loads {
		for _, h := range l.fetches {
			if _, ok := m.began[h]; !ok {
				m.began[h] = time.Now()
				m.answered[h] = map[string]bool{}
				m.versions[h] = map[string]int{}
				for _, k := range modelKeys {
					m.versions[h][k] = m.stored[k]
				}
			}
		}
	}
}

// open are the keys that fetches have not answered.
func (m *model) open() (list []*held, keys []string) {
	for _, l := range m.loads {
		for _, h := range l.fetches {
			for _, k := range h.asked() {
				if !m.answered[h][k] && h.ctx.Err() == nil {
					list, keys = append(list, h), append(keys, k)
				}
			}
		}
	}
	return list, keys
}

// answer ends the read of one key: with what was stored when it began, or now, or with an error.
func (m *model) answer(fail bool) {
	list, keys := m.open()
	if len(list) == 0 {
		return
	}
	i := rapid.IntRange(0, len(list)-1).Draw(m.rt, "which")
	h, k := list[i], keys[i]
	m.answered[h][k] = true
	result := Result{Err: errModel}
	if !fail {
		version := rapid.SampledFrom([]int{m.versions[h][k], m.versions[h][k], m.stored[k]}).Draw(
			m.rt, "version")
		result = Result{Rows: rowsOf(fmt.Sprintf("%s %d %d", k, version, m.began[h].UnixNano()))}
	}
	h.answer(k, result)
	if !slices.ContainsFunc(h.asked(), func(k string) bool { return !m.answered[h][k] }) {
		close(h.end)
	}
	synctest.Wait()
	m.note()
}

func (m *model) write() {
	k := rapid.SampledFrom(modelKeys).Draw(m.rt, "key")
	m.stored[k]++
	if rapid.Bool().Draw(m.rt, "forget") {
		m.c.forget(cacheTable, k)
		m.forgotten[k] = m.stored[k]
		for _, other := range modelKeys { // whose marks may be the same
			if h := m.c.hashOf(cacheTable); m.c.markOf(h, m.c.hashOf(k)) == m.c.markOf(h,
				m.c.hashOf(other)) {
				m.spoiled[other]++
			}
		}
	}
}

func (m *model) leave() {
	var live []*modelled
	for _, l := range m.loads {
		if !l.done && !l.gone {
			live = append(live, l)
		}
	}
	if len(live) == 0 {
		return
	}
	l := rapid.SampledFrom(live).Draw(m.rt, "load")
	l.gone = true
	l.cancel()
	synctest.Wait()
	if !l.done {
		m.rt.Fatalf("load %d waits beyond its context", l.number)
	}
	m.note()
}

// check holds what has been delivered, and who reads what, against what is promised.
func (m *model) check() {
	reading := map[string]int{}
	for _, l := range m.loads {
		for i, r := range l.got {
			if l.checked[i] {
				continue
			}
			l.checked[i] = true
			if r.Err != nil {
				if !l.gone && r.Err != errModel {
					m.rt.Fatalf("load %d, key %s: %v", l.number, l.keys[i], r.Err)
				}
				if r.Err == errModel && !slices.ContainsFunc(l.fetches, func(h *held) bool {
					return slices.Contains(h.asked(), l.keys[i])
				}) {
					m.rt.Fatalf("load %d, key %s: another's failure", l.number, l.keys[i])
				}
				continue
			}
			var key string
			var version int
			var began int64
			if _, err := fmt.Sscanf(valueOf(r), "%s %d %d", &key, &version, &began); err != nil ||
				key != l.keys[i] {
				m.rt.Fatalf("load %d, key %s: answered with %q", l.number, l.keys[i], valueOf(r))
			}
			if version < l.least[key] {
				m.rt.Fatalf("load %d, key %s: version %d, but %d was forgotten before it asked",
					l.number, key, version, l.least[key])
			}
			if age := l.asked.Sub(time.Unix(0, began)); r.Cached && age >= time.Minute {
				m.rt.Fatalf("load %d, key %s: kept for %v", l.number, key, age)
			}
			if l.fresh && (r.Cached || began < l.asked.UnixNano()) {
				m.rt.Fatalf("fresh load %d, key %s: read %v before it", l.number, key,
					l.asked.Sub(time.Unix(0, began)))
			}
		}
		if l.done && len(l.got) != len(l.keys) {
			m.rt.Fatalf("load %d: %d of %d keys were answered", l.number, len(l.got), len(l.keys))
		}
		if l.fresh || l.first == nil {
			continue
		}
		for _, k := range l.first.asked() {
			if m.answered[l.first][k] || l.first.ctx.Err() != nil {
				continue
			}
			if by, ok := reading[l.flights[k]]; ok {
				m.rt.Fatalf("loads %d and %d both read %s", by, l.number, k)
			}
			reading[l.flights[k]] = l.number
		}
	}
}

// TestCacheModel does at random what clients, replicas and writers do, one thing after another,
// and looks at each answer and at who reads. rapid prints the seed and the steps.
func TestCacheModel(t *testing.T) {
	unique.Make(cacheShape) // starts what it needs outside of bubbles
	rapid.Check(t, func(rt *rapid.T) {
		var failure any
		synctest.Test(t, func(t *testing.T) {
			c := mustCache(t, 1<<20)
			m := &model{rt: rt, t: t, c: c, stored: map[string]int{}, forgotten: map[string]int{},
				spoiled: map[string]int{},
				began:   map[*held]time.Time{}, answered: map[*held]map[string]bool{},
				versions: map[*held]map[string]int{}}
			defer func() {
				failure = recover() // of rapid; it must not leave the bubble before all else has
				for _, l := range m.loads {
					l.cancel()
				}
				synctest.Wait()
				for i := range c.flights {
					if n := len(c.flights[i].of); n > 0 && failure == nil {
						failure = fmt.Sprintf("%d reads are left under way", n)
					}
				}
			}()
			for range rapid.IntRange(1, 60).Draw(rt, "steps") {
				switch rapid.SampledFrom([]string{"load", "load", "load", "answer", "answer",
					"answer", "fail", "write", "leave", "wait"}).Draw(rt, "step") {
				case "load":
					m.begin()
				case "answer":
					m.answer(false)
				case "fail":
					m.answer(true)
				case "write":
					m.write()
				case "leave":
					m.leave()
				case "wait":
					// the bubble's
					time.Sleep(time.Duration(rapid.IntRange(1, 40).Draw(rt, "seconds")) *
						time.Second)
				}
				m.check()
			}
		})
		if failure != nil {
			panic(failure)
		}
	})
}
