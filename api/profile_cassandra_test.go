package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/apitest"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/dictionary/profile"
	"github.com/ringwatch/ringwatch/doctor"
)

// profilePatience bounds every wait: the machine may be ten times slower from one minute to the
// next.
const profilePatience = 15 * time.Minute

const agentJar = "../agent/target/ringwatch-agent.jar"

// TestProfiles holds the API's ?profile= against the agent's, of one node at the same time: the
// same names and labels, and the same values of what does not move, but for what
// dictionary/profile/lacks.txt names.
func TestProfiles(t *testing.T) {
	engines.Needed(t, "Cassandra")
	store := &apitest.Store{}
	agent, config, work := mustAgent(t, store)
	url := mustServe(t, store)
	nodes, err := store.Nodes(t.Context(), "acme")
	for deadline := time.Now().Add(profilePatience); err == nil && len(nodes) == 0 &&
		time.Now().Before(deadline); <-time.After(50 * time.Millisecond) {
		nodes, err = store.Nodes(t.Context(), "acme")
	}
	if err != nil || len(nodes) == 0 {
		t.Fatalf("no frame has come: %v", err)
	}
	for _, name := range profile.Names()[1:] {
		t.Run(name, func(t *testing.T) {
			node := url + "/v1/nodes/" + nodes[0].ID.String() + "/prometheus?profile=" + name
			sameSeries(t, agent+"?profile="+name, node, leastOf(name))
			// many nodes' text is made another way
			cluster := url + "/v1/clusters/" + nodes[0].Cluster + "/prometheus?profile=" + name
			// a frame that comes between the two may have more
			eventually.Nil(t, "one number of series", func() error {
				one, all := page(t, node), page(t, cluster)
				if len(one) < leastOf(name) || len(one) != len(all) {
					return fmt.Errorf("the node has %d series and its cluster %d", len(one),
						len(all))
				}
				return nil
			})
		})
	}
	t.Run("Lacks", func(t *testing.T) {
		noStaleLacks(t, agent, url+"/v1/nodes/"+nodes[0].ID.String()+"/prometheus")
	})
	t.Run("Losses", func(t *testing.T) { lossesOf(t, agent) })
	t.Run("Doctor", func(t *testing.T) { // it asks this agent
		report, err := doctor.Examine(t.Context(), doctor.Options{AgentConfig: config,
			Jar: agentJar})
		if err != nil {
			t.Fatal(err)
		}
		says := func(c doctor.Result) bool {
			return c.Name == "profiles" && c.Status == doctor.Warn &&
				strings.Contains(c.Message, "instaclustr_exporter loses series of") &&
				strings.Contains(c.Remedy, "/metrics?profile=instaclustr_exporter")
		}
		if !slices.ContainsFunc(report.Results, says) {
			t.Errorf("%+v", report.Results)
		}
	})
	t.Run("Dashboards", func(t *testing.T) {
		dashboardsHaveData(t, agent, url+"/v1/nodes/"+nodes[0].ID.String()+"/prometheus", work)
	})
}

// noStaleLacks fails for a pattern of dictionary/profile/lacks.txt that matches no series of any
// profile.
func noStaleLacks(t *testing.T, agent, api string) {
	list := lacks(t)
	matched := make([]bool, len(list))
	for _, name := range profile.Names()[1:] {
		for _, url := range []string{agent, api} {
			for key := range page(t, url+"?profile="+name) {
				for i, p := range list {
					matched[i] = matched[i] || p.MatchString(key)
				}
			}
		}
	}
	for i, p := range list {
		if !matched[i] {
			t.Errorf("%s matches no series: take it out of dictionary/profile/lacks.txt", p)
		}
	}
}

// lossesOf holds what profile.Losses says of an order against the page of an agent that has it.
func lossesOf(t *testing.T, agent string) {
	losses, err := profile.Losses(profile.Names())
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	for _, l := range losses {
		for _, name := range l.Names {
			said[l.Profile+" "+name] = true
		}
	}
	all, list := bySeries(page(t, agent)), lacks(t)
	for _, p := range profile.Names() {
		alone := bySeries(page(t, agent+"?profile="+p))
		for name, series := range alone {
			family := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"),
				"_count"), "_sum")
			lost := 0
			for _, of := range series {
				// Losses knows of no indexes, and of no more than frames have
				if of.Get("table_type") == "index" || of.Get("index") != "" ||
					slices.ContainsFunc(list, func(p *regexp.Regexp) bool {
						return p.MatchString(of.String())
					}) {
					continue
				}
				if !slices.ContainsFunc(all[name], func(s labels.Labels) bool {
					within := true
					of.Range(func(l labels.Label) { within = within && s.Get(l.Name) == l.Value })
					return within
				}) {
					lost++
				}
			}
			if is := lost > 0; is != (said[p+" "+name] || said[p+" "+family]) &&
				(is || lost == len(series)) {
				t.Errorf("%s: %d of %d series of %s are lost", p, lost, len(series), name)
			}
		}
	}
}

