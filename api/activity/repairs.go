package activity

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

const (
	mostTables   = 5000
	mostSessions = 1000
)

// RepairedTable is what is known of the repairs of a table.
type RepairedTable struct {
	tableKey
	LastFull        *time.Time `json:"last_full,omitempty"` // absent: never
	LastIncremental *time.Time `json:"last_incremental,omitempty"`
	// Due is until when all ranges must be repaired again, lest deleted rows come back.
	Due            *time.Time `json:"due,omitempty"`
	GCGraceSeconds *float64   `json:"gc_grace_seconds,omitempty"`
	// RepairedRatio is how much of the data is marked as repaired, 0 to 1. It is absent where there
	// are no data, and where nobody knows of a repair that would have marked some.
	RepairedRatio   *float64 `json:"repaired_ratio,omitempty"`
	UnrepairedBytes *float64 `json:"unrepaired_bytes,omitempty"`
	repairedBytes   float64
}

type tableKey struct {
	Cluster  string `json:"cluster"`
	Keyspace string `json:"keyspace"`
	Table    string `json:"table"`
}

// RepairSession is a repair that runs.
type RepairSession struct {
	sessionKey
	Name    string     `json:"name"` // how people call the node
	ID      string     `json:"id,omitempty"`
	Ratio   *float64   `json:"ratio,omitempty"`
	Started *time.Time `json:"started,omitempty"`
}

type sessionKey struct {
	Cluster  string `json:"cluster"`
	Node     string `json:"node"` // id of the coordinator
	Keyspace string `json:"keyspace"`
	Table    string `json:"table"` // or several, with commas
	Slot     string `json:"slot,omitempty"`
}

// RepairList is the answer of Repairs. Tables are worst first: those that were never repaired, then
// those with the least time left.
type RepairList struct {
	Tables   []RepairedTable `json:"tables"`
	Sessions []RepairSession `json:"sessions"`
	Running  int             `json:"running"`
	Failures float64         `json:"failures"` // within the last day
	// How many more tables and sessions there are.
	LeftOut         int `json:"left_out"`
	SessionsLeftOut int `json:"sessions_left_out"`
	Partial
}

const (
	repairPrefix  = "cassandra_repair_"
	sessionPrefix = "cassandra_repair_session_"
)

// Never reports whether no repair of the table is known. One of either kind is in time.
func (t *RepairedTable) Never() bool { return t.LastFull == nil && t.LastIncremental == nil }

// Repairs says which tables were repaired when.
func Repairs(ctx context.Context, q Question) (*RepairList, error) {
	a := &asking{Question: &q, ctx: ctx}
	answer := &RepairList{Sessions: []RepairSession{}}
	tables, err := a.tables()
	if err != nil {
		return nil, err
	}
	if len(tables) > mostTables {
		answer.LeftOut = len(tables) - mostTables
		tables = tables[:mostTables]
	}
	if len(tables) > 0 {
		a.bytes(tables)
	}
	answer.Tables = make([]RepairedTable, len(tables))
	for i, t := range tables {
		answer.Tables[i] = *t
	}
	if err := a.sessions(answer); err != nil {
		return nil, err
	}
	answer.Partial = Partial{a.lacks}
	return answer, nil
}

// tables are all of them, worst first. The node that tells of them may change, so the newest that
// any says counts.
func (a *asking) tables() ([]*RepairedTable, error) {
	list, err := a.ask("max by (__name__, cluster, keyspace, table) (%s)", a.named("",
		repairPrefix+"gc_grace_seconds", repairPrefix+"last_full_success_timestamp_seconds",
		repairPrefix+"last_incremental_success_timestamp_seconds",
		repairPrefix+"due_timestamp_seconds"))
	if err != nil {
		return nil, err
	}
	found := map[tableKey]*RepairedTable{}
	var tables []*RepairedTable
	for _, s := range list {
		key := tableOf(s.Labels)
		t := found[key]
		if t == nil {
			t = &RepairedTable{tableKey: key}
			found[key] = t
			tables = append(tables, t)
		}
		switch strings.TrimPrefix(s.Labels["__name__"], repairPrefix) {
		case "gc_grace_seconds":
			t.GCGraceSeconds = known(s.Value)
		case "last_full_success_timestamp_seconds":
			t.LastFull = moment(s.Value)
		case "last_incremental_success_timestamp_seconds":
			t.LastIncremental = moment(s.Value)
		case "due_timestamp_seconds":
			t.Due = moment(s.Value)
		}
	}
	slices.SortFunc(tables, func(x, y *RepairedTable) int {
		return cmp.Or(cmp.Compare(x.rank(), y.rank()), compareTimes(x.Due, y.Due),
			compareTimes(x.LastFull, y.LastFull), cmp.Compare(x.Cluster, y.Cluster),
			cmp.Compare(x.Keyspace, y.Keyspace), cmp.Compare(x.Table, y.Table))
	})
	return tables, nil
}

