package api_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// A file of dictionary/profile/dashboards says what the queries of public dashboards and rules
// ask for that were made for the names of a profile. A line is one of
//
//	dashboard NAME REPOSITORY VERSION PATH  what follows is its queries
//	[NUMBER] SERIES & SERIES …              what one query reads, or that many of them
//	variable SERIES                         what one of its variables is filled from
//	all LABEL …                             labels that everything in the file has
//	both|api|some PATTERN<tab>WHY           exceptions, by a pattern of queries' lines: without data
//	                                        on both pages; on the API's; on some nodes
//
// SERIES is a selector of PromQL with the labels that the query matches, groups by or shows;
// label!="" where any value will do.
type dashboards struct {
	file   string
	list   []dashboard
	except map[string][]exception
}

type dashboard struct {
	name    string
	queries []asked
}

type asked struct {
	line     string
	times    int // 0: it fills a variable
	selector [][]*labels.Matcher
}

type exception struct {
	line    string
	pattern *regexp.Regexp
}

// mustDashboards reads the files of dictionary/profile/dashboards, by profile.
func mustDashboards(t *testing.T) map[string]*dashboards {
	t.Helper()
	files, err := filepath.Glob("../dictionary/profile/dashboards/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no dashboards: %v", err)
	}
	all := map[string]*dashboards{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d := &dashboards{file: filepath.Base(file), except: map[string][]exception{}}
		var everywhere []*labels.Matcher
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			word, rest, _ := strings.Cut(line, " ")
			switch {
			case line == "" || word == "#":
			case word == "dashboard":
				name, _, _ := strings.Cut(rest, " ")
				d.list = append(d.list, dashboard{name: name})
			case word == "all":
				for label := range strings.FieldsSeq(rest) {
					everywhere = append(everywhere, labels.MustNewMatcher(labels.MatchNotEqual,
						label, ""))
				}
			case word == "both" || word == "api" || word == "some":
				pattern, why, _ := strings.Cut(rest, "\t")
				if why == "" {
					t.Errorf("%s: %s: it has no reason", d.file, line)
				}
				d.except[word] = append(d.except[word],
					exception{line, regexp.MustCompile(pattern)})
			default:
				q := asked{line: line, times: 1}
				if n, err := strconv.Atoi(word); err == nil {
					q.times, line = n, rest
				} else if word == "variable" {
					q.times, line = 0, rest
				}
				for text := range strings.SplitSeq(line, " & ") {
					s, err := parser.NewParser(parser.Options{}).ParseMetricSelector(text)
					if err != nil {
						t.Fatalf("%s: %s: %v", d.file, text, err)
					}
					q.selector = append(q.selector, append(s, everywhere...))
				}
				of := &d.list[len(d.list)-1]
				of.queries = append(of.queries, q)
			}
		}
		all[strings.TrimSuffix(d.file, ".txt")] = d
	}
	return all
}

// excepted reports whether a query is an exception of one of some kinds.
func (d *dashboards) excepted(q *asked, kinds ...string) bool {
	return slices.ContainsFunc(kinds, func(kind string) bool {
		return slices.ContainsFunc(d.except[kind], func(e exception) bool {
			return e.pattern.MatchString(q.line)
		})
	})
}

// has reports whether each of the series that a query reads is there.
func (q *asked) has(series map[string][]labels.Labels) bool {
	return !slices.ContainsFunc(q.selector, func(s []*labels.Matcher) bool {
		name := slices.IndexFunc(s, func(m *labels.Matcher) bool {
			return m.Name == labels.MetricName
		})
		return !slices.ContainsFunc(series[s[name].Value], func(l labels.Labels) bool {
			return !slices.ContainsFunc(s, func(m *labels.Matcher) bool {
				return !m.Matches(l.Get(m.Name))
			})
		})
	})
}

// dashboardsHaveData holds the agent's page and the API's to what dashboards ask for. The agent may
// be naming beans still, and quantiles are of lately, so the node works and it looks until nothing
// is wrong.
func dashboardsHaveData(t *testing.T, agent, api string, work func()) {
	all := mustDashboards(t)
	for _, profile := range slices.Sorted(maps.Keys(all)) {
		d := all[profile]
		t.Run(profile, func(t *testing.T) {
			for kind, list := range d.except {
				for _, e := range list {
					if !slices.ContainsFunc(d.list, func(of dashboard) bool {
						return slices.ContainsFunc(of.queries, func(q asked) bool {
							return e.pattern.MatchString(q.line)
						})
					}) {
						t.Errorf("%s: no query is %s %s: take it out", d.file, kind, e.pattern)
					}
				}
			}
			deadline := time.Now().Add(profilePatience)
			for ; ; <-time.After(time.Second) { // a pass of the agent
				work()
				query := "?profile=" + profile
				wrong, counts := d.look(everySeries(t, agent+query), everySeries(t, api+query))
				if len(wrong) == 0 {
					t.Log(counts)
					return
				}
				if time.Now().After(deadline) {
					t.Fatalf("%s: %d queries:\n%s", d.file, len(wrong),
						strings.Join(slices.Sorted(maps.Keys(wrong)), "\n"))
				}
			}
		})
	}
}

// look returns what is wrong at one look, and how many queries of each dashboard have data.
func (d *dashboards) look(agent, api map[string][]labels.Labels) (
	wrong map[string]bool, counts string,
) {
	wrong = map[string]bool{}
	for _, of := range d.list {
		all, there, fromAPI := 0, 0, 0
		for i := range of.queries {
			q := &of.queries[i]
			onAgent, onAPI := q.has(agent), q.has(api)
			all += q.times
			if onAgent {
				there += q.times
			}
			if onAPI {
				fromAPI += q.times
			}
			say := func(what string) { wrong[of.name+": "+q.line+": "+what] = true }
			switch {
			case d.excepted(q, "some"):
			case d.excepted(q, "both"):
				if onAgent || onAPI {
					say("it has data and is said to have none: take it out of the exceptions")
				}
			case !onAgent:
				say("the agent's page has nothing")
			case onAPI == d.excepted(q, "api"):
				say(map[bool]string{
					false: "the API's page has nothing",
					true:  "the API has it and is said to lack it: take it out of the exceptions",
				}[onAPI])
			}
		}
		counts += fmt.Sprintf("\n%s: of %d queries %d have data on the agent's page, %d "+
			"on the API's",
			of.name, all, there, fromAPI)
	}
	return wrong, counts
}

// TestDropInTable holds the table in agent/METRICS.md to what the files say.
func TestDropInTable(t *testing.T) {
	page, err := os.ReadFile("../agent/METRICS.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range mustDashboards(t) {
		for _, of := range d.list {
			all, there, fromAPI := 0, 0, 0
			for i := range of.queries {
				q := &of.queries[i]
				all += q.times
				if d.excepted(q, "both") {
					continue
				}
				there += q.times
				if !d.excepted(q, "api") {
					fromAPI += q.times
				}
			}
			row := fmt.Sprintf("| `%s` | %d | %d | %d |", of.name, all, there, fromAPI)
			if !strings.Contains(string(page), row) {
				t.Errorf("agent/METRICS.md does not have the row %s", row)
			}
		}
	}
}
