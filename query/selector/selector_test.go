package selector_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/query/selector"
)

func mustParser(t *testing.T, change func(*selector.Config)) *selector.Parser {
	t.Helper()
	c := selector.DefaultConfig()
	if change != nil {
		change(&c)
	}
	p, err := selector.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// repeated returns repetitions one after the other, as long as n bytes or just longer.
func repeated(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%c{0,1000}", 'a'+i%26)
	}
	return b.String()
}

// hostIDs returns an alternation of host ids.
func hostIDs(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("%08x-1234-4321-8888-0123456789ab", i*7919))
	}
	return strings.Join(list, "|")
}

// disjoint returns alternatives of classes that have no character in common: the regexp package
// then tries to decide by the next character alone.
func disjoint(n, each int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("[")
		for j := range each {
			b.WriteRune(rune(0x4000 + i*4*each + j*3))
		}
		b.WriteString("]x|")
	}
	return b.String() + "y"
}

// attacks are expressions that take much more than their length. Without limits the worst take
// gigabytes or seconds.
func attacks() map[string]string {
	repeat := strings.Repeat
	list := map[string]string{
		"repetitions":           repeated(14_000),
		"ten times that":        repeated(140_000),
		"few repetitions":       repeated(90),
		"alternatives":          "(" + hostIDs(2000) + ")",
		"alternatives that fit": ".*(" + hostIDs(200) + ")",
		"alternatives in dots":  repeat("a.|", 2700) + "b",
		"nested repetitions": "(?:(?:(?:a{0,10}b){0,10}c){0,10}d){0,1}" +
			repeat("(?:(?:x{30}y){30})", 400),
		"repetitions of classes":  repeat(`(?:[^a]\d){0,500}`, 400),
		"case":                    "(?i)" + repeat("ks", 7000),
		"ranges without case":     "(?i)" + repeat(`[B-\x{1E943}]`, 500),
		"fewer of them":           "(?i)" + repeat(`[B-\x{1E943}]`, 16),
		"classes of letters":      repeat(`\pL`, 2700),
		"fewer of these":          repeat(`\pL`, 16),
		"classes of other things": repeat(`\PN[^\PN]`, 900),
		"groups":                  repeat("(a)", 2700),
		"texts spelled out":       "[a-d][a-d][a-d][a-d]" + repeat("(a)", 2700),
		"in levels": repeat("(a", 60) + "[a-d][a-d][a-d][a-d]" + repeat("()", 2500) + "x*" +
			repeat(")", 60),
		"levels":           repeat("(a", 900) + "x*" + repeat(")", 900),
		"levels that fit":  repeat("(a"+repeat("b", 20), 20) + "x*" + repeat(")", 20),
		"disjoint classes": disjoint(250, 8),
		"dots":             repeat(".*a", 2700),
		"questions":        repeat("a?", 4000),
		"one expression":   repeat("b", 8000) + ".",
		"quoted":           `\Q` + repeat(`[`, 4000) + `\E` + repeat(`\pL`, 1000),
	}
	return list
}

// TestAttacks parses what would take gigabytes, alone and as often as a request takes, and counts
// what is allocated.
func TestAttacks(t *testing.T) {
	const most = 40 << 20
	for name, text := range attacks() {
		for _, times := range []int{1, 10} {
			t.Run(fmt.Sprintf("%s %d", name, times), func(t *testing.T) {
				p := mustParser(t, nil)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				r := p.Request(context.Background())
				var err error
				for i := range times {
					// Each is another text, which the cache cannot have.
					_, err = r.Selector(fmt.Sprintf(`{table%d=~%q,keyspace!~%q}`, i, text, text))
					if err != nil {
						break
					}
				}
				runtime.ReadMemStats(&after)
				taken := after.TotalAlloc - before.TotalAlloc
				t.Logf("%d bytes of text, %d allocated, error %.120v", len(text), taken, err)
				if taken > most {
					t.Errorf("%d bytes were allocated, %d are the most", taken, most)
				}
			})
		}
	}
}

// TestRefused names what is refused with its figure and limit.
func TestRefused(t *testing.T) {
	all := attacks()
	for name, want := range map[string]selector.LimitError{
		"repetitions": {What: "bytes of one regular expression", Has: 14_004,
			Allowed: 8192},
		"levels that fit":     {},
		"fewer of these":      {},
		"one expression":      {},
		"texts spelled out":   {What: "instructions", Allowed: 20_000},
		"ranges without case": {What: "classes", Has: 500, Allowed: 32},
		"classes of letters":  {What: "classes", Has: 2700, Allowed: 32},
	} {
		_, err := mustParser(t, nil).Request(t.Context()).Selector(fmt.Sprintf(`{a=~%q}`,
			all[name]))
		checkLimit(t, name, err, want)
	}
	for _, of := range []struct {
		text         string
		instructions int
	}{
		{"a{0,1000}", 10 + 2001},
		{"(?:a{0,10}b){0,100}", 10 + 2401},
		{"(?:ab){3,}", 10 + 13},
		{"shop|cart|user", 10 + 2},
		{"[a-z]x.", 10 + 4},
	} {
		p := mustParser(t, func(c *selector.Config) { c.MaxInstructions = of.instructions })
		if err := p.Request(t.Context()).Regexp(of.text); err != nil {
			t.Errorf("%s: %v", of.text, err)
		}
		p = mustParser(t, func(c *selector.Config) { c.MaxInstructions = of.instructions - 1 })
		checkLimit(t, of.text, p.Request(t.Context()).Regexp(of.text),
			selector.LimitError{What: "instructions", Has: of.instructions,
				Allowed: of.instructions - 1})
	}
}

