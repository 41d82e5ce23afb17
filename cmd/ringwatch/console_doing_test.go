package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
)

// What nodes of the account doingAccount do, by the numbers of their templates.
const (
	doingTask = iota
	doingStream
	doingTaskKind
	doingDriver
	doingRepairTable
	doingRepairSession
	doingSnapshot
	doingTable
	doingNode
)

// doingTemplates are those of the agent, as far as pages about activity need them.
func doingTemplates() []frame.Template {
	of := func(names string) (list []frame.Metric) {
		for name := range strings.FieldsSeq(names) {
			kind := frame.Gauge
			switch {
			case strings.HasSuffix(name, "_info"):
				kind = frame.String
			case strings.HasSuffix(name, "_ratio"), strings.HasSuffix(name, "_remaining_seconds"):
				kind = frame.GaugeDouble
			case strings.HasSuffix(name, "_total"):
				kind = frame.Counter
			}
			list = append(list, frame.Metric{Name: "cassandra_" + name, Kind: kind})
		}
		return list
	}
	table := []string{"keyspace", "table"}
	return []frame.Template{
		{Type: "task", Labels: []string{"task", "keyspace", "table", "slot"},
			Metrics: of("task_done_bytes task_size_bytes task_done_ratio " +
				"task_started_timestamp_seconds task_remaining_seconds task_id_info")},
		{Type: "stream", Labels: []string{"operation", "peer", "direction", "slot"},
			Metrics: of("stream_done_bytes stream_size_bytes stream_done_ratio " +
				"stream_started_timestamp_seconds stream_remaining_seconds stream_id_info")},
		{Type: "task_kind", Labels: []string{"task"}, Metrics: of("tasks_running tasks_left_out")},
		{Type: "driver", Labels: []string{"driver_name", "driver_version", "protocol_version",
			"username", "tls"},
			Metrics: of("driver_connections driver_requests_total driver_addresses_info")},
		{Type: "repair_table", Labels: table, Metrics: of("repair_gc_grace_seconds " +
			"repair_last_full_success_timestamp_seconds " +
			"repair_last_incremental_success_timestamp_seconds repair_due_timestamp_seconds")},
		{Type: "repair_session", Labels: append(slices.Clone(table), "slot"),
			Metrics: of("repair_session_done_ratio repair_session_started_timestamp_seconds " +
				"repair_session_id_info")},
		{Type: "snapshot", Labels: table,
			Metrics: of("snapshots snapshot_oldest_timestamp_seconds " +
				"snapshot_newest_timestamp_seconds snapshot_size_bytes")},
		{Type: "table", Labels: table, Metrics: of("table_repaired_bytes table_unrepaired_bytes")},
		{Type: "node", Metrics: of("repair_sessions_running repair_failures_total " +
			"node_incremental_backups_enabled compaction_pending_tasks")},
	}
}

// cells are values of an entity, in the order of its metrics; nil is none.
func cells(values ...any) (list []frametest.Cell) {
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			list = append(list, frametest.Cell{Absent: true})
		case int:
			list = append(list, frametest.Cell{Int: int64(v)})
		case int64:
			list = append(list, frametest.Cell{Int: v})
		case float64:
			list = append(list, frametest.Cell{Double: v})
		case string:
			list = append(list, frametest.Cell{Text: v})
		}
	}
	return list
}

