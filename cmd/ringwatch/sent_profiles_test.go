package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/dev/engines"
)

// sentProfiles are those that one node sends at once. The rules of dashboard_5408 are those of the
// mixin in part, and a name is sent once.
var sentProfiles = []string{"grafana_mixin", "criteo_exporter", "mcac", "instaclustr_exporter",
	"management_api", "opentelemetry"}

// lostToOwn is how many queries fewer have data than from a Prometheus, by dashboard: those of
// names that the node's own frames have. docs/AGENT.md has the table.
var lostToOwn = map[string]int{"instaclustr-cluster": 8, "instaclustr-node": 30,
	"instaclustr-table": 23}

// TestSentProfiles holds what an agent sends by send_profiles to a Prometheus that scrapes the same
// profiles: as many queries of public dashboards have data.
func TestSentProfiles(t *testing.T) {
	engines.Needed(t, "Prometheus")
	d := newDirectory(t)
	d.begin(t)
	key := d.key(t, "all", account.Read, account.Write)
	agent, work := mustSender(t, d.ingest, key)
	theirs := scrapingPrometheus(t, agent)
	for _, name := range sentProfiles {
		boards := mustBoards(t, name)
		t.Run(name, func(t *testing.T) {
			ever := map[string][2]bool{} // a busy machine misses a scrape
			for deadline := time.Now().Add(5 * time.Minute); ; <-time.After(2 * time.Second) {
				work()
				counts, wrong := "", []string{}
				for _, b := range boards {
					sum, here, there := 0, 0, 0
					for _, q := range b.queries {
						had := ever[b.name+q.line]
						ours, other := had[0] || q.answers(t, d.api, key),
							had[1] || q.answers(t, theirs, "")
						ever[b.name+q.line] = [2]bool{ours, other}
						sum += q.times
						if ours {
							here += q.times
						}
						if other {
							there += q.times
						}
						if ours != other && (ours || lostToOwn[b.name] == 0) {
							wrong = append(wrong, fmt.Sprintf("%s: %s: ours %t, Prometheus %t",
								b.name, q.line, ours, other))
						}
					}
					counts += fmt.Sprintf("\n%s: of %d queries %d have data, %d in Prometheus",
						b.name, sum, here, there)
					if there-here != lostToOwn[b.name] {
						wrong = append(wrong, fmt.Sprintf("%s: %d are lost, not %d", b.name,
							there-here, lostToOwn[b.name]))
					}
				}
				if len(wrong) == 0 {
					t.Log(counts)
					return
				}
				if time.Now().After(deadline) {
					t.Fatalf("%s\n%s", counts, strings.Join(wrong, "\n"))
				}
			}
		})
	}
}