// checkLimit wants a limit to be exceeded, or none.
func checkLimit(t *testing.T, name string, err error, want selector.LimitError) {
	t.Helper()
	of, is := errors.AsType[*selector.LimitError](err)
	switch {
	case want.What == "" && err == nil:
	case want.What == "" || !is || !strings.HasPrefix(of.What, want.What) ||
		of.Allowed != want.Allowed || want.Has != 0 && of.Has != want.Has:
		t.Errorf("%s: the error is %v, want %+v", name, err, want)
	case !strings.Contains(err.Error(), fmt.Sprint(of.Has)) ||
		!strings.Contains(err.Error(), fmt.Sprint(of.Allowed)):
		t.Errorf("%s: %q does not name figure and limit", name, err)
	}
}

// TestSums adds up what the selectors of one request have, kept ones too.
func TestSums(t *testing.T) {
	p := mustParser(t, nil)
	for _, of := range []struct{ text, what string }{
		{`{a=~"` + strings.Repeat("x", 5000) + `.*"}`, "bytes"},
		{`{a=~"x{0,1000}y{0,1000}z{0,1000}"}`, "instructions"},
		{`{a=~"\\pL\\pM\\pN\\pP\\pS\\pZ\\pC.*"}`, "classes"},
		{`{` + strings.Repeat(`a="b",`, 20) + `}`, "matchers"},
	} {
		for _, times := range []string{"new", "kept"} {
			r := p.Request(t.Context())
			var err error
			n := 0
			for ; n < 100 && err == nil; n++ {
				_, err = r.Selector(of.text)
			}
			checkLimitIs(t, of.what+" "+times, err, of.what)
			if n < 3 {
				t.Errorf("%s: a request may have %d selectors only", of.what, n-1)
			}
		}
	}
}

func checkLimitIs(t *testing.T, name string, err error, what string) {
	t.Helper()
	if of, is := errors.AsType[*selector.LimitError](err); !is || !strings.Contains(of.What, what) {
		t.Errorf("%s: the error is %v", name, err)
	}
}

// TestUsual lets pass what dashboards ask, and keeps it.
func TestUsual(t *testing.T) {
	p := mustParser(t, nil)
	for text, value := range map[string]string{
		`{node=~"` + hostIDs(200) + `"}`: strings.Split(hostIDs(200),
			"|")[117],
		`{node=~"(` + hostIDs(200) + `)"}`:                     strings.Split(hostIDs(200), "|")[3],
		`cassandra_table_read_latency_seconds{table=~"o.*"}`:   "orders",
		`{table=~"(?i)ORD[a-z]+_[0-9]{1,3}"}`:                  "orders_17",
		`{__name__=~"os_.+|cassandra_(table|cache)_.*_total"}`: "os_load1",
	} {
		first, err := p.Request(t.Context()).Selector(text)
		if err != nil {
			t.Fatal(err)
		}
		if m := first[0]; !m.Matches(value) || m.Matches("zz") {
			t.Errorf("%v does not match %q alone", m, value)
		}
		again, err := p.Request(t.Context()).Selector(text)
		if err != nil || again[0] != first[0] {
			t.Errorf("%.60s was compiled twice, error %v", text, err)
		}
	}
}

// TestCacheIsBounded asks for more selectors than are kept.
func TestCacheIsBounded(t *testing.T) {
	p := mustParser(t, func(c *selector.Config) { c.CacheBytes = 1 << 20 })
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range 2000 {
		if _, err := p.Request(t.Context()).Selector(fmt.Sprintf(`{a=~"x{0,300}%d.*"}`, i)); err !=
			nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 4<<20 {
		t.Errorf("%d bytes are kept where 1 MiB is allowed", kept)
	}
	runtime.KeepAlive(p)
}

// TestCheck finds the regular expressions in PromQL.
func TestCheck(t *testing.T) {
	p := mustParser(t, nil)
	for expr, what := range map[string]string{
		`sum by (table) (rate(reads{table=~"a.*"}[5m])) / 2 != 3`: "",
		"sum(a{b=~\"c{0,1000}\",d=~`e{0,1000}f{0,1000}g{0,1000}h{0,1000}`}) + " +
			`max(i{j!~'k{0,1000}l{0,1000}m{0,1000}n{0,1000}o{0,1000}'})`: "instructions",
		`a{b=~ # not here "c"` + "\n" + `"` + repeated(9000) + `"}`: "bytes",
		`a{b="` + repeated(9000) + `"}`:                             "",
	} {
		err := p.Request(t.Context()).Check(expr)
		if what == "" && err != nil {
			t.Errorf("%.80s: %v", expr, err)
		} else if what != "" {
			checkLimitIs(t, expr[:20], err, what)
		}
	}
	for _, wrong := range []string{`{a=~"("}`, `{a=~"b{2000}"}`, `{a=~"\xzz"}`, `{a=~"b`} {
		if _, err := p.Request(t.Context()).Selector(wrong); err == nil {
			t.Errorf("%s is no error", wrong)
		}
	}
}

// TestEnded does not wait for a processor when the request has ended.
func TestEnded(t *testing.T) {
	p := mustParser(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	// A processor is free, too, so that either may be chosen.
	for i := range 100 {
		_, err := p.Request(ctx).Selector(fmt.Sprintf(`{a=~"b%d.*"}`, i))
		if errors.Is(err, context.Canceled) {
			return
		}
	}
	t.Error("a request that has ended compiles")
}

// TestConfig names each mistake.
func TestConfig(t *testing.T) {
	c := selector.Config{CacheBytes: -1}
	_, err := selector.New(c)
	for _, key := range []string{"max_regexp_bytes", "max_total_bytes", "max_instructions",
		"max_matchers", "cache_bytes"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("the error does not name %s: %v", key, err)
		}
	}
}
