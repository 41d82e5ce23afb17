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
	AgentConfig   string // agent.yaml; needed
	Jar           string // the agent's jar
	CassandraConf string // the directory of cassandra.yaml
	CassandraHome string // the directory with lib/ or the jars
	JavaHome      string // of the Java that runs Cassandra
}

// Status is how a check came out.
type Status string

// The statuses. With Fail the agent stays off or its frames do not arrive.
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
	Remove  string `json:"remove,omitempty"` // how to take it out again

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
	// runningData is the data directory of the node that runs now, "" if unknown.
	runningData string
	user        *owner // who runs Cassandra, nil if unknown
}

func (n *node) add(name string, s Status, remedy, format string, args ...any) {
	n.Results = append(n.Results,
		Result{Name: name, Status: s, Message: fmt.Sprintf(format, args...), Remedy: remedy})
}

// Examine runs all checks. Ending ctx makes those on the network fail.
func Examine(ctx context.Context, o Options) *Report {
	n := &node{Options: o}
	n.findCassandra()
	n.findUser()
	n.checkJava(ctx)
	n.checkJar()
	n.checkConfig(ctx)
	if n.parsed {
		n.checkFiles()
		n.checkPort(ctx)
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
	return &n.Report
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
