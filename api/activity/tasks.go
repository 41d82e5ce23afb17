package activity

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// mostTasks bounds an answer: some 1.5 MB of JSON.
const mostTasks = 5000

// Task is what a node is doing. What is not known is not there.
type Task struct {
	Cluster   string `json:"cluster"`
	Node      string `json:"node"` // id
	Name      string `json:"name"` // how people call the node
	Task      string `json:"task"` // its kind: compaction, or stream_repair
	Keyspace  string `json:"keyspace,omitempty"`
	Table     string `json:"table,omitempty"`
	Peer      string `json:"peer,omitempty"`      // of a stream
	Direction string `json:"direction,omitempty"` // of a stream: in or out
	Slot      string `json:"slot,omitempty"`      // tells apart what is else the same
	ID        string `json:"id,omitempty"`        // Cassandra's

	DoneBytes      *float64   `json:"done_bytes,omitempty"`
	SizeBytes      *float64   `json:"size_bytes,omitempty"`
	Ratio          *float64   `json:"ratio,omitempty"` // that is done, 0 to 1
	BytesPerSecond *float64   `json:"bytes_per_second,omitempty"`
	Started        *time.Time `json:"started,omitempty"`
	Ends           *time.Time `json:"ends,omitempty"` // as it looks
}

// TaskList is the answer of Tasks, by cluster and node.
type TaskList struct {
	Tasks []Task `json:"tasks"`
	// LeftOut is how many more run: more than an answer has, or than a node tells of.
	LeftOut int `json:"left_out"`
	Partial
}

// Of each type of task, the beginning of its metrics, and what they say.
const (
	taskPrefix   = "cassandra_task_"
	streamPrefix = "cassandra_stream_"
)

var taskMetrics = []string{"done_bytes", "size_bytes", "done_ratio", "started_timestamp_seconds",
	"remaining_seconds", "id_info"}

// Tasks says what runs.
func Tasks(ctx context.Context, q Question) (*TaskList, error) {
	a := &asking{Question: &q, ctx: ctx}
	answer := &TaskList{Tasks: []Task{}}
	running, err := a.ask("count by (cluster, node) (%s) or sum(%s)",
		q.named("", taskPrefix+"done_ratio", streamPrefix+"done_ratio"),
		q.named("", "cassandra_tasks_left_out"))
	if err != nil {
		return nil, err
	}
	counted, total := counts(running)
	for _, s := range running {
		if s.Labels["node"] == "" && s.Value >= 1 {
			answer.LeftOut += int(s.Value)
		}
	}
	nodes, beyond := a.choose(counted, total, mostTasks)
	if answer.LeftOut += beyond; total > 0 {
		if answer.Tasks, err = a.tasks(nodes); err != nil {
			return nil, err
		}
	}
	// A node may send more of other metrics than of those that were counted.
	if more := len(answer.Tasks) - mostTasks; more > 0 {
		answer.LeftOut += more
		answer.Tasks = answer.Tasks[:mostTasks]
	}
	answer.Partial = Partial{a.lacks}
	return answer, nil
}

// tasks are those of some nodes.
func (a *asking) tasks(nodes string) ([]Task, error) {
	var names []string
	for _, m := range taskMetrics {
		names = append(names, taskPrefix+m, streamPrefix+m)
	}
	values, err := a.ask("%s", a.named(nodes, names...))
	if err != nil {
		return nil, err
	}
	found := map[Task]*Task{}
	for _, s := range values {
		key := taskOf(s.Labels)
		if found[key] == nil {
			t := key
			t.Name = a.Called(t.Node)
			found[key] = &t
		}
		found[key].take(&s, a.At)
	}
	// Names are of one type each, so the two sides of or have no series in common.
	for _, s := range a.add("rates", "rate(%s[%s]) or rate(%s[%[2]s])",
		a.named(nodes, taskPrefix+"done_bytes"), rateWindow,
		a.named(nodes, streamPrefix+"done_bytes")) {
		if t := found[taskOf(s.Labels)]; t != nil {
			t.BytesPerSecond = known(s.Value)
		}
	}
	list := make([]Task, 0, len(found))
	for _, t := range found {
		t.young(a.At)
		list = append(list, *t)
	}
	slices.SortFunc(list, func(x, y Task) int {
		return cmp.Or(cmp.Compare(x.Cluster, y.Cluster), cmp.Compare(x.Name, y.Name),
			cmp.Compare(x.Node, y.Node), cmp.Compare(x.Task, y.Task),
			cmp.Compare(x.Keyspace, y.Keyspace), cmp.Compare(x.Table, y.Table),
			cmp.Compare(x.Peer, y.Peer), cmp.Compare(x.Direction, y.Direction),
			cmp.Compare(x.Slot, y.Slot))
	})
	return list, nil
}

// taskOf is the task that a series is of, with nothing known of it but that.
func taskOf(labels map[string]string) Task {
	kind := labels["task"]
	if operation, is := labels["operation"]; is {
		kind = "stream_" + operation
	}
	return Task{Cluster: labels["cluster"], Node: labels["node"], Task: kind,
		Keyspace: labels["keyspace"], Table: labels["table"], Peer: labels["peer"],
		Direction: labels["direction"], Slot: labels["slot"]}
}

// take adds what a series says of the task.
func (t *Task) take(s *Series, at time.Time) {
	name := s.Labels["__name__"]
	name = strings.TrimPrefix(strings.TrimPrefix(name, taskPrefix), streamPrefix)
	switch name {
	case "done_bytes":
		t.DoneBytes = known(s.Value)
	case "size_bytes":
		t.SizeBytes = known(s.Value)
	case "done_ratio":
		t.Ratio = ratio(s.Value)
	case "started_timestamp_seconds":
		t.Started = moment(s.Value)
	case "remaining_seconds":
		if s.Value >= 0 {
			t.Ends = moment(seconds(at) + s.Value)
		}
	case "id_info":
		t.ID = s.Labels["value"]
	}
}

// young corrects the rate of a task that began within the window of rates: what the slot's task
// before did is no part of it.
func (t *Task) young(at time.Time) {
	if t.Started == nil || t.DoneBytes == nil {
		return
	}
	if age := at.Sub(*t.Started); age > 0 && age < rateTime {
		t.BytesPerSecond = known(*t.DoneBytes / age.Seconds())
	}
}
