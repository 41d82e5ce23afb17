package help

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/alerts"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/events"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/fleet"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/silences"
	"github.com/ringwatch/ringwatch/query/catalog"
)

// CompletionPatience is how long somebody who pressed Tab waits for an API; tests have slow
// machines.
var CompletionPatience = time.Second

// maxCandidates is how many metrics a shell is told of: more than a person reads, and no burden.
const maxCandidates = "2000"

// subject asks the API for what begins with a word.
type subject func(ctx context.Context, api *client.Client, word string) ([]candidate, error)

// Subjects are by the name of a flag or an argument, which means the same in every command.
var Subjects = map[string]subject{
	"node": nodeNames, "cluster": clusterNames, "table": tableNames, "kind": eventKinds,
	"receiver": receiverNames, "alert": alertNames,
	"metric": metricNames, "match": metricNames, "selector": metricNames, "promql": metricNames,
	"silence": silenceIDs,
}

// nodeNames are addresses; ids where the word begins one, or where nodes share an address.
func nodeNames(ctx context.Context, api *client.Client, word string) (found []candidate,
	err error) {
	nodes, err := fleet.AskNodes(ctx, api, nil)
	if err != nil {
		return nil, err
	}
	nodes = slices.DeleteFunc(nodes, func(n fleet.NodeInfo) bool { return n.Left != nil })
	shared := map[string]int{}
	for i := range nodes {
		shared[nodes[i].Name()]++
	}
	for i := range nodes {
		n := &nodes[i]
		text := n.Name()
		if shared[text] > 1 || !strings.HasPrefix(text, word) {
			text = n.ID
		}
		if strings.HasPrefix(text, word) {
			found = append(found,
				candidate{text, strings.Join([]string{n.Cluster, n.Datacenter, n.State}, ", ")})
		}
	}
	return found, nil
}

func clusterNames(ctx context.Context, api *client.Client, word string) (found []candidate,
	err error) {
	var clusters []struct{ Cluster string }
	err = api.Ask(ctx, "/v1/clusters", nil, &clusters)
	for _, c := range clusters {
		found = addBeginning(found, c.Cluster, "", word)
	}
	return found, err
}

// tableNames are the tables whose disk space is known, as keyspace.table.
func tableNames(ctx context.Context, api *client.Client, word string) (found []candidate,
	err error) {
	var answer struct {
		Data struct {
			Result []struct {
				Metric struct{ Keyspace, Table string }
			}
		}
	}
	err = api.Ask(ctx, "/api/v1/query", url.Values{
		"query": {"group by (keyspace, table) (cassandra_table_live_disk_space_used_bytes)"},
		"limit": {maxCandidates},
	}, &answer)
	for _, r := range answer.Data.Result {
		found = addBeginning(found, r.Metric.Keyspace+"."+r.Metric.Table, "", word)
	}
	return found, err
}

// metricNames complete the last name of an expression, where no string is open.
func metricNames(ctx context.Context, api *client.Client, word string) (found []candidate,
	err error) {
	begin := strings.LastIndexFunc(word, func(r rune) bool {
		return !strings.ContainsRune(
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:", r)
	}) + 1
	if strings.Count(word, `"`)%2 == 1 || strings.Count(word, "{") > strings.Count(word, "}") {
		return nil, nil // the value or the name of a label
	}
	var names []string
	err = api.Ask(ctx, "/v1/label/__name__/values", url.Values{"limit": {maxCandidates}}, &names)
	for _, name := range names {
		if strings.HasPrefix(name, word[begin:]) {
			found = append(found, candidate{word[:begin] + name, ""})
		}
	}
	return found, err
}

func catalogNames(ctx context.Context, api *client.Client, word string) (found []candidate,
	err error) {
	var groups []catalog.Group
	err = api.Ask(ctx, "/v1/catalog", nil, &groups)
	for _, g := range groups {
		for _, e := range g.Entries {
			found = addBeginning(found, e.Name, g.Name, word)
		}
	}
	return found, err
}

// receiverNames are those of whom the account tells.
func receiverNames(ctx context.Context, api *client.Client, word string) (found []candidate,
	err error) {
	var list []struct{ Name string }
	err = api.Ask(ctx, "/alertmanager/api/v2/receivers", nil, &list)
	for _, r := range list {
		found = addBeginning(found, r.Name, "", word)
	}
	return found, err
}

// alertNames are those of what fires.
func alertNames(ctx context.Context, api *client.Client, word string) (found []candidate,
	err error) {
	list, err := alerts.AskAlerts(ctx, api)
	had := map[string]bool{}
	for i := range list {
		if name := list[i].Labels["alertname"]; list[i].State == "firing" && !had[name] {
			had[name] = true
			found = addBeginning(found, name, "", word)
		}
	}
	return found, err
}

// eventKinds are those of the newest events.
func eventKinds(ctx context.Context, api *client.Client, word string) (found []candidate,
	err error) {
	var page events.EventsAnswer
	err = api.Ask(ctx, "/v1/events", url.Values{"limit": {"1000"}}, &page)
	for i := range page.Events {
		found = addBeginning(found, page.Events[i].Kind, "", word)
	}
	return found, err
}

// ruleFiles are those that the account was given.
func ruleFiles(ctx context.Context, api *client.Client, word string) (found []candidate,
	err error) {
	var files []struct{ Name string }
	err = api.Ask(ctx, "/v1/rules", nil, &files)
	for _, f := range files {
		found = addBeginning(found, f.Name, "", word)
	}
	return found, err
}

// silenceIDs are those of silences that have not ended.
func silenceIDs(ctx context.Context, api *client.Client, word string) (found []candidate,
	err error) {
	list, err := silences.AskSilences(ctx, api)
	for i := range list {
		if list[i].Status != nil && list[i].Status.State != "expired" {
			found = addBeginning(found, list[i].ID, list[i].Comment, word)
		}
	}
	return found, err
}

// addBeginning adds a candidate if it begins with the word.
func addBeginning(found []candidate, text, about, word string) []candidate {
	if !strings.HasPrefix(text, word) {
		return found
	}
	return append(found, candidate{text, about})
}
