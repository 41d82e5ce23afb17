package setup

import (
	"context"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/engine"
	"github.com/ringwatch/ringwatch/store"
)

// SchemaCmd is ringwatch schema.
type SchemaCmd struct {
	Apply   SchemaApplyCmd   `cmd:"" help:"Create missing tables and alter those that differ from the configuration. Refuse changes that would lose data."`
	Show    schemaShowCmd    `cmd:"" help:"Print which generation of the tables (v1, v2 or v3) serves which time, and each table's size."`
	Cutover schemaCutoverCmd `cmd:"" help:"Switch to another generation of the tables from a given time on."`
	Drop    schemaDropCmd    `cmd:"" help:"Drop the tables of a generation after all its data has expired."`
	Grants  schemaGrantsCmd  `cmd:"" help:"Print the GRANT statements for a role in Cassandra."`
}

// SchemaApplyCmd is ringwatch schema apply.
type SchemaApplyCmd struct {
	settings.DataFlags
	AllowShorterTTL bool `name:"allow-shorter-ttl" help:"Also shorten the time after which rows expire."`
}

func (c *SchemaApplyCmd) Run(ctx context.Context) error {
	p, err := wire.StartOnData(ctx, &c.DataFlags, "schema apply",
		func(c *settings.Config) []engine.Engine {
			kafka := engine.Kafka(c)
			kafka.Unset = ""
			return []engine.Engine{kafka, engine.RowsOrDirectory(c)}
		})
	if err != nil {
		return err
	}
	if len(p.Config.Kafka.Brokers) > 0 {
		if err := makeTopic(ctx, &c.DataFlags.RoleFlags, p); err != nil {
			return err
		}
		fmt.Printf("topic %s is there\n", p.Config.Kafka.Topic)
	} else {
		fmt.Printf("the stream lies in %s: ringwatch all makes what it needs there\n",
			p.Config.Data.Dir)
	}
	if p.Config.Cassandra.Dir != "" {
		fmt.Printf("rows lie in %s: ringwatch all makes their tables, and nothing is to "+
			"be applied\n",
			p.Config.Cassandra.Dir)
		return nil
	}
	db, err := connectFor(ctx, &c.DataFlags.RoleFlags, p)
	if err != nil {
		return err
	}
	defer db.Close()
	done, err := db.ApplyChanges(ctx,
		store.Changes{Alter: true, AllowShorterTTL: c.AllowShorterTTL})
	for _, what := range done {
		fmt.Println(what)
	}
	if err != nil {
		return err
	}
	fmt.Printf("keyspace %s is there\n", p.Config.Cassandra.Keyspace)
	if len(done) > 0 && p.Config.Cassandra.Username != "" {
		fmt.Println("if Ringwatch's services use another role, give it the rights that ringwatch " +
			"schema grants prints")
	}
	return nil
}

// schemaFlags are those of the commands that need the rows alone.
type schemaFlags struct{ settings.DataFlags }

func (f *schemaFlags) open(ctx context.Context, what string) (*wire.Process, *store.Store, error) {
	p, err := wire.StartOnData(ctx, &f.DataFlags, "schema "+what,
		func(c *settings.Config) []engine.Engine {
			return []engine.Engine{engine.RowsOrDirectory(
				c)}
		})
	if err != nil {
		return nil, nil, err
	}
	db, err := connectFor(ctx, &f.DataFlags.RoleFlags, p)
	return p, db, err
}

// connectFor connects a command that has somebody waiting for it. A role tries for ever, but who
// has mistyped a password wants to know.
func connectFor(ctx context.Context, f *settings.RoleFlags, p *wire.Process) (*store.Store, error) {
	ctx, cancel := context.WithTimeout(ctx, f.Wait)
	defer cancel()
	return p.ConnectStore(ctx)
}

// makeTopic makes the topic for such a command.
func makeTopic(ctx context.Context, f *settings.RoleFlags, p *wire.Process) error {
	ctx, cancel := context.WithTimeout(ctx, f.Wait)
	defer cancel()
	_, err := p.Topics.Ensure(ctx, p.Config.Kafka.FramesConfig)
	return err
}

type schemaShowCmd struct {
	schemaFlags
	JSON bool `name:"json" help:"Print JSON."`
}

// generationInfo is which generation serves a time, in JSON.
type generationInfo struct {
	From       *time.Time `json:"from,omitempty"` // not there: the beginning
	Until      *time.Time `json:"until,omitempty"`
	Generation string     `json:"generation"`
	Expires    *time.Time `json:"expires,omitempty"`
	By         string     `json:"by,omitempty"`
	Written    *time.Time `json:"written,omitempty"`
}

// tableInfo is a table's size in JSON.
type tableInfo struct {
	Table        string `json:"table"`
	TTLSeconds   int64  `json:"ttl_seconds"` // 0: for ever
	DiskMiB      int64  `json:"disk_mib"`
	PartitionMiB int64  `json:"largest_partition_mib"`
}

