package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// shownMetric is one that every Cassandra has from its start on.
const shownMetric = "cassandra_table_read_latency_seconds"

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 20

func metricsURL(set settings, host string) string {
	return set.apiURL() + "/v1/nodes/" + host + "/metrics?metrics=" + shownMetric
}

// answerCheck asks the API for the started Cassandra's own metrics.
type answerCheck struct {
	set          settings
	key          string
	cassandraLog string
}

// wait polls until the metrics are answered and returns the node's host id. dead ends the wait
// early.
func (a answerCheck) wait(ctx context.Context, say *sayer, dead func() error) (string, error) {
	host, err := a.hostID()
	if err != nil {
		return "", err
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	began, said := time.Now(), time.Now()
	for {
		err := a.once(ctx, host)
		if err == nil {
			return host, nil
		}
		if dead := dead(); dead != nil {
			return "", dead
		}
		if time.Since(said) > 5*time.Second {
			said = time.Now()
			say.line("waiting for the metrics: " + err.Error())
		}
		select {
		case <-ctx.Done():
			if ctx.Err() == context.Canceled {
				return "", ctx.Err()
			}
			return "", fmt.Errorf("the metrics did not come back within %.0f s (%v; the agent's "+
				"last word is %q): see ringwatch.log and cassandra.log in .ringwatch/logs",
				time.Since(began).Seconds(), err, agentWord(a.cassandraLog))
		case <-tick.C:
		}
	}
}

// agentWord returns the last line that the agent wrote on Cassandra's stderr. An agent that stays
// off says why there.
func agentWord(log string) string {
	text, err := os.ReadFile(log)
	if err != nil {
		return "nothing"
	}
	word := "nothing"
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "ringwatch-agent:") {
			word = strings.TrimSpace(line)
		}
	}
	return word
}

// hostID asks Cassandra for the id that its metrics come under.
func (a answerCheck) hostID() (string, error) {
	cluster := gocql.NewCluster("127.0.0.1")
	cluster.Port = a.set.CassandraPort
	cluster.DisableInitialHostLookup = true
	cluster.NumConns = 1
	cluster.Timeout, cluster.ConnectTimeout = 30*time.Second, 30*time.Second
	session, err := cluster.CreateSession()
	if err != nil {
		return "", fmt.Errorf("Cassandra answers but refuses a session: %w", err)
	}
	defer session.Close()
	var id gocql.UUID
	if err := session.Query("SELECT host_id FROM system.local").Scan(&id); err != nil {
		return "", fmt.Errorf("Cassandra does not give its host id: %w", err)
	}
	return id.String(), nil
}

// once returns nil when the API answers the node's metrics with values and has heard of the node.
// Metrics come first: a node that is asked for by its id is looked for anew, while a list without
// it is remembered for seconds.
func (a answerCheck) once(ctx context.Context, host string) error {
	metrics, err := a.get(ctx, metricsURL(a.set, host))
	if err != nil {
		return err
	}
	var answer any
	if err := json.Unmarshal(metrics, &answer); err != nil {
		return fmt.Errorf("the API's answer is not JSON: %w", err)
	}
	if !hasValues(answer) {
		return fmt.Errorf("the API has no values of %s yet", shownMetric)
	}
	nodes, err := a.get(ctx, a.set.apiURL()+"/v1/nodes")
	if err != nil {
		return err
	}
	return heard(nodes, host)
}

// heard returns nil where the API's nodes have this one, and it is not down: what is known of a
// node from before it was stopped is answered as well.
func heard(nodes []byte, host string) error {
	var list []struct{ ID, State string }
	if err := json.Unmarshal(nodes, &list); err != nil {
		return fmt.Errorf("the API's list of nodes cannot be read: %w", err)
	}
	for _, n := range list {
		switch {
		case n.ID != host:
		case n.State == "down":
			return fmt.Errorf("node %s has not been heard of again yet", host)
		default:
			return nil
		}
	}
	return fmt.Errorf("the API does not list node %s yet", host)
}

func (a answerCheck) get(ctx context.Context, address string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+a.key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // without the address, which the line of progress would repeat each time
		}
		return nil, fmt.Errorf("the API does not answer yet (%w)", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the API answers %s to %s", response.Status, request.URL.Path)
	}
	return body, nil
}

// hasValues looks for a value, or a list of values that is not empty, anywhere in an answer.
func hasValues(answer any) bool {
	switch answer := answer.(type) {
	case []any:
		for _, element := range answer {
			if hasValues(element) {
				return true
			}
		}
	case map[string]any:
		for name, element := range answer {
			list, isList := element.([]any)
			if (name == "value" && element != nil) ||
				(name == "values" && isList && len(list) > 0) || hasValues(element) {
				return true
			}
		}
	}
	return false
}
