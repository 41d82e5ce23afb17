package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringwatch/ringwatch/query/catalog"
)

// Config says what a report is of.
type Config struct {
	Cluster string
	From    time.Time
	To      time.Time // at most 31 days later
	Catalog *catalog.Catalog
	// Left are the nodes that have left the cluster, whenever that was.
	Left []Left
	// Progress is told before each query how many were asked, and of how many; nil: nobody is.
	Progress func(asked, of int)
	// Advise says what the numbers beside alerts suggest; nil: nobody does.
	Advise Advise
	// Told returns the messages to receivers within a time that are about the cluster. They are not
	// known where nobody is told. nil: they are not known, either.
	Told func(ctx context.Context, from, to time.Time) (list []Told, known bool, err error)
	// Zone is where the people sleep who are told; nil: where this process runs.
	Zone *time.Location
}

// Left is a node that has left the cluster.
type Left struct {
	Node    string // id
	Address string // as the node said it at last
	At      time.Time
	// Why is decommissioned, replaced, moved, forgotten or removed, as in the list of nodes.
	Why string
	By  string // the id of the node in its place, its new cluster, or the key that forgot it
}

// Advise says in words what the numbers beside alerts suggest, which fire at an instant: of some of
// them, by their labels. name is how people call a node.
type Advise func(ctx context.Context, alerts []map[string]string, at time.Time,
	name func(id string) string) []Advised

// Advised is what is suggested of an alert.
type Advised struct {
	Alert map[string]string // its labels
	Text  string
}

// Told is a message that went to a receiver of alerts.
type Told struct {
	At     time.Time
	Alerts []string // names of those in it that fire, each once, as far as it is known of them
	Failed bool     // the receiver did not take it
}

// ErrTooManyTold is what Config.Told returns where it has not all messages.
var ErrTooManyTold = errors.New("there were more messages than a report counts: " +
	"ringwatch notify history has them")

// ErrNoNodes says that the cluster had no node in that time.
var ErrNoNodes = errors.New("the cluster had no nodes in that time")

// maker is a report that is being made.
type maker struct {
	Config
	src    Source
	scope  catalog.Scope
	report *Report
	nodes  map[string]*Node // by id, those that have left among them
	gone   map[string]*Left // by id, those that had left at the end
	heard  heard
	total  int // queries that are planned
}

// maxRanges bounds how many values of the catalogue are asked for, since an account may add many.
const maxRanges = 300

// maxLacks bounds what is said of queries that failed.
const maxLacks = 10

func (m *maker) count() {
	if m.Progress != nil {
		m.Progress(m.report.Queries, max(m.total, m.report.Queries+1))
	}
	m.report.Queries++
}

// lack notes that something could not be asked.
func (m *maker) lack(what string, err error) {
	if len(m.report.Lacks) < maxLacks {
		m.report.Lacks = append(m.report.Lacks, fmt.Sprintf("%s: %v", what, err))
	}
}

// instant asks what is true at the end of the time; what says it in words.
func (m *maker) instant(ctx context.Context, what, promql string) []Series {
	return m.at(ctx, what, promql, m.To)
}

// at asks what is true at an instant.
func (m *maker) at(ctx context.Context, what, promql string, at time.Time) []Series {
	if ctx.Err() != nil {
		return nil
	}
	m.count()
	list, err := m.src.Query(ctx, promql, at)
	if err != nil {
		m.lack(what, err)
	}
	return finite(list)
}

// over asks for all steps of a time.
func (m *maker) over(ctx context.Context, what, promql string, from time.Time,
	step time.Duration) []Series {
	if ctx.Err() != nil {
		return nil
	}
	m.count()
	list, err := m.src.QueryRange(ctx, promql, from, m.To, step)
	if err != nil {
		m.lack(what, err)
	}
	return finite(list)
}

// address is how people call a node. One that has left may have the address of the one in its
// place.
func (m *maker) address(id string) string {
	if l := m.gone[id]; l != nil {
		return m.called(id) + " (" + l.Why + ")"
	}
	return m.called(id)
}

// called is the name of a node alone.
func (m *maker) called(id string) string {
	if n := m.nodes[id]; n != nil {
		return n.Name()
	}
	if l := m.gone[id]; l != nil {
		return cmp.Or(l.Address, id)
	}
	return id
}