// doing lets nodes of an account send what they do, until the tests end: two of the cluster busy,
// of which the first one also tells of the cluster's repairs, and one of a cluster at rest. They
// have the oddest names that are allowed. The first frames bring 2,000 events of the last minutes.
func (s *stage) doing() error {
	nodes := []*frametest.Node{frametest.New("busy", 501, 0), frametest.New("busy", 502, 0),
		frametest.New("rest", 503, 0)}
	for i, n := range nodes {
		n.Interval = 1000
		n.Templates = doingTemplates()
		n.Entities = make([][]frametest.Entity, len(n.Templates))
		n.Entities[doingNode] = []frametest.Entity{{Cells: cells(1, 0, 1, 3)}}
		if i == 1 {
			n.Identity.Facts[0].Value += struck
		}
		if n.Cluster == "busy" {
			busy(n, i == 0)
		}
		step := 0
		for at := time.Now().Add(-50 * time.Second); step < 40 && i == 0; step++ {
			n.Events = flood(step, at.UnixMilli())
			if err := s.send(doingAccount, n.Frame(at.UnixMilli())); err != nil {
				return err
			}
			at = at.Add(time.Second)
		}
		if err := s.sendEvery(doingAccount, func() ([]byte, error) {
			step++
			now := time.Now().UnixMilli()
			if n.Cluster == "busy" {
				stepBusy(n, step)
				n.Events = happening(step, now)
			}
			return n.Frame(now), nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// busy gives a node all that it can do, with odd names among usual ones.
func busy(n *frametest.Node, repairs bool) {
	now := int(time.Now().Unix())
	add := func(template int, labels []string, values ...any) {
		n.Entities[template] = append(n.Entities[template],
			frametest.Entity{Labels: labels, Cells: cells(values...)})
	}
	add(doingTask, []string{"compaction", "shop", "orders", "0"},
		8<<30, 16<<30, 0.5, now-900, 900.0, "6f1e2a00-0000-1000-8000-000000000001")
	add(doingTask, []string{"index_build", "shop", "orders", "0"},
		nil, nil, 0.25, now-60, nil, "6f1e2a00-0000-1000-8000-000000000002")
	add(doingStream, []string{"rebuild", "10.9.9.9", "in", "0"},
		1<<30, 4<<30, 0.25, now-300, 900.0, "6f1e2a00-0000-1000-8000-000000000003")
	add(doingStream, []string{"repair", "10.9.9.8", "out", "0"},
		1<<20, 2<<20, 0.5, now-30, nil, "6f1e2a00-0000-1000-8000-000000000004")
	for i, name := range oddNames {
		add(doingTask, []string{"cleanup", name, name, strconv.Itoa(i)},
			10, 100, 0.1, now-10, 90.0, name)
		add(doingStream, []string{"other", name, "in", strconv.Itoa(i)},
			10, 100, 0.1, now-10, 90.0, name)
		add(doingDriver, []string{name, name, "5", name, "false"}, 1, 0, name)
		add(doingSnapshot, []string{name, "t"}, 1, now-40*86400, now-40*86400, 1<<20)
	}
	for _, task := range []string{"compaction", "index_build", "cleanup", "stream_rebuild",
		"stream_repair", "stream_other"} {
		add(doingTaskKind, []string{task}, 4, 0)
	}
	add(doingDriver, []string{"DataStax Java driver", "4.17.0", "5", "app", "true"},
		120, 0, "10.0.0.7:51000,10.0.0.8:51001")
	add(doingDriver, []string{"DataStax Java driver", "4.9.0", "5", "report", "false"},
		3, 0, "10.0.0.9:51000")
	add(doingDriver, []string{"gocql", "1.0.0", "4", "", "false"}, 7, 0, "10.0.0.10:51000")
	add(doingSnapshot, []string{"shop", "orders"}, 2, now-90*86400, now-86400, 3<<30)
	if !repairs {
		return
	}
	const grace, day = 10 * 86400, 86400
	for name, ago := range map[string]int{"orders": 12, "carts": 9, "users": 2} {
		add(doingRepairTable, []string{"shop", name},
			grace, now-ago*day, now-day, now-ago*day+grace)
	}
	add(doingRepairTable, []string{"shop", "never"}, grace, nil, nil, nil)
	for _, name := range oddNames {
		add(doingRepairTable, []string{name, name}, grace, now-day, nil, now+grace-day)
	}
	add(doingRepairSession, []string{"shop", "orders,carts", "0"}, 0.4, now-120,
		"6f1e2a00-0000-1000-8000-000000000005")
	add(doingTable, []string{"shop", "orders"}, 15<<20, 5<<20)
}

// stepBusy lets a second pass: work goes on, and drivers ask.
func stepBusy(n *frametest.Node, step int) {
	n.Entities[doingTask][0].Cells[0].Int += 8 << 20
	n.Entities[doingStream][0].Cells[0].Int += 1 << 20
	for i := range n.Entities[doingDriver] {
		n.Entities[doingDriver][i].Cells[1].Int += int64(10 * i)
	}
	n.Entities[doingNode][0].Cells[3].Int = int64(step % 7)
}

// eventLabels are an event's, by names that ascend.
func eventLabels(pairs ...string) (list []frame.Label) {
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, frame.Label{Name: pairs[i], Value: pairs[i+1]})
	}
	return list
}

// flood is a frame full of warnings.
func flood(step int, at int64) (list []frame.Event) {
	for i := range 50 {
		list = append(list, frame.Event{At: at, Kind: "warning", Severity: frame.Warning,
			Text: fmt.Sprintf("flood %d", 50*step+i)})
	}
	return list
}

// happening is what happens in a second: now and then one of each kind.
func happening(step int, at int64) []frame.Event {
	of := func(kind string, severity frame.Severity, text string, l ...string) frame.Event {
		return frame.Event{At: at, Kind: kind, Severity: severity, Text: text,
			Labels: eventLabels(l...)}
	}
	switch step % 10 {
	case 1:
		return []frame.Event{of("slow_query", frame.Warning,
			"SELECT * FROM shop.orders WHERE id = ? AND at > ?", "keyspace", "shop", "operation",
			"select", "slowest_seconds", "1.5", "table", "orders", "times", "12")}
	case 2:
		return []frame.Event{of("error", frame.Error, "<b>"+struck+"\nat line 2\n\tat line 3")}
	case 3:
		return []frame.Event{of("gc_pause", frame.Info, "", "duration_seconds", "0.75", "gc", "G1")}
	case 4:
		return []frame.Event{of("large_partition", frame.Warning, strings.Repeat("x", 1024),
			"keyspace", oddNames[1], "partition", oddNames[2], "size_bytes", "268435456",
			"table", struck)}
	case 5:
		return []frame.Event{of("node_down", frame.Error, "a node is down", "peer", "10.9.9.9"),
			of("schema", frame.Info, oddNames[2], "change", "altered"),
			of("of_no_known_kind", frame.Info, "something new")}
	case 6:
		return []frame.Event{of("slow_query", frame.Warning, "SELECT "+struck, "keyspace",
			oddNames[0], "slowest_seconds", "0.6", "table", oddNames[0], "times", "1")}
	}
	return nil
}
