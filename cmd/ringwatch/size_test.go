package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/sizing"
)

// sized runs ringwatch size as it is typed.
func sized(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var c cli
	if _, err := commands(&c).Parse(append([]string{"size"}, args...)); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := c.Size.RunTo(&out)
	return out.String(), err
}

// TestSize: people get the advised deployment's table, programs both.
func TestSize(t *testing.T) {
	for _, c := range []struct {
		nodes      string
		says, not  string
		deployment string
	}{
		{"300", "\nEMBEDDED ", "No fleet", sizing.Embedded},
		{"10000", "Take a line", "EMBEDDED", sizing.Line},
		{"100000", "No fleet as large", "EMBEDDED", sizing.Line},
	} {
		text, err := sized(t, "--nodes", c.nodes)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text, c.says) || strings.Contains(text, c.not) ||
			!strings.Contains(text, "\nCassandra ") {
			t.Errorf("%s nodes:\n%s", c.nodes, text)
		}
		printed, err := sized(t, "--nodes", c.nodes, "--json")
		if err != nil {
			t.Fatal(err)
		}
		var got sizing.Advice
		if err := json.Unmarshal([]byte(printed), &got); err != nil {
			t.Fatal(err)
		}
		if got.Deployment != c.deployment || len(got.Embedded) != 1 || len(got.Line) != 8 {
			t.Errorf("%s nodes: %s", c.nodes, printed)
		}
	}
}

// TestSizeEvents: events take disk of Cassandra and of a directory, and nothing else.
func TestSizeEvents(t *testing.T) {
	ask := func(events string) (a sizing.Advice) {
		t.Helper()
		text, err := sized(t, "--nodes", "100", "--events", events, "--json")
		if err == nil {
			err = json.Unmarshal([]byte(text), &a)
		}
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	none, many := ask("0"), ask("1000")
	for i, n := range append(many.Line, many.Embedded...) {
		of := append(none.Line, none.Embedded...)[i]
		grows := n.Part == "Cassandra" || n.Part == "ringwatch all"
		more := n.DiskBytes - of.DiskBytes
		if of.DiskBytes = n.DiskBytes; n != of || (more > 0) != grows {
			t.Errorf("%s takes %d bytes more, and is %+v", n.Part, more, n)
		}
	}
}

// TestSizeRefuses: what cannot be sized gets a sentence that says what can.
func TestSizeRefuses(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"--nodes=0", "nodes is 0: use 1 to 1000000"},
		{"--nodes=5 --series=-1", "series is -1: use 1 to 1000000"},
		{"--nodes=5 --interval=soon",
			`--interval: "soon" is not a duration: use a number and a unit`},
		{"--nodes=5 --interval=1h", "interval is 1h0m0s: use 1s to 5m0s"},
		{"--nodes=5 --retention=1m", "retention is 1m0s: use 1h to 1825d"},
		{"--nodes=5 --replicas=0", "replicas is 0: use 1 to 9"},
		{"--nodes=5 --events=-1", "events is -1: use 0 to 288000"},
	} {
		text, err := sized(t, strings.Fields(c.args)...)
		var usage exit.UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.says) || text != "" {
			t.Errorf("%s: %q, %v", c.args, text, err)
		}
	}
}