func bySeries(page map[string]float64) map[string][]labels.Labels {
	all := map[string][]labels.Labels{}
	for key := range page {
		l, err := parseLabels(key)
		if err != nil {
			panic(err)
		}
		all[l.Get(labels.MetricName)] = append(all[l.Get(labels.MetricName)], l)
	}
	return all
}

var pair = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"`)

func parseLabels(key string) (labels.Labels, error) {
	b := labels.NewScratchBuilder(8)
	for _, m := range pair.FindAllStringSubmatch(key, -1) {
		b.Add(m[1], m[2])
	}
	b.Sort()
	return b.Labels(), nil
}

// lacks are the patterns of dictionary/profile/lacks.txt.
func lacks(t *testing.T) (list []*regexp.Regexp) {
	t.Helper()
	file, err := os.ReadFile("../dictionary/profile/lacks.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(file)) {
		if pattern, _, ok := strings.Cut(line, "\t"); ok && !strings.HasPrefix(line, "#") {
			list = append(list, regexp.MustCompile("(?i)"+pattern))
		}
	}
	return list
}

// Near and not equal: figures of what was counted lately.
var lately = regexp.MustCompile(
	`quantile="|thpercentile|_mean"|_average"|:(mean|max)"|oneminuterate` +
		`|_(\d+p|max)_microseconds"`)

// What moves while a pass reads it twice, once for each face, and one gauge that the agent reads
// again only when a table moves.
var moving = regexp.MustCompile(`jvm_|process_|java:(lang|nio)|os_|_bytesunrepaired"` +
	`|:bytesunrepaired:|collectd_(load|context|interface|memory|swap)`)

// What is the agent's alone to say, as a label.
var described = regexp.MustCompile(`compaction_strategy_class="[^"]*", `)

// leastOf is how many series a profile has at least of which values stand still.
func leastOf(profile string) int {
	if profile == "opentelemetry" { // it has 26
		return 10
	}
	return 100
}

// sameSeries looks at both pages until all that is not the same at one look is at another.
func sameSeries(t *testing.T, agent, api string, least int) {
	list := lacks(t)
	lacking := func(key string) bool {
		return slices.ContainsFunc(list, func(p *regexp.Regexp) bool { return p.MatchString(key) })
	}
	var wrong map[string]string
	looks, compared := 0, 0
	for deadline := time.Now().Add(profilePatience); wrong == nil || len(wrong) > 0; looks++ {
		if looks > 0 {
			<-time.After(time.Second) // a pass of the agent
		}
		if time.Now().After(deadline) {
			for i, key := range slices.Sorted(maps.Keys(wrong)) {
				if i == 40 {
					break
				}
				t.Errorf("%s: %s", key, wrong[key])
			}
			t.Fatalf("%d series are not the same at any of %d looks", len(wrong), looks)
		}
		first, ours, second := page(t, agent), page(t, api), page(t, agent)
		compared = 0
		now := map[string]string{}
		for key, v := range first {
			after, there := second[key]
			is, found := ours[key]
			switch {
			case lacking(key) || !there:
			case !found:
				now[key] = "the API does not have it"
			case lately.MatchString(key) || moving.MatchString(key) || after != v && !math.IsNaN(v):
			case is != v && math.Abs(is-v) > 1e-9*math.Abs(v) && !math.IsNaN(is+v):
				now[key] = fmt.Sprintf("%v, and %v by the API", v, is)
			default:
				compared++
			}
		}
		for key := range ours {
			_, before := first[key]
			_, after := second[key]
			if !before && !after && !lacking(key) {
				now[key] = "only the API has it"
			}
		}
		if wrong != nil {
			for key := range wrong {
				if now[key] == "" {
					delete(wrong, key)
					deadline = time.Now().Add(profilePatience) // the agent is still naming beans
				}
			}
		} else {
			wrong = now
		}
	}
	t.Logf("%d values are the same at look %d", compared, looks)
	if compared < least {
		t.Errorf("only %d values could be compared", compared)
	}
}

