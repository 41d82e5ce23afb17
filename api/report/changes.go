package report

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// alerts reads the series ALERTS, which rules record. Each step looks back over all of it, so an
// alert that came and ended between two instants is told, too, and says when it was there first.
func (m *maker) alerts(ctx context.Context) {
	where := "{cluster=" + strconv.Quote(m.Cluster) + `,alertstate="firing"}`
	for _, s := range m.over(ctx, "alerts", "ts_of_first_over_time(ALERTS"+where+"[5m])",
		m.From.Add(Step), Step) {
		a := Alert{Name: s.Labels["alertname"], Severity: s.Labels["severity"], Labels: s.Labels,
			Seconds: float64(len(s.Points)) * Step.Seconds(),
			First:   instantOf(millis(s.Points[0].Value)),
			Last:    instantOf(s.Points[len(s.Points)-1].At)}
		a.Seconds = min(a.Seconds, a.Last.Sub(a.First).Seconds())
		if id := s.Labels["node"]; id != "" {
			a.Node = m.address(id)
		}
		m.report.Alerts = append(m.report.Alerts, a)
	}
	slices.SortStableFunc(m.report.Alerts, func(a, b Alert) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Name, b.Name))
	})
	m.advise(ctx)
	m.report.AlertsRecorded = len(m.report.Alerts) > 0 ||
		len(m.over(ctx, "whether alerts are recorded", "count(max_over_time(ALERTS[5m]))",
			m.From.Add(Step), Step)) > 0
}

// advise asks what is to be said of the alerts that still fire.
func (m *maker) advise(ctx context.Context) {
	if m.Advise == nil || ctx.Err() != nil {
		return
	}
	var labels []map[string]string
	var firing []*Alert
	for i := range m.report.Alerts {
		if a := &m.report.Alerts[i]; a.Last.After(m.To.Add(-Step)) && len(firing) < shownAlerts {
			alert := maps.Clone(a.Labels)
			delete(alert, "alertstate")
			labels, firing = append(labels, alert), append(firing, a)
		}
	}
	if len(firing) == 0 {
		return
	}
	for _, said := range m.Advise(ctx, labels, m.To, m.address) {
		for i := range labels {
			if maps.Equal(labels[i], said.Alert) {
				firing[i].Advice = said.Text
			}
		}
	}
}

func (m *maker) change(at int64, kind, node, format string, args ...any) {
	m.report.Changes = append(m.report.Changes, Change{At: instantOf(at), Kind: kind, Node: node,
		Text: fmt.Sprintf(format, args...)})
}

func (m *maker) changes(ctx context.Context) {
	where := "{cluster=" + strconv.Quote(m.Cluster) + "}"
	follow := func(what, promql string) []Series {
		return m.over(ctx, what, promql, m.From, Step)
	}
	for id, starts := range m.heard.starts {
		for _, at := range starts {
			name := m.address(id)
			m.change(at, "restart", name, "%s was started on %s.", m.software(id), name)
		}
	}
	m.presence(follow("which nodes were up", "max by (node) (up"+where+")"))
	m.texts(
		follow("versions of Cassandra",
			"group by (node, value) (cassandra_node_version_info"+where+")"),
		"version",
		func(node, value string) string {
			return fmt.Sprintf("%s runs Cassandra %s.", node, value)
		},
	)
	m.texts(follow("which agents were paused", `group by (node, value) `+
		`(ringwatch_agent_state_info{value=~"paused|sending",`+where[1:]+")"), "agent",
		func(node, value string) string {
			return fmt.Sprintf("The agent of %s is %s.", node, value)
		})
	m.texts(follow("modes", "group by (node, value) (cassandra_node_operation_mode_info"+where+")"),
		"mode", func(node, value string) string { return fmt.Sprintf("%s is %s.", node, value) })
	m.texts(follow("versions of the schema",
		"group by (value) (cassandra_node_schema_version_info"+where+")"), "schema",
		func(_, value string) string { return fmt.Sprintf("The schema is version %s.", value) })
	m.left()
	m.tablesChanged()
}

