// Package tail has the command tail, which prints frames as they come.
package tail

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/datadir"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/engine"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/logs"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/stream/kafka"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/following"
)

// TailCmd reads Kafka and not the API, where there is a Kafka: it works while the API and all
// stores are away, and shows what a consumer would get. It begins to read at the window's start, up
// to five minutes before what it prints, because deltas need their key frame. Without Kafka it
// follows the API.
type TailCmd struct {
	settings.RoleFlags
	client.Flags
	Account string   `help:"Only frames of this account." env:"RINGWATCH_ACCOUNT"`
	Cluster string   `help:"Only clusters whose name matches, * for any characters." placeholder:"GLOB"`
	Node    string   `help:"Only this node: its id, the beginning of it, or its address."`
	Match   []string `help:"Show the values of metrics whose name matches, too, * for any characters; may be repeated." sep:"none" placeholder:"GLOB"`
	Since   string   `help:"Begin with what ingest took at this time (2026-11-20T08:00:00Z, or 10m for ten minutes ago), not with what comes now." placeholder:"TIME"`
	JSON    bool     `name:"json" help:"Print a line of JSON for each frame."`
}

// Help implements kong.HelpProvider.
func (*TailCmd) Help() string {
	return "Prints the frames as they come into Kafka, one line each, until Ctrl-C. It reads " +
		"the topic " +
		"of the configuration beside all consumers and takes nothing from them.\n\n" +
		"Without Kafka, with --api, and where there is no configuration, it asks the API once a " +
		"second which nodes have spoken. Then it knows nothing of frames but their time, and " +
		"--since is not for it.\n\n" +
		"Example: ringwatch tail --config ringwatch.yaml --cluster 'prod-*'\n\n" +
		"Example: ringwatch tail --node 10.0.0.7 --match os_load1 --since 10m --json"
}

// Run implements the command.
func (c *TailCmd) Run(ctx context.Context) error { return c.RunTo(ctx, os.Stdout) }

// RunTo is Run for another output than the process has.
func (c *TailCmd) RunTo(ctx context.Context, out io.Writer) error {
	for flag, globs := range map[string][]string{"cluster": {c.Cluster}, "match": c.Match} {
		for _, glob := range globs {
			if _, err := path.Match(glob, ""); err != nil {
				return exit.Usage(fmt.Errorf("--%s: %q is no pattern: use letters, * and ?",
					flag, glob))
			}
		}
	}
	now := time.Now()
	since, err := ParseSince(c.Since, now)
	if err != nil {
		return err
	}
	if c.API != "" || c.Config == "" && !datadir.Exists(c.File()) {
		return c.followAPI(ctx, out)
	}
	config, _, err := c.Load()
	if err != nil {
		return err
	}
	log := logs.New(config.Log)
	if len(config.Kafka.Brokers) == 0 {
		return c.followAPI(ctx, out)
	}
	if err := engine.ReachAll(ctx, log, c.Wait, engine.Kafka(config)); err != nil {
		return err
	}
	t := &tail{tailCmd: c, out: bufio.NewWriter(out), since: since, nodes: map[tailKey]*tailNode{}}
	// Values of a delta frame need the window's key frame, which came before.
	from := time.UnixMilli(frame.WindowOf(since.UnixMilli()))
	k, err := kafka.New(config.Kafka.Config, log)
	if err != nil {
		return err
	}
	err = stream.Follow(ctx, k, config.Kafka.Topic, from, t.wanted, t.frame)
	if errors.Is(err, stream.ErrNoTopic) {
		return exit.Usage(err)
	}
	return err
}

// ParseSince reads --since; empty is now.
func ParseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return now, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.After(now) {
		return at, exit.Usage(fmt.Errorf(
			"--since: %q is neither a past time such as 2026-11-20T08:00:00Z nor a duration "+
				"such as 10m", text))
	}
	return at, nil
}

// tail prints records.
type tail struct {
	tailCmd *TailCmd
	out     *bufio.Writer
	since   time.Time
	nodes   map[tailKey]*tailNode
	headed  bool
}

type tailKey struct {
	account string
	node    uuid.UUID
}

