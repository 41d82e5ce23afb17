package scrape

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/frame"
)

// plain answers in Prometheus's text.
func plain(write func(w io.Writer)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		write(w)
	}
}

// endless writes lines until nobody reads, at most so many bytes.
func endless(w io.Writer, most int) {
	line := []byte(strings.Repeat("a_metric{x=\"y\"} 1\n", 1000))
	for n := 0; n < most; n += len(line) {
		if _, err := w.Write(line); err != nil {
			return
		}
	}
}

// TestBadTargets: what a target may do badly fails its scrape with one sentence or bounds what it
// says, and a good target beside is read in time.
func TestBadTargets(t *testing.T) {
	good := says(t, "good 1")
	long := strings.Repeat("x", 1<<20)
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	for _, c := range []struct {
		name   string
		target http.HandlerFunc
		more   []string
		fails  bool
		says   string             // of the target's sentence
		has    map[string]float64 // of its reading
		hasNot []string
	}{
		{name: "500 MB", target: plain(func(w io.Writer) { endless(w, 500<<20) }), fails: true,
			more: []string{"scrape_timeout: 5s, scrape_interval: 5s"},
			says: "more than its body_size_limit, 64MiB"},
		{name: "endless", target: plain(func(w io.Writer) { endless(w, 1<<40) }), fails: true,
			more: []string{"body_size_limit: 1MB"}, says: "more than its body_size_limit, 1MiB"},
		{name: "endless and slow", fails: true, says: "did not answer in full within its timeout",
			target: func(w http.ResponseWriter, q *http.Request) {
				for q.Context().Err() == nil {
					if _, err := io.WriteString(w, "a 1\n"); err != nil {
						return
					}
					w.(http.Flusher).Flush()
					time.Sleep(5 * time.Millisecond)
				}
			}},
		{name: "hangs", fails: true, says: "did not answer in full within its timeout of 100ms",
			target: func(_ http.ResponseWriter, q *http.Request) {
				select {
				case <-q.Context().Done():
				case <-stop:
				}
			}},
		{name: "too many series", more: []string{"sample_limit: 10"}, fails: true,
			says: "more series than its sample_limit, 10",
			target: plain(func(w io.Writer) {
				for i := range 11 {
					fmt.Fprintf(w, "a{i=\"%d\"} 1\n", i)
				}
			})},
		{name: "status", fails: true, says: "The target answered 503",
			target: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }},
		{name: "no text at all", fails: true, says: "cannot be read",
			target: plain(func(w io.Writer) { _, _ = io.WriteString(w, "<html>\x00\xff</html>") })},
		{name: "wrong content type", fails: true, says: "cannot be read",
			target: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(w, "a 1\n")
			}},
		{name: "wrong content type and a fallback", has: map[string]float64{"a": 1},
			more: []string{"fallback_scrape_protocol: PrometheusText0.0.4"},
			target: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(w, "a 1\n")
			}},
		{name: "gzip that is none", fails: true, says: "cannot be read",
			target: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				_, _ = io.WriteString(w, "a 1\n")
			}},
		{name: "duplicates", says: "2 because the target says them twice",
			target: plain(func(w io.Writer) {
				_, _ = io.WriteString(w, "a{x=\"1\",y=\"2\"} 1\na{x=\"1\",y=\"2\"} 2\n"+
					"a{y=\"2\",x=\"1\"} 3\nb 4\n")
			}), has: map[string]float64{`a{x="1",y="2"}`: 1, "b": 4}},
		{name: "its own up", says: "twice",
			target: plain(func(w io.Writer) { _, _ = io.WriteString(w, "up 0\nb 4\n") }),
			has:    map[string]float64{"up": 1, "b": 4}},
		{name: "somebody else's labels", more: []string{"honor_labels: true"},
			target: plain(func(w io.Writer) {
				_, _ = io.WriteString(w, `a{cluster="theirs",node="n",rack="r",datacenter="d"} 1
b{le="1",quantile="0.5",kind="Pod",recorded_x="1"} 2
c{cluster="theirs",exported_cluster="others"} 3
`)
			}), has: map[string]float64{
				`a{exported_cluster="theirs",exported_datacenter="d",exported_node="n",` +
					`exported_rack="r"}`: 1,
				`b{exported_le="1",exported_recorded_x="1",kind="Pod",quantile="0.5"}`: 2,
				`c{exported_cluster="others",exported_exported_cluster="theirs"}`:      3}},
		{name: "5000 names", says: "because the target has more than",
			target: plain(func(w io.Writer) {
				for i := range 5000 {
					fmt.Fprintf(w, "name_%d 1\n", i)
				}
			}), has: map[string]float64{"name_0": 1, "name_900": 1}, hasNot: []string{"name_4999"}},
		{name: "a label of 1 MB", says: "1 because a label's name is longer than 255 bytes",
			target: plain(func(w io.Writer) { fmt.Fprintf(w, "a{x=%q} 1\na{x=\"z\"} 2\n", long) }),
			has:    map[string]float64{`a{x="z"}`: 2}},
		{name: "a name of 1 MB", says: "1 because their name is longer than 255 bytes",
			target: plain(func(w io.Writer) { fmt.Fprintf(w, "a%s 1\nb 2\n", long) }),
			has:    map[string]float64{"b": 2}},
		{name: "a name of 306 bytes among four", says: "1 because their name is longer than 255",
			target: plain(func(w io.Writer) {
				fmt.Fprintf(w, "a 1\nb 2\nc 3\n%s 4\n", long[:306])
			}), has: map[string]float64{"a": 1, "b": 2, "c": 3}},
		{name: "names that become one", says: "1 because another metric has their name",
			target: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/plain; version=1.0.0; escaping=allow-utf-8")
				_, _ = io.WriteString(w, "{\"a.b\"} 2\n{\"a-b\"} 3\n")
			}, has: map[string]float64{"a_b": 2}},
		{name: "more sets of bounds than a frame has",
			says: "because the target's histograms have more than 256 sets of bounds",
			target: plain(func(w io.Writer) {
				for i := range frame.MaxBoundsSets + 1 {
					fmt.Fprintf(w, "# TYPE h%[1]d histogram\nh%[1]d_bucket{le=\"%[1]d.5\"} 1\n"+
						"h%[1]d_bucket{le=\"+Inf\"} 1\nh%[1]d_sum 1\nh%[1]d_count 1\n", i)
				}
			})},
		{name: "too many labels", says: "1 because their metric has more than 16 labels",
			target: plain(func(w io.Writer) {
				_, _ = io.WriteString(w, "a{x=\"z\"} 2\na{")
				for i := range frame.MaxLabels {
					fmt.Fprintf(w, "l%d=\"1\",", i)
				}
				_, _ = io.WriteString(w, "} 1\n")
			}), has: map[string]float64{`a{x="z"}`: 2}},
		{name: "names that no frame has", target: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=1.0.0; escaping=allow-utf-8")
			_, _ = io.WriteString(w, "{\"a.b\",\"c.d\"=\"1\"} 2\nUpper 3\n")
		}, has: map[string]float64{`a_b{exported_c_d="1"}`: 2, "Upper": 3}},
		{name: "times of its own",
			target: plain(func(w io.Writer) { _, _ = io.WriteString(w, "a 1 1000\na 2 2000\n") }),
			has:    map[string]float64{"a": 2}},
		{name: "no numbers", hasNot: []string{"a", "c_total"},
			target: plain(func(w io.Writer) {
				_, _ = io.WriteString(w, "a NaN\nb +Inf\n# TYPE c_total counter\nc_total NaN\n"+
					"# TYPE d_total counter\nd_total -1\n# TYPE e_total counter\ne_total 1e300\n")
			}), has: map[string]float64{"d_total": -1, "e_total": 1e300}},
		{name: "nothing", target: plain(func(io.Writer) {}), has: map[string]float64{"up": 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			section := job(serve(t, c.target), c.more...)
			section = strings.TrimSuffix(section, "]") +
				", {job_name: good, static_configs: [{targets: ['" + good + "']}]}]"
			r := start(t, section)
			mine := func(x taken) bool { return x.target.Job == "t" }
			x := r.next("a reading", func(x taken) bool { return mine(x) && isUp(x) != c.fails })
			of := values(x.Reading)
			if n := len(of); c.fails && n != 5 {
				t.Errorf("a failed scrape's reading has %d series: %v", n, of)
			}
			for name, v := range c.has {
				if got, there := of[name]; !there || got != v {
					t.Errorf("%s is %v (%v), not %v, in %.1000v", name, got, there, v, of)
				}
			}
			for _, name := range c.hasNot {
				if _, there := of[name]; there {
					t.Errorf("%s is there", name)
				}
			}
			if x.Limit(1<<20) != 0 {
				t.Error("a reading is larger than a frame")
			}
			says := func(job string) string {
				for _, target := range r.Targets() {
					if target.Job == job {
						return target.Error
					}
				}
				return "it is not there"
			}
			said := says("t")
			eventually.True(t, "the good target has no error", func() bool {
				return says("good") == "" // a busy machine may take longer than its timeout
			})
			if !strings.Contains(said, c.says) || c.says == "" && said != "" ||
				strings.Count(said, ". ") > 0 || len(said) > 500 ||
				strings.ContainsAny(said, "\n\x00") {
				t.Errorf("Targets says %q, not %q", said, c.says)
			}
			r.drop()
			r.next("the good target", func(x taken) bool { return !mine(x) && isUp(x) })
		})
	}
}