// left says which nodes left, and which ones are in their places.
func (m *maker) left() {
	for i := range m.Left {
		l := &m.Left[i]
		if l.At.Before(m.From) || l.At.After(m.To) {
			continue
		}
		name, text := m.called(l.Node), "left the cluster"
		switch l.Why {
		case "replaced":
			text = "was replaced"
			if by := m.called(l.By); by != name && by != "" {
				text += " by " + by
			} else if by != "" {
				text += " under its address: node " + l.Node + " by node " + l.By
			}
		case "moved":
			text = "moved to cluster " + l.By
		case "removed":
			text = "was taken out of the targets"
		case "forgotten":
			text = "was forgotten by key " + l.By
		case "decommissioned":
			text = "was decommissioned"
		}
		m.change(l.At.UnixMilli(), l.Why, name, "%s %s.", name, text)
	}
}

// software is what a node runs, as a sentence begins with it.
func (m *maker) software(id string) string {
	n := m.nodes[id]
	switch {
	case n == nil:
		return "Cassandra"
	case n.Kind == "other":
		return "The software"
	}
	return strings.ToUpper(n.Kind[:1]) + n.Kind[1:]
}

// presence says which nodes came, fell silent and came back.
func (m *maker) presence(list []Series) {
	for _, s := range list {
		name := m.address(s.Labels["node"])
		down, up := "fell silent", "was heard of again"
		if n := m.nodes[s.Labels["node"]]; n != nil && n.watched {
			down, up = "did not answer", "answered again"
		}
		if first := m.heard.nodes[s.Labels["node"]]; first > m.From.Add(2*Step).UnixMilli() {
			m.change(first, "joined", name, "%s was heard of for the first time.", name)
		}
		for i := 1; i < len(s.Points); i++ {
			switch before, now := s.Points[i-1].Value, s.Points[i].Value; {
			case before == 1 && now == 0:
				m.change(s.Points[i].At, "down", name, "%s %s.", name, down)
			case before == 0 && now == 1:
				m.change(s.Points[i].At, "up", name, "%s %s.", name, up)
			}
		}
		if last := s.Points[len(s.Points)-1].At; last < m.To.Add(-2*Step).UnixMilli() &&
			m.gone[s.Labels["node"]] == nil {
			m.change(last, "left", name, "%s was not heard of any more.", name)
		}
	}
}

// texts says when a text that a node, or the cluster, has became another. The first ones are no
// news.
func (m *maker) texts(list []Series, kind string, sentence func(node, value string) string) {
	begun := map[string]int64{} // when a node had its first text
	for _, s := range list {
		node := s.Labels["node"]
		if at, is := begun[node]; !is || s.Points[0].At < at {
			begun[node] = s.Points[0].At
		}
	}
	type text struct {
		at    int64
		value string
	}
	had := map[string][]text{} // of a node
	for _, s := range list {
		node, value := s.Labels["node"], s.Labels["value"]
		if node == "" { // the cluster may have several at once
			if at := s.Points[0].At; at > begun[node] {
				m.change(at, kind, "", "%s", sentence("", value))
			}
			continue
		}
		for _, p := range s.Points {
			had[node] = append(had[node], text{p.At, value})
		}
	}
	for node, texts := range had {
		slices.SortStableFunc(texts, func(a, b text) int { return cmp.Compare(a.at, b.at) })
		for i := 1; i < len(texts); i++ {
			if texts[i].value != texts[i-1].value {
				name := m.address(node)
				m.change(texts[i].at, kind, name, "%s", sentence(name, texts[i].value))
			}
		}
	}
}

// tablesChanged says which tables are new and which are gone. Those that came with the cluster's
// first ones are no news, nor is that all are silent.
func (m *maker) tablesChanged() {
	begin, end := int64(math.MaxInt64), int64(0) // of any table
	for _, heard := range m.heard.tables {
		begin, end = min(begin, heard.from), max(end, heard.to)
	}
	for k, heard := range m.heard.tables {
		name := k[0] + "." + k[1]
		if heard.from > begin+Step.Milliseconds() {
			m.change(heard.from, "table_created", "", "Table %s was created.", name)
		}
		if heard.to < end-Step.Milliseconds() {
			m.change(heard.to, "table_dropped", "", "Table %s was dropped.", name)
		}
	}
}