// tailNode is what is known of a node.
type tailNode struct {
	address  string // from its last key frame
	follower *following.Follower
}

const (
	// tailFollowed bounds the nodes whose values are shown: their key frames are in memory.
	tailFollowed = 1000
	// tailFrameBytes bounds what reading one frame may take, as ingest.max_frame_memory does.
	tailFrameBytes = 128 << 20
)

// frameBytes counts down what reading a frame takes. It implements frame.Allowance.
type frameBytes int64

// Take implements frame.Allowance.
func (a *frameBytes) Take(bytes int64) error {
	if *a -= frameBytes(bytes); *a < 0 {
		return fmt.Errorf("reading the frame takes more than %d bytes", int64(tailFrameBytes))
	}
	return nil
}

func (t *tail) wanted(account, cluster string) bool {
	if t.tailCmd.Account != "" && account != t.tailCmd.Account {
		return false
	}
	return t.tailCmd.Cluster == "" || globMatches(t.tailCmd.Cluster, cluster)
}

func globMatches(glob, name string) bool {
	// A cluster's name may have a slash, which path.Match's * stops at.
	ok, _ := path.Match(strings.ReplaceAll(glob, "/", "\x00"),
		strings.ReplaceAll(name, "/", "\x00"))
	return ok
}

func (t *tail) matches(metric string) bool {
	return slices.ContainsFunc(t.tailCmd.Match,
		func(glob string) bool { return globMatches(glob, metric) })
}

// tailFrame is a frame as --json prints it. Numbers that were measured are strings, as in the API.
type tailFrame struct {
	At        time.Time   `json:"at"`
	Received  time.Time   `json:"received"`
	Account   string      `json:"account"`
	Cluster   string      `json:"cluster"`
	Node      string      `json:"node"`
	Address   string      `json:"address,omitempty"`
	Kind      string      `json:"kind"` // key or delta
	Bytes     int         `json:"bytes"`
	Partition int32       `json:"partition"`
	Offset    int64       `json:"offset"`
	Values    []tailValue `json:"values,omitempty"`
	Error     string      `json:"error,omitempty"` // why there are no values
}

type tailValue struct {
	Series labels.Labels `json:"series"`
	Value  string        `json:"value,omitempty"`
	Count  string        `json:"count,omitempty"` // histograms
	Sum    string        `json:"sum,omitempty"`
}

func (t *tail) frame(r stream.Record) error {
	shown := tailFrame{Received: r.Received.UTC(), Account: r.Account, Cluster: r.Cluster,
		Partition: r.Partition, Offset: r.Offset, Bytes: len(r.Value), Kind: "delta"}
	h, _, err := frame.Parse(r.Value)
	if err != nil {
		shown.Error = err.Error()
		if t.tailCmd.Node != "" || r.Received.Before(t.since) {
			return nil
		}
		return t.print(&shown)
	}
	n := t.node(r.Account, &h, r.Value)
	shown.At, shown.Node, shown.Address = h.Time(), h.Node.String(), n.address
	if h.IsKey() {
		shown.Kind = "key"
	}
	if t.tailCmd.Node != "" && !IsAddress(n.address, t.tailCmd.Node) &&
		!strings.HasPrefix(shown.Node, strings.ToLower(t.tailCmd.Node)) {
		return nil
	}
	early := r.Received.Before(t.since)
	if early && !h.IsKey() {
		return nil
	}
	if len(t.tailCmd.Match) > 0 {
		if n.follower == nil {
			if err := t.follow(n, r.Account, h.Node); err != nil {
				return err
			}
		}
		allow := frameBytes(tailFrameBytes)
		if _, err := n.follower.Frame(&allow, r.Value, func(c *following.Cell) {
			shown.Values = append(shown.Values, valueOf(c))
		}); err != nil {
			shown.Error = err.Error()
		}
	}
	if early {
		return nil
	}
	return t.print(&shown)
}

// node returns what is known of a node, with the address that a key frame names.
func (t *tail) node(account string, h *frame.Header, b []byte) *tailNode {
	key := tailKey{account, h.Node}
	n := t.nodes[key]
	if n == nil {
		n = &tailNode{}
		t.nodes[key] = n
	}
	if h.IsKey() {
		if identity, err := frame.ReadIdentity(b); err == nil {
			n.address = identity.Fact("address")
		}
	}
	return n
}