// printOverview prints the schema as JSON.
func printOverview(out io.Writer, o *store.Overview) error {
	at := func(millis int64) *time.Time {
		if millis == 0 {
			return nil
		}
		t := time.UnixMilli(millis).UTC()
		return &t
	}
	of := struct {
		Generations []generationInfo `json:"generations"`
		Tables      []tableInfo      `json:"tables"`
		Nodes       int              `json:"nodes"`
		Away        int              `json:"nodes_away"`
	}{[]generationInfo{}, []tableInfo{}, int(o.Nodes), int(o.Away)}
	for _, r := range o.Ranges {
		of.Generations = append(of.Generations, generationInfo{at(r.At), at(r.Until),
			fmt.Sprint(r.Generation), at(r.Expires), r.By, at(r.Written)})
	}
	for _, t := range o.Tables {
		of.Tables = append(of.Tables, tableInfo{t.Name, int64(t.TTL.Seconds()), int64(t.DiskMiB),
			int64(t.PartitionMiB)})
	}
	return screen.PrintJSON(out, of)
}

func (c *schemaShowCmd) Run(ctx context.Context) error {
	p, db, err := c.open(ctx, "show")
	if err != nil {
		return err
	}
	defer db.Close()
	o, err := db.Show(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return printOverview(os.Stdout, &o)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FROM\tUNTIL\tGENERATION\tDATA EXPIRES\tWRITTEN BY\tWRITTEN AT")
	for _, r := range o.Ranges {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", moment(r.At, "the beginning"),
			moment(r.Until, "-"), r.Generation, moment(r.Expires, "-"), screen.Plain(r.By),
			moment(r.Written, "-"))
	}
	fmt.Fprintln(w)
	where := p.Config.Cassandra.Keyspace
	if p.Config.Cassandra.Dir != "" {
		where = p.Config.Cassandra.Dir
	}
	fmt.Fprintf(w, "TABLE (%s)\tKEEPS\tDISK\tLARGEST PARTITION\n", where)
	for _, t := range o.Tables {
		keeps := "for ever"
		if t.TTL > 0 {
			keeps = t.TTL.String()
		}
		fmt.Fprintf(w, "%s\t%s\t%d MiB\t%d MiB\n", t.Name, keeps, t.DiskMiB, t.PartitionMiB)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if p.Config.Cassandra.Dir != "" {
		fmt.Println("\nsizes are of files of rows, rounded up to whole MiB, without what is in " +
			"the log alone; partitions have no files of their own")
		return nil
	}
	fmt.Printf("\nsizes are what %d Cassandra node(s) say of their SSTables "+
		"(system_views.disk_usage, max_partition_size): all replicas, whole MiB rounded up at "+
		"each node, without memtables; partitions before compression\n", o.Nodes)
	if o.Away > 0 {
		fmt.Printf("%d node(s) did not say: %v\n", o.Away, o.Why)
	}
	return nil
}

// moment prints a time, or what zero stands for.
func moment(millis int64, zero string) string {
	if millis == 0 {
		return zero
	}
	return time.UnixMilli(millis).UTC().Format(time.RFC3339)
}

type schemaCutoverCmd struct {
	schemaFlags
	To string    `required:"" help:"The generation: v1, v2 or v3."`
	At time.Time `required:"" help:"From when on, such as 2026-05-17T12:00:00Z: at least ten minutes ahead. It is rounded up to a full five minutes."`
}

// clockSlack is how far this machine's clock may be from Cassandra's for a cutover. Processes
// allow each other a minute.
const clockSlack = 20 * time.Second

func (c *schemaCutoverCmd) Run(ctx context.Context) error {
	p, db, err := c.open(ctx, "cutover")
	if err != nil {
		return err
	}
	defer db.Close()
	off, err := db.ClockOff(ctx)
	if err != nil {
		return err
	}
	if off.Abs() > clockSlack {
		return fmt.Errorf("this machine's clock and Cassandra's differ by %s, and a cutover "+
			"needs clocks that agree: set them first", off.Round(time.Second))
	}
	cut, err := db.Cutover(ctx, c.To, c.At, wire.Caller())
	if err != nil {
		return err
	}
	fmt.Printf("%s serves from %s on\n", cut.Generation, moment(cut.At, "the beginning"))
	if p.Config.Cassandra.Username != "" {
		fmt.Println("before then, give the role of Ringwatch's services the rights that " +
			"ringwatch schema grants prints")
	}
	return nil
}

type schemaDropCmd struct {
	schemaFlags
	Generation string `arg:"" help:"The generation: v1, v2 or v3."`
}

func (c *schemaDropCmd) Run(ctx context.Context) error {
	_, db, err := c.open(ctx, "drop")
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.Drop(ctx, c.Generation); err != nil {
		return err
	}
	fmt.Printf("dropped the tables of generation %s\n", c.Generation)
	return nil
}

type schemaGrantsCmd struct {
	schemaFlags
	Role string `required:"" help:"The role's name."`
	For  string `enum:"service,reader,schema,keys,ingest" default:"service" help:"What it is for: service (store, api, all), reader (api alone), schema (ringwatch schema), keys (ringwatch key) or ingest (ingest alone)."`
}

func (c *schemaGrantsCmd) Run(ctx context.Context) error {
	_, db, err := c.open(ctx, "grants")
	if err != nil {
		return err
	}
	defer db.Close()
	list, err := db.Grants(ctx, c.For, c.Role)
	for _, statement := range list {
		fmt.Println(statement)
	}
	return err
}
