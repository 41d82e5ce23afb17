package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/tail"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/stream"
)

// TestTail prints the frames of a real topic, those that were there and those that come.
func TestTail(t *testing.T) {
	t.Parallel()
	c, broker := stream.DefaultConfig(), engines.SharedKafka(t)
	c.Topic, c.Partitions, c.PublishTimeout = "ringwatch.tail", 2, time.Minute
	file := filepath.Join(t.TempDir(), "ringwatch.yaml")
	text := fmt.Sprintf("kafka: {brokers: [%q], topic: %s}\nlog: {level: error}\n", broker.Addr(),
		c.Topic)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	base := tail.TailCmd{RoleFlags: settings.RoleFlags{Config: file, Wait: 4 * time.Minute}}
	if err := base.RunTo(t.Context(), io.Discard); !errors.As(err, new(exit.UsageError)) ||
		!strings.Contains(err.Error(), c.Topic) {
		t.Errorf("without a topic: %v", err)
	}
	k := mustStream(t, broker)
	if err := stream.EnsureTopic(t.Context(), k, c); err != nil {
		t.Fatal(err)
	}
	p, err := stream.NewProducer(k, c, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	// All frames are of one window, whenever the test runs.
	start := time.Now()
	at := frame.WindowOf(start.UnixMilli())
	one, two := frametest.New("prod-1", 1, 3), frametest.New("prod/two", 2, 3)
	send := func(account string, n *frametest.Node, b []byte) {
		t.Helper()
		if err := p.Publish(t.Context(), account, n.Cluster, b); err != nil {
			t.Fatal(err)
		}
	}
	lonely := frametest.New("prod-1", 3, 1)
	lonely.Frame(at) // its key frame never comes
	send("acme", one, one.Frame(at))
	send("zeta", two, two.Frame(at))
	one.Entities[0][0].Cells[1].Double = 2.5
	send("acme", one, one.Frame(at+5000))
	send("acme", lonely, lonely.Frame(at+5000))

	all := base
	all.Since = start.Add(-time.Minute).Format(time.RFC3339)
	lines := tailing(t, &all)
	seen := map[string]bool{}
	for range 5 {
		text := lines()
		f := strings.Fields(text)
		seen[strings.Join(f[1:4], " ")] = true
	}
	for _, want := range []string{"CLUSTER NODE FRAME", "acme/prod-1 10.0.0.1 key",
		"acme/prod-1 10.0.0.1 delta", "zeta/prod/two 10.0.0.2 key",
		"acme/prod-1 " + lonely.ID.String()[:8] + " delta"} {
		if !seen[want] {
			t.Errorf("no line says %q: %v", want, seen)
		}
	}

	// One node's values, as text: its newest frame says both what moved and what did not.
	values := all
	values.Account, values.Cluster, values.Node = "acme", "prod-*", "10.0.0.1"
	values.Match = []string{"node_load1", "*_read_latency_seconds"}
	lines = tailing(t, &values)
	var got []string
	for range 11 { // the head, and two frames with one load and three tables
		got = append(got, lines())
	}
	shown := strings.Join(got, "\n")
	for _, want := range []string{"\n  node_load1 2.5",
		`cassandra_table_read_latency_seconds{keyspace="shop", table="table_0"} count 0 sum 0`} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is missing in\n%s", want, shown)
		}
	}

	// JSON, and only what comes from now on: the key frame that the values need came before.
	since := time.Now().Truncate(time.Millisecond) // as Kafka's timestamps are
	coming := base
	coming.JSON, coming.Match, coming.Node = true, []string{"node_load1"}, one.ID.String()[:8]
	coming.Since = since.Format(time.RFC3339Nano)
	lines = tailing(t, &coming)
	one.Entities[0][0].Cells[1].Double = 7
	send("acme", one, one.Frame(since.UnixMilli()))
	kind := "delta"
	if frame.WindowOf(since.UnixMilli()) != at {
		kind = "key" // a window has begun meanwhile
	}
	var f struct {
		Account, Cluster, Node, Address, Kind, Error string
		Bytes                                        int
		Values                                       []struct {
			Series map[string]string
			Value  string
		}
	}
	line := lines()
	if err := json.Unmarshal([]byte(line), &f); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	if f.Account != "acme" || f.Cluster != "prod-1" || f.Node != one.ID.String() ||
		f.Address != "10.0.0.1" || f.Kind != kind || f.Error != "" ||
		len(f.Values) != 1 || f.Values[0].Value != "7" ||
		f.Values[0].Series["__name__"] != "node_load1" || f.Values[0].Series["rack"] == "" {
		t.Errorf("%s", line)
	}

	// A delta frame without its key frame says so.
	alone := all
	alone.JSON, alone.Match, alone.Node = true, []string{"*"}, lonely.ID.String()
	if line := tailing(t, &alone)(); !strings.Contains(line, "key frame is not known") {
		t.Errorf("%s", line)
	}
}

// tailing runs the command and returns a function that waits for its next line.
func tailing(t *testing.T, c *tail.TailCmd) (next func() string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- c.RunTo(ctx, out)
		out.Close()
	}()
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(in); s.Scan(); {
			lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		cancel()
		in.Close()
		if err := <-ended; !errors.Is(err, context.Canceled) && !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("tail: %v", err)
		}
	})
	return func() string {
		t.Helper()
		select {
		case line, ok := <-lines:
			if !ok {
				t.Fatal("tail ended")
			}
			return line
		case <-time.After(4 * time.Minute):
			t.Fatal("tail printed nothing more")
		}
		return ""
	}
}

func TestTailRefusesWhatIsNoTime(t *testing.T) {
	for _, text := range []string{"yesterday", "-5m",
		time.Now().Add(time.Hour).Format(time.RFC3339)} {
		if _, err := tail.ParseSince(text, time.Now()); !errors.As(err, new(exit.UsageError)) {
			t.Errorf("--since %s: %v", text, err)
		}
	}
	c := tail.TailCmd{Match: []string{"["}}
	if err := c.RunTo(t.Context(), io.Discard); !errors.As(err, new(exit.UsageError)) {
		t.Errorf("--match [: %v", err)
	}
}

// TestIsAddress: agents send Cassandra's address with its port, which people leave out.
func TestIsAddress(t *testing.T) {
	for _, c := range []struct {
		address, text string
		want          bool
	}{
		{"10.0.0.7:7000", "10.0.0.7", true}, {"10.0.0.7:7000", "10.0.0.7:7000", true},
		{"10.0.0.7", "10.0.0.7", true},
		{"[2001:db8::5]:7000", "2001:db8::5", true}, {"10.0.0.70:7000", "10.0.0.7", false},
		{"", "10.0.0.7", false},
	} {
		if got := tail.IsAddress(c.address, c.text); got != c.want {
			t.Errorf("%q for %q: %v", c.text, c.address, got)
		}
	}
}