// follow begins to read a node's values.
func (t *tail) follow(n *tailNode, account string, id uuid.UUID) error {
	followed := 0
	for _, other := range t.nodes {
		if other.follower != nil {
			followed++
		}
	}
	if followed == tailFollowed {
		return exit.Usage(fmt.Errorf(
			"--match shows the values of %d nodes at most: choose some with --cluster or --node",
			tailFollowed))
	}
	n.follower = following.New(window.Node{Account: account, ID: id},
		frame.NewWanted(t.matches, nil))
	return nil
}

// valueOf returns a cell's value. The labels that say which node it is are the frame's.
func valueOf(c *following.Cell) tailValue {
	v := tailValue{Series: c.Labels()}
	m := &c.Of.Metrics[c.Metric]
	switch m.Kind {
	case frame.String:
		v.Value = c.Text
	case frame.GaugeDouble:
		v.Value = number64(c.Double)
	case frame.Histogram, frame.GaugeHistogram:
		v.Count = strconv.FormatInt(c.Histogram.Count(), 10)
		if m.HasSum {
			v.Sum = number64(frame.Scale(c.Histogram.Sum, m.Exponent))
		}
	default:
		v.Value = number64(frame.Scale(c.Int, m.Exponent))
	}
	return v
}

func number64(v float64) string {
	if math.IsInf(v, 0) || math.IsNaN(v) || v != math.Trunc(v) || math.Abs(v) >= 1e15 {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// ofTheNode are the labels that a frame's own line says already.
var ofTheNode = []string{"cluster", "datacenter", "rack", "node"}

func (t *tail) print(f *tailFrame) error {
	if t.tailCmd.JSON {
		text, err := json.Marshal(f)
		if err != nil {
			return err
		}
		t.out.Write(screen.PlainJSON(text))
		t.out.WriteByte('\n')
		return t.out.Flush()
	}
	bytes := strconv.Itoa(f.Bytes)
	if f.Kind == kindUnknown {
		bytes = "-"
	}
	const columns = "%-24s  %-24s  %-21s  %-5s  %7s  %s\n"
	if !t.headed {
		t.headed = true
		fmt.Fprintf(t.out, columns, "AT", "CLUSTER", "NODE", "FRAME", "BYTES", "AFTER")
	}
	at, after := "-", "-"
	if !f.At.IsZero() {
		at = f.At.Format("2006-01-02T15:04:05.000Z07:00")
		after = f.Received.Sub(f.At).Round(time.Millisecond).String()
	}
	node := f.Address
	id, _ := uuid.Parse(f.Node)
	switch {
	case frame.IsProcess(id):
		node = "process"
	case frame.IsRecorder(id):
		node = "rules"
	case node == "":
		node, _, _ = strings.Cut(f.Node, "-")
	}
	fmt.Fprintf(t.out, columns, at, screen.Plain(strings.TrimPrefix(f.Account+"/"+f.Cluster, "/")),
		screen.Plain(node), f.Kind, bytes, after)
	for _, v := range f.Values {
		short := labels.NewBuilder(v.Series).Del(ofTheNode...).Labels()
		name := short.Get(labels.MetricName)
		text := v.Value
		if v.Count != "" {
			text = "count " + v.Count
			if v.Sum != "" {
				text += " sum " + v.Sum
			}
		}
		rest := labels.NewBuilder(short).Del(labels.MetricName).Labels().String()
		fmt.Fprintf(t.out, "  %s%s %s\n", screen.Plain(name),
			screen.Plain(strings.TrimSuffix(rest, "{}")),
			screen.Plain(text))
	}
	if f.Error != "" {
		fmt.Fprintf(t.out, "  no values: %s\n", screen.Plain(f.Error))
	}
	return t.out.Flush()
}

// IsAddress reports whether people may mean a node's address by text: they leave the port out.
func IsAddress(address, text string) bool {
	host, _, err := net.SplitHostPort(address)
	return address == text || err == nil && host == text
}
