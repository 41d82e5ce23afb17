// Package doctor looks at a node before its restart with the agent: what would keep the agent
// off, and what it will cost. Of our packages it imports access, dictionary and frame.
//
// It promises to change nothing, on the node or at ingest: it reads files, binds the agent's port
// for a moment, and posts an empty frame, which ingest refuses after it has looked at the key.
//
// What bites:
//   - It sees what the user who runs it sees. Run it as root or as Cassandra's user, or it cannot
//     say what that user may read.
//   - ${NAME} in agent.yaml is taken from doctor's environment; Cassandra's may be another.
//   - Series and bytes are estimates; their basis is printed with them.
package doctor

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Options says where things are. Empty fields are taken from the Cassandra that runs on this
// machine, if it is one, else looked for where packages and tarballs put them.
type Options struct {
	PID           int    // the Cassandra's process; 0: the one that runs
	AgentConfig   string // agent.yaml; empty: also DefaultAgentConfig
	Jar           string // the agent's jar
	CassandraConf string // the directory of cassandra.yaml
	CassandraHome string // the directory with lib/ or the jars
	JavaHome      string // of the Java that runs Cassandra
}

// DefaultAgentConfig is where packages put the agent's configuration.
const DefaultAgentConfig = "/etc/ringwatch/agent.yaml"

// Status is how a check came out.
type Status string

// The statuses. With Fail the agent stays off, or something of what it should do is not done.
const (
	OK   Status = "ok"
	Warn Status = "warn"
	Fail Status = "fail"
)

// Result is one check.
type Result struct {
	Name    string `json:"name"`
	Status  Status `json:"status"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"` // empty when all is well
}

// Report is all that was found.
type Report struct {
	OK      bool     `json:"ok"` // nothing failed
	Results []Result `json:"results"`
	// Line is what to add to File, if Present is not true already. It is empty when the jar was
	// not found.
	Line    string `json:"line,omitempty"`
	File    string `json:"file,omitempty"`
	Present bool   `json:"present"`
	Process int    `json:"process,omitempty"` // of the Cassandra that runs with the line; 0: none
	Remove  string `json:"remove,omitempty"`  // how to take it out again

	noLine bool // of an engine, to which nothing is added
}

// node is what the checks learn and tell each other.
type node struct {
	Options
	Report
	agent   agentConfig
	parsed  bool   // agent holds what agent.yaml says
	java    string // the program
	version string // Cassandra's, empty if unknown
	data    []string
	runs    running
	user    *owner // who runs Cassandra, nil if unknown
}

func (n *node) add(name string, s Status, remedy, format string, args ...any) {
	n.Results = append(n.Results,
		Result{Name: name, Status: s, Message: fmt.Sprintf(format, args...), Remedy: remedy})
}

// Examine runs all checks. Ending ctx makes those on the network fail. The error asks which of
// several Cassandras is meant.
func Examine(ctx context.Context, o Options) (*Report, error) {
	runs, err := o.choose(findRunning())
	if err != nil {
		return nil, err
	}
	n := &node{Options: o, runs: runs}
	n.findCassandra()
	n.findUser()
	n.checkJava(ctx)
	n.checkJar()
	n.checkConfig(ctx)
	if n.parsed {
		n.checkFiles()
		n.checkPort(ctx)
		n.checkRules()
		n.checkProfiles(ctx)
		n.checkIngest(ctx)
		n.checkSpool()
	}
	n.estimate()
	n.findLine()
	n.Report.OK = true
	for _, r := range n.Results {
		n.Report.OK = n.Report.OK && r.Status != Fail
	}
	return &n.Report, nil
}

// Write prints the report for people.
func (r *Report) Write(w io.Writer) error {
	for _, c := range r.Results {
		fmt.Fprintf(w, "%-5s %-12s %s\n", c.Status, c.Name, c.Message)
		if c.Remedy != "" {
			fmt.Fprintf(w, "%18s → %s\n", "", c.Remedy)
		}
	}
	if r.noLine {
		return nil
	}
	if r.Line == "" {
		_, err := fmt.Fprintln(w, "\nThe line to add is known when the jar is found.")
		return err
	}
	switch {
	case r.Process != 0:
		fmt.Fprintf(w, "\nThe Cassandra that runs as process %d has this line, which is in "+
			"%s:\n\n  %s\n", r.Process, r.File, r.Line)
	case r.Present:
		fmt.Fprintf(w, "\nThis line is in %s already; it takes effect when Cassandra is "+
			"started:\n\n  %s\n", r.File, r.Line)
	case r.OK:
		fmt.Fprintf(w, "\nAdd this line to %s and restart Cassandra:\n\n  %s\n", r.File, r.Line)
	default:
		fmt.Fprintf(w, "\nPut right what failed above. Then add this line to %s and restart "+
			"Cassandra:\n\n  %s\n", r.File, r.Line)
	}
	_, err := fmt.Fprintf(w, "\nTo remove the agent again: %s\n", r.Remove)
	return err
}

// firstDir returns the first directory that holds a file named so, or "".
func firstDir(file string, dirs ...string) string {
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		if found, err := filepath.Glob(filepath.Join(dir, file)); err == nil && len(found) > 0 {
			return dir
		}
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