// TestManySeriesAtOnce: a process does not keep more series than it may, and says so.
func TestManySeriesAtOnce(t *testing.T) {
	many := func(w io.Writer) {
		for i := range 600 {
			fmt.Fprintf(w, "a{i=\"%d\"} 1\n", i)
		}
	}
	r := start(t, "[{job_name: t, static_configs: [{targets: ['"+serve(t, plain(many))+"', '"+
		serve(t, plain(many))+"']}]}]", func(c *Config, _ *Deps) {
		c.MaxSeries, c.MaxAllSeries = 1000, 1000
	})
	r.next("one that is up", isUp)
	r.next("one that is not", func(x taken) bool {
		return isDown(x) && len(values(x.Reading)) == 5
	})
	full := 0
	for _, target := range r.Targets() {
		if strings.Contains(target.Error, "max_all_series, 1000") {
			full++
		}
	}
	if full == 0 || r.Scraper.series.Load() > 1000+10 {
		t.Errorf("%d targets say that there is no room, there are %d series: %+v", full,
			r.Scraper.series.Load(), r.Targets())
	}
}

// TestChurn: series and names that come and go cost no more than those that are there.
func TestChurn(t *testing.T) {
	var pass atomic.Int64
	r := start(t, job(serve(t, plain(func(w io.Writer) {
		n := pass.Add(1)
		for i := range 300 {
			fmt.Fprintf(w, "name_%d_%d{l%d=\"1\"} 1\nsame{l%d=\"%d\"} 1\n", n, i, n, n, i)
		}
		if n%3 == 0 {
			_, _ = io.WriteString(w, "}")
		}
	}))))
	r.next("many scrapes", func(taken) bool { return pass.Load() > 40 })
	x := r.next("a reading", isUp)
	if n := len(values(x.Reading)); n != 605 {
		t.Errorf("a reading has %d series", n)
	}
	for _, target := range r.Targets() {
		if target.Left[leftLabels]+target.Left[leftNames] > 0 {
			t.Errorf("%+v", target)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Scraper.mu.Lock()
	defer r.Scraper.mu.Unlock()
	if n := r.Scraper.series.Load(); n > 1300 {
		t.Errorf("%d series are kept", n)
	}
}

// TestMemory: ten targets that never end cost what they may, one after the other.
func TestMemory(t *testing.T) {
	var list []string
	for range 10 {
		list = append(list, serve(t, plain(func(w io.Writer) { endless(w, 1<<40) })))
	}
	r := start(t, "[{job_name: t, body_size_limit: 8MB, scrape_interval: 2s, scrape_timeout: 2s, "+
		"static_configs: [{targets: ['"+strings.Join(list, "', '")+"']}]}]")
	seen := map[uuid.UUID]bool{}
	r.next("all of them", func(x taken) bool {
		seen[x.target.ID()] = true
		return len(seen) == len(list)
	})
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapInuse > 1<<30 {
		t.Errorf("the heap has %d MB", m.HeapInuse>>20)
	}
}

// TestRedirect: credentials do not follow a redirect to another host, and are nowhere in what
// Targets says.
func TestRedirect(t *testing.T) {
	var leaked atomic.Bool
	other := serve(t, func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Authorization") != "" || q.Header.Get("X-Secret") != "" {
			leaked.Store(true)
		}
		w.WriteHeader(http.StatusTeapot)
	})
	first := serve(t, func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Authorization") == "" {
			t.Error("the target gets no credentials")
		}
		http.Redirect(w, q, "http://"+strings.Replace(other, "127.0.0.1", "localhost", 1)+"/", 302)
	})
	for _, more := range []string{"basic_auth: {username: u, password: geheim}",
		"authorization: {credentials: geheim}, params: {token: [geheim]}"} {
		r := start(t, job(first, more))
		r.next("a failed scrape", isDown)
		if text := fmt.Sprintf("%+v %#v %v", r.Targets(), r.config, r.config); leaked.Load() ||
			strings.Contains(text, "password:geheim") ||
			strings.Contains(text, "credentials: geheim") {
			t.Errorf("%v: %s", leaked.Load(), text)
		}
		for _, target := range r.Targets() {
			if strings.Contains(target.Error, "geheim") ||
				target.Error != "The target answered 418 "+
					"I'm a teapot." {
				t.Error(target.Error)
			}
		}
	}
	gone := start(t, job("127.0.0.1:1", "params: {token: [geheim]}"))
	gone.next("a failed scrape", isDown)
	if said := gone.Targets()[0].Error; strings.Contains(said, "geheim") ||
		!strings.HasPrefix(said, "The target cannot be reached") {
		t.Error(said)
	}
}