// mustAgent starts a Cassandra whose agent serves all profiles and sends frames to a store, and
// lets it do some work. It returns the address of its /metrics, its configuration, and the work.
func mustAgent(t *testing.T, store *apitest.Store) (metrics, config string, work func()) {
	t.Helper()
	jar, err := filepath.Abs(agentJar)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(jar); err != nil {
		t.Fatalf("the agent is not built: run `make build` first (%v)", err)
	}
	ingest := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil || len(b) == 0 { // doctor asks with nothing
			return
		}
		store.Put("acme", b)
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(ingest.Close)
	port := engines.FreePorts(t, 1)[0]
	config = filepath.Join(t.TempDir(), "agent.yaml")
	text := fmt.Sprintf("ingest:\n  urls: [%q]\n  key: rw_test\ninterval: 1s\nlisten: "+
		"127.0.0.1:%d\nprofiles: [%s]\n", ingest.URL, port, strings.Join(profile.Names(), ", "))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	node := engines.MustCassandra(t, func(c *engines.CassandraConfig) {
		c.JVMArgs = []string{"-javaagent:" + jar + "=" + config}
	})
	cluster := gocql.NewCluster(node.Host)
	cluster.Port, cluster.Timeout, cluster.ConnectTimeout = node.NativePort, 3*time.Minute,
		3*time.Minute
	session, err := cluster.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	exec := func(q string, args ...any) {
		if err := session.Query(q, args...).Exec(); err != nil {
			t.Fatal(q, err)
		}
	}
	exec("CREATE KEYSPACE watched WITH replication = {'class': 'SimpleStrategy', " +
		"'replication_factor': 1}")
	// sizes of partitions are those of SSTables
	exec("CREATE TABLE watched.t (k int PRIMARY KEY, v text) WITH " +
		"memtable_flush_period_in_ms = 1000")
	exec("CREATE TABLE watched.indexed (k int PRIMARY KEY, v text)")
	exec("CREATE INDEX by_v ON watched.indexed (v)")
	written := 0
	work = func() {
		for i := range 50 {
			exec("INSERT INTO watched.t (k, v) VALUES (?, ?)", i, strings.Repeat("x", i))
			exec("SELECT * FROM watched.t WHERE k = ?", i)
			exec("INSERT INTO watched.indexed (k, v) VALUES (?, 'a')", i)
		}
		exec("SELECT * FROM watched.indexed WHERE v = 'a'")
		exec("SELECT * FROM watched.t")
		written++
		for _, k := range []int{1, 1000 + written} { // one that is there and one that is not
			exec("INSERT INTO watched.t (k, v) VALUES (?, 'a') IF NOT EXISTS", k)
		}
	}
	work()
	return fmt.Sprintf("http://127.0.0.1:%d/metrics", port), config, work
}

// mustServe runs an API on a store alone.
func mustServe(t *testing.T, store *apitest.Store) string {
	t.Helper()
	registry, err := account.NewRegistry(
		[]account.Account{{Name: "acme",
			Keys: []account.Key{{Name: "r", Key: acmeKey, Scopes: []account.Scope{account.Read}}}}})
	if err != nil {
		t.Fatal(err)
	}
	c := api.DefaultConfig()
	c.Listen, c.RequestTimeout = "127.0.0.1:0", profilePatience
	server, err := api.New(c, api.Deps{Admit: account.NewDoor(registry.Authenticate).Admit,
		Reader:     apitest.MustReader(t, c, store.Sources()),
		StoreReady: store.Ready, Metrics: prometheus.NewRegistry(),
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return "http://" + server.Addr()
}

// page returns the series of an exposition, without the labels that the API has of each node.
func page(t *testing.T, url string) map[string]float64 {
	t.Helper()
	all := map[string]float64{}
	eachSeries(t, url, func(l labels.Labels, v float64) {
		key := described.ReplaceAllString(labels.NewBuilder(l).Del("cluster", "datacenter", "rack",
			"node").Labels().String(), "")
		if _, twice := all[key]; twice {
			t.Fatalf("%s has %s twice", url, key)
		}
		all[key] = v
	})
	return all
}

// everySeries returns the series of an exposition, by name.
func everySeries(t *testing.T, url string) map[string][]labels.Labels {
	t.Helper()
	all := map[string][]labels.Labels{}
	eachSeries(t, url, func(l labels.Labels, _ float64) {
		all[l.Get(labels.MetricName)] = append(all[l.Get(labels.MetricName)], l)
	})
	return all
}

func eachSeries(t *testing.T, url string, see func(labels.Labels, float64)) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+acmeKey)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s %v", url, answer.StatusCode, body, err)
	}
	parser := textparse.NewPromParser(body, labels.NewSymbolTable(), false)
	for {
		entry, err := parser.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if entry != textparse.EntrySeries {
			continue
		}
		var l labels.Labels
		parser.Labels(&l)
		_, _, v := parser.Series()
		see(l, v)
	}
}
