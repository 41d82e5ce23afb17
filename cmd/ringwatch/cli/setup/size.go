package setup

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/sizing"
)

// SizeCmd is ringwatch size.
type SizeCmd struct {
	Nodes     int    `help:"Nodes of Cassandra to monitor." required:""`
	Series    int    `help:"Series of a node; a histogram is one. A node of 9 tables has 2100, each further table 100." default:"2100"`
	Interval  string `help:"How often a node sends a frame." default:"20s"`
	Retention string `help:"How long samples are kept." default:"14d"`
	Replicas  int    `help:"Copies that Kafka and Cassandra keep." default:"3"`
	Events    int    `help:"Events that a node sends a day, which are kept for 30 days: some on a quiet day, hundreds where queries are slow." default:"100"`
	JSON      bool   `name:"json" help:"Print JSON."`
}

// Help implements kong.HelpProvider.
func (*SizeCmd) Help() string {
	return "Says what a fleet needs, as one process in a directory (embedded) and as a line of " +
		"roles and engines, and which of the two to take. " +
		"The figures follow from the kept benchmarks, where half of the nodes are idle. CORES " +
		"are of all processes of a part together, MEMORY and DISK of each. " +
		"Asks nobody and needs no key.\n\n" +
		"Example: ringwatch size --nodes 300\n\n" +
		"Example: ringwatch size --nodes 10000 --series 5000 --interval 5s --retention 30d --json"
}

// Run implements the command.
func (c *SizeCmd) Run() error { return c.RunTo(os.Stdout) }

// RunTo is Run for another output than the process has.
func (c *SizeCmd) RunTo(out io.Writer) error {
	interval, err := screen.ParseSpan("interval", c.Interval)
	if err != nil {
		return err
	}
	retention, err := screen.ParseSpan("retention", c.Retention)
	if err != nil {
		return err
	}
	fleet := sizing.Fleet{Nodes: c.Nodes, Series: c.Series, Interval: interval,
		Retention: retention, Replicas: c.Replicas, Events: c.Events}
	if err := fleet.Validate(); err != nil {
		return exit.Usage(err)
	}
	advice := sizing.Size(fleet)
	if c.JSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(advice)
	}
	_, err = io.WriteString(out, sizeText(advice))
	return err
}

// sizeText is an answer for people.
func sizeText(a sizing.Advice) string {
	var sb strings.Builder
	fmt.Fprintf(&sb, "The nodes send %s samples in %s frames a second, %s.\n",
		screen.Short(a.SamplesPerSecond), screen.Short(a.FramesPerSecond),
		screen.Human(a.BytesPerSecond, "bytes"))
	if a.Deployment == sizing.Embedded {
		sb.WriteString(
			"Take one process in a directory (embedded), or a line if answers must go on " +
				"while a process is down.\n")
	} else {
		sb.WriteString("Take a line of roles and engines: one process in a directory does " +
			"not keep up.\n")
	}
	if !a.Measured {
		sb.WriteString("No fleet as large was measured: the figures go on in proportion.\n")
	}
	table := func(title string, needs []sizing.Need) {
		fmt.Fprintln(&sb)
		t := tabwriter.NewWriter(&sb, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, title+"\tPROCESSES\tCORES\tMEMORY\tDISK\tPARTITIONS")
		for _, n := range needs {
			disk, partitions := "-", "-"
			if n.DiskBytes > 0 {
				disk = screen.Human(float64(n.DiskBytes), "bytes")
			}
			if n.Partitions > 0 {
				partitions = strconv.Itoa(n.Partitions)
			}
			fmt.Fprintf(t, "%s\t%d\t%.2f\t%s\t%s\t%s\n", n.Part, n.Processes, n.Cores,
				screen.Human(float64(n.MemoryBytes), "bytes"), disk, partitions)
		}
		_ = t.Flush() // a strings.Builder takes everything
	}
	if a.Deployment == sizing.Embedded {
		table("EMBEDDED", a.Embedded)
	}
	table("LINE", a.Line)
	sb.WriteString("\nCORES are of all processes of a part, MEMORY and DISK of each. Leave " +
		"Cassandra " +
		"as much disk free again.\n")
	return sb.String()
}