// TestSlowDoesNotHoldUp: with few slots, targets that hang do not keep good ones from being read.
func TestSlowDoesNotHoldUp(t *testing.T) {
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	hang := func(_ http.ResponseWriter, q *http.Request) {
		select {
		case <-q.Context().Done():
		case <-stop:
		}
	}
	list := []string{}
	for range 12 {
		list = append(list, "'"+serve(t, hang)+"'")
	}
	r := start(t, "[{job_name: bad, static_configs: [{targets: ["+strings.Join(list, ", ")+"]}]}, "+
		"{job_name: good, static_configs: [{targets: ['"+says(t, "a 1")+"']}]}]",
		func(c *Config, _ *Deps) {
			c.MaxScrapes, c.Interval, c.Timeout = 1, 200*time.Millisecond, 200*time.Millisecond
		})
	good, bad := 0, 0
	r.next("readings of the good one", func(taken) bool {
		good, bad = 0, 0
		for _, x := range r.taken() {
			if x.target.Job == "good" {
				good++
			} else {
				bad++
			}
		}
		return good >= 20
	})
	// Four slots for twelve that hang: each is read every third interval.
	if bad > 12*good*2/3 {
		t.Errorf("there are %d readings of the good target, and %d of twelve that hang", good, bad)
	}
}