// mustSender starts a Cassandra whose agent serves and sends the profiles. It returns the address
// of its /metrics and what lets it do some work.
func mustSender(t *testing.T, ingest, key string) (listens string, work func()) {
	t.Helper()
	jar, err := filepath.Abs("../../agent/target/ringwatch-agent.jar")
	if err != nil {
		t.Fatal(err)
	}
	listens = fmt.Sprintf("127.0.0.1:%d", engines.FreePorts(t, 1)[0])
	config := fmt.Sprintf("ingest:\n  urls: [%q]\n  key: %s\ninterval: 1s\nlisten: %s\n"+
		"profiles: [%s]\nsend_profiles:\n", ingest, key, listens, strings.Join(sentProfiles, ", "))
	for _, name := range sentProfiles {
		config += "  - " + name + ": {cassandra_cluster: ringwatch}\n"
	}
	file := filepath.Join(t.TempDir(), "agent.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	node := engines.MustCassandra(t, func(c *engines.CassandraConfig) {
		c.JVMArgs = []string{"-javaagent:" + jar + "=" + file}
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
	exec("CREATE TABLE watched.t (k int PRIMARY KEY, v text) WITH " +
		"memtable_flush_period_in_ms = 1000")
	exec("CREATE TABLE watched.indexed (k int PRIMARY KEY, v text)")
	exec("CREATE INDEX by_v ON watched.indexed (v)")
	written := 0
	return listens, func() {
		written++
		for i := range 50 {
			exec("INSERT INTO watched.t (k, v) VALUES (?, ?)", i, strings.Repeat("x", i))
			exec("SELECT * FROM watched.t WHERE k = ?", i)
			exec("INSERT INTO watched.indexed (k, v) VALUES (?, 'a')", i)
		}
		exec("SELECT * FROM watched.indexed WHERE v = 'a'")
		exec("SELECT * FROM watched.t")
		for _, k := range []int{1, 1000 + written} { // one that is there and one that is not
			exec("INSERT INTO watched.t (k, v) VALUES (?, 'a') IF NOT EXISTS", k)
		}
	}
}

// scrapingPrometheus starts one that scrapes each profile by a job of its own, as METRICS.md says.
func scrapingPrometheus(t *testing.T, agent string) string {
	t.Helper()
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Fatalf("prometheus is missing: apt-get install prometheus (%v)", err)
	}
	dir, port := t.TempDir(), engines.FreePorts(t, 1)[0]
	config := "global: {scrape_interval: 5s, scrape_timeout: 5s}\nscrape_configs:\n"
	for _, name := range sentProfiles {
		config += fmt.Sprintf("- job_name: %s\n  honor_labels: true\n  params: {profile: [%s]}\n"+
			"  static_configs: [{targets: [%q], labels: {cassandra_cluster: ringwatch}}]\n",
			name, name, agent)
	}
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config),
		0o600); err != nil {
		t.Fatal(err)
	}
	process, err := engines.StartProcess(engines.ProcessConfig{Name: "prometheus", Path: program,
		Dir: dir, Log: filepath.Join(dir, "prometheus.log"),
		Args: []string{"--config.file=prometheus.yml",
			fmt.Sprintf("--web.listen-address=127.0.0.1:%d", port), "--storage.tsdb.path=data"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { process.Kill() })
	return fmt.Sprintf("http://127.0.0.1:%d", port)
}

// board is a dashboard of dictionary/profile/dashboards.
type board struct {
	name    string
	queries []boardQuery
}

type boardQuery struct {
	line      string
	times     int
	selectors []string
}

// mustBoards reads a profile's file of dashboards without what only some nodes have; none for a
// profile that nobody publishes any for. TestProfiles says what a line means.
func mustBoards(t *testing.T, profile string) (list []board) {
	t.Helper()
	text, err := os.ReadFile("../../dictionary/profile/dashboards/" + profile + ".txt")
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	all := ""
	var some []*regexp.Regexp
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || word == "#" || word == "variable" || word == "both" || word == "api":
		case word == "all":
			for label := range strings.FieldsSeq(rest) {
				all += "," + label + `!=""`
			}
		case word == "some":
			pattern, _, _ := strings.Cut(rest, "\t")
			some = append(some, regexp.MustCompile(pattern))
		case word == "dashboard":
			name, _, _ := strings.Cut(rest, " ")
			list = append(list, board{name: name})
		default:
			q := boardQuery{line: line, times: 1}
			if n, err := strconv.Atoi(word); err == nil {
				q.times, line = n, rest
			}
			for s := range strings.SplitSeq(line, " & ") {
				name, matchers, _ := strings.Cut(strings.TrimSuffix(s, "}"), "{")
				q.selectors = append(q.selectors, name+"{"+strings.Trim(matchers+all, ",")+"}")
			}
			if !slices.ContainsFunc(some, func(p *regexp.Regexp) bool {
				return p.MatchString(q.line)
			}) {
				of := &list[len(list)-1]
				of.queries = append(of.queries, q)
			}
		}
	}
	return list
}

// answers reports whether each selector of a query finds anything.
func (q *boardQuery) answers(t *testing.T, api, key string) bool {
	t.Helper()
	for _, s := range q.selectors {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			api+"/api/v1/query?"+url.Values{"query": {"count(" + s + ")"}}.Encode(), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+key)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return false // it starts
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		var body struct {
			Status string
			Data   struct{ Result []any }
		}
		if err != nil || answer.StatusCode == http.StatusServiceUnavailable {
			return false
		}
		if err := json.Unmarshal(text, &body); err != nil || body.Status != "success" {
			t.Fatalf("%s: %s: %.300s %v", api, s, text, err)
		}
		if len(body.Data.Result) == 0 {
			return false
		}
	}
	return true
}