func tableOf(labels map[string]string) tableKey {
	return tableKey{labels["cluster"], labels["keyspace"], labels["table"]}
}

// rank orders tables that were never repaired, then those of which some ranges were not, then the
// others.
func (t *RepairedTable) rank() int {
	switch {
	case t.Never():
		return 0
	case t.Due == nil:
		return 1
	}
	return 2
}

// compareTimes compares times of which those that are not known are the least.
func compareTimes(x, y *time.Time) int {
	var times [2]time.Time
	for i, t := range []*time.Time{x, y} {
		if t != nil {
			times[i] = *t
		}
	}
	return times[0].Compare(times[1])
}

// bytes adds how much of the tables' data is repaired, over all nodes.
func (a *asking) bytes(tables []*RepairedTable) {
	found := map[tableKey]*RepairedTable{}
	for _, t := range tables {
		found[t.tableKey] = t
	}
	const repaired, unrepaired = "cassandra_table_repaired_bytes",
		"cassandra_table_unrepaired_bytes"
	for _, s := range a.add("what of the data is repaired",
		"sum by (__name__, cluster, keyspace, table) (%s)", a.named("", repaired, unrepaired)) {
		t := found[tableOf(s.Labels)]
		if t == nil {
			continue
		}
		if s.Labels["__name__"] == repaired {
			t.repairedBytes = s.Value
		} else {
			t.UnrepairedBytes = known(s.Value)
		}
	}
	for _, t := range tables {
		if t.UnrepairedBytes == nil {
			continue
		}
		all := t.repairedBytes + *t.UnrepairedBytes
		if all > 0 && (t.repairedBytes == 0 || !t.Never()) {
			t.RepairedRatio = ratio(t.repairedBytes / all)
		}
	}
}

// sessions adds what runs, and how often repairs failed.
func (a *asking) sessions(answer *RepairList) error {
	// The labels tell the three apart.
	list, err := a.ask("count by (cluster, node) (%s) or sum by (cluster) (%s) or "+
		"sum(increase(%s[1d]))", a.named("", sessionPrefix+"started_timestamp_seconds"),
		a.named("", repairPrefix+"sessions_running"),
		a.named("", repairPrefix+"failures_total"))
	if err != nil {
		return err
	}
	for _, s := range list {
		switch v := known(s.Value); {
		case v == nil || s.Labels["node"] != "":
		case s.Labels["cluster"] != "":
			answer.Running += int(*v)
		default:
			answer.Failures = *v
		}
	}
	counted, total := counts(list)
	if total == 0 {
		return nil
	}
	nodes, beyond := a.choose(counted, total, mostSessions)
	answer.SessionsLeftOut = beyond
	values, err := a.ask("%s", a.named(nodes, sessionPrefix+"done_ratio",
		sessionPrefix+"started_timestamp_seconds", sessionPrefix+"id_info"))
	if err != nil {
		return err
	}
	found := map[sessionKey]*RepairSession{}
	for _, s := range values {
		key := sessionKey{s.Labels["cluster"], s.Labels["node"], s.Labels["keyspace"],
			s.Labels["table"], s.Labels["slot"]}
		if found[key] == nil {
			found[key] = &RepairSession{sessionKey: key, Name: a.Called(key.Node)}
		}
		switch strings.TrimPrefix(s.Labels["__name__"], sessionPrefix) {
		case "done_ratio":
			found[key].Ratio = ratio(s.Value)
		case "started_timestamp_seconds":
			found[key].Started = moment(s.Value)
		case "id_info":
			found[key].ID = s.Labels["value"]
		}
	}
	for _, s := range found {
		answer.Sessions = append(answer.Sessions, *s)
	}
	slices.SortFunc(answer.Sessions, func(x, y RepairSession) int {
		return cmp.Or(cmp.Compare(x.Cluster, y.Cluster), cmp.Compare(x.Name, y.Name),
			cmp.Compare(x.Node, y.Node), cmp.Compare(x.Keyspace, y.Keyspace),
			cmp.Compare(x.Table, y.Table), cmp.Compare(x.Slot, y.Slot))
	})
	// As with tasks, not all of them were counted.
	if more := len(answer.Sessions) - mostSessions; more > 0 {
		answer.SessionsLeftOut += more
		answer.Sessions = answer.Sessions[:mostSessions]
	}
	return nil
}
