package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/clock"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/datadir"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/engine"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/logs"
	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/stream"
)

// DataMoveCmd is ringwatch data move.
type DataMoveCmd struct {
	Config string        `help:"The configuration of the line: it names Kafka and Cassandra, and has the accounts of the process that has the directory." type:"path" env:"RINGWATCH_CONFIG" short:"c" required:""`
	Data   string        `help:"The directory of ringwatch all, whether that runs or not. Default: the configuration's data.dir." placeholder:"DIR" type:"dir"`
	DryRun bool          `name:"dry-run" help:"Look at everything, say what would be done, and do nothing."`
	Wait   time.Duration `help:"How long to wait for an engine that is away, and for the process to end." default:"90s"`
}

// Help implements kong.HelpProvider.
func (*DataMoveCmd) Help() string {
	return "Copies all rows of the directory that ringwatch all keeps them in into the Cassandra " +
		"that the configuration names, with their write times and what is left of their time to " +
		"live, and reads each back. ringwatch all runs meanwhile. Then it asks that process to " +
		"end, copies what is left and what the stream still needs into Kafka, and says what to " +
		"start. Agents keep their address: they keep what they measure in between, and send it " +
		"again.\n\nA move that was interrupted goes on when the command is run again. Until the " +
		"process was asked to end it goes on as before; after that, ringwatch all still runs on " +
		"the directory, until the command has said that all is moved.\n\nExample: ringwatch data " +
		"move --config line.yaml --data /var/lib/ringwatch"
}

// Run implements the command.
func (c *DataMoveCmd) Run(ctx context.Context) error { return c.RunTo(ctx, os.Stdout) }

// RunTo is Run for another output than the process has.
func (c *DataMoveCmd) RunTo(ctx context.Context, out io.Writer) error {
	flags := settings.RoleFlags{Config: c.Config, Wait: c.Wait}
	conf, registry, err := flags.Load()
	if err != nil {
		return err
	}
	if c.Data != "" {
		conf.Data.Dir = c.Data
	}
	if err := settings.DirectoryKey("data.dir", conf.Data.Dir); err != nil {
		return exit.Usage(err)
	}
	kafka, cassandra := engine.Kafka(conf), engine.Rows(conf)
	kafka.Unset, cassandra.Unset = moveNeeds, moveNeeds
	if err := engine.Named(kafka, cassandra); err != nil {
		return err
	}
	conf.Log.Level = "warn"
	p := &wire.Process{Config: conf, Role: "data move", Log: logs.New(conf.Log)}
	m := &dataMove{
		Process:  p,
		file:     c.Config,
		patience: c.Wait,
		out:      out,
		online:   datadir.AskRunning(conf.Data.Dir),
	}
	defer m.close()
	if err := m.look(ctx, registry); err != nil {
		return err
	}
	unlock, err := m.state.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := engine.ReachAll(ctx, p.Log, c.Wait, kafka, cassandra); err != nil {
		return err
	}
	if err := m.check(ctx); err != nil {
		return moveFailed(err, "nothing was done")
	}
	if c.DryRun {
		return m.wouldDo()
	}
	if err := m.whileItRuns(ctx); err != nil {
		return moveFailed(err, "nothing is lost, and who has "+conf.Data.Dir+
			" goes on: run this again when that is over")
	}
	if err := m.handOver(ctx); err != nil {
		return moveFailed(err, "nothing is lost: run this again when that is over, or run "+
			"ringwatch all on "+conf.Data.Dir+" as before")
	}
	return nil
}

// moveNeeds is what to do about a configuration without an engine.
const moveNeeds = "name the line's with --config: the directory moves into both Cassandra and Kafka"

// dataMove is a move under way.
type dataMove struct {
	*wire.Process
	file     string // the line's configuration
	patience time.Duration
	out      io.Writer
	state    *datadir.Move
	online   *datadir.Running
	running  bool // a process answers
	knows    func(account string) bool
	stream   *streamMove // nil: Kafka has the stream
	db       *store.Store
	rows     *store.Mover // nil: Cassandra has the rows
	told     time.Time    // when progress was told last
	begun    time.Time    // when the present round began
}

func (m *dataMove) say(format string, args ...any) { fmt.Fprintf(m.out, format+"\n", args...) }

func (m *dataMove) close() {
	m.online.Close()
	if m.rows != nil {
		m.rows.Close()
	}
	if m.db != nil {
		m.db.Close()
	}
}

// look finds out what the directory has, and whether a process has it.
func (m *dataMove) look(ctx context.Context, registry *account.Registry) (err error) {
	dir := m.Config.Data.Dir
	if m.state, err = datadir.ReadMove(dir); err != nil {
		return err
	}
	if err := m.state.Ended(); err != nil {
		return err
	}
	if !m.rowsThere() && !datadir.Exists(filepath.Join(dir, "stream")) {
		return datadir.NoData(dir)
	}
	known := map[string]bool{}
	for _, name := range registry.Accounts() {
		known[name] = true
	}
	m.knows = func(account string) bool { return known[account] }
	has, err := m.online.Move(ctx)
	if err != nil { // nobody answers; who has the directory nevertheless is met later
		return nil
	}
	m.running = true
	m.knows = nil // rows of an account that the process has no more may come, too
	if err := has.Alike(m.Config); err != nil {
		return exit.Usage(err)
	}
	return nil
}

func (m *dataMove) rowsThere() bool {
	return datadir.Exists(filepath.Join(m.Config.Data.Dir, "rows"))
}

// check looks at both sides. It changes nothing.
func (m *dataMove) check(ctx context.Context) (err error) {
	if m.stream, err = planStreamMove(m.Process); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, m.patience)
	defer cancel()
	mine := false
	if m.rowsThere() {
		m.Config.Cassandra.Log = m.Log
		if m.db, err = store.New(m.Config.Cassandra, nil); err != nil {
			return err
		}
		if err := m.db.Connect(bounded); err != nil {
			return err
		}
		if m.rows, err = m.db.NewMover(m.mover()); err != nil {
			return err
		}
		if mine, err = m.rows.Check(bounded); err != nil {
			return err
		}
		m.state.Stream = m.state.Stream && mine
	}
	if m.stream != nil {
		return m.stream.check(bounded, m.state.Stream)
	}
	return nil
}

func (m *dataMove) mover() store.MoverConfig {
	return store.MoverConfig{
		Dir: filepath.Join(m.Config.Data.Dir, "rows"), ID: m.state.ID, Copied: m.state.Copied,
		Patience: m.patience, Knows: m.knows, Report: m.tell,
		Save: func(copied []string) error {
			m.state.Copied = copied
			return m.state.Save()
		},
	}
}

// to says where the directory moves, for people.
func (m *dataMove) to() string {
	return fmt.Sprintf(
		"keyspace %s at %s and Kafka at %s",
		m.Config.Cassandra.Keyspace,
		strings.Join(m.Config.Cassandra.Hosts, ", "),
		strings.Join(m.Config.Kafka.Brokers, ", "),
	)
}

func (m *dataMove) wouldDo() error {
	if m.rows != nil {
		size, err := m.rows.Size()
		if err != nil {
			return err
		}
		m.say(
			"would copy the rows in %s, %s on the disk and what is in no file yet, to keyspace %s",
			m.Config.Data.Dir,
			screen.Human(float64(size), "bytes"),
			m.Config.Cassandra.Keyspace,
		)
	}
	if m.running {
		m.say("would then ask the process that has %s to end", m.Config.Data.Dir)
	}
	if m.stream != nil {
		m.say(
			"would then copy what is still needed of the stream to Kafka at %s",
			strings.Join(m.Config.Kafka.Brokers, ", "),
		)
	}
	m.say("nothing was done")
	return nil
}

// making is how long all tables or all topics may take to be made: Cassandra makes one after the
// other, and a busy one takes seconds for each.
const making = 5 * time.Minute

// within calls f with so much time.
func within(ctx context.Context, d time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return f(ctx)
}

// Rounds are copied while the process runs until one has so little that the rest takes a moment.
const (
	lastRound  = 32 << 20
	mostRounds = 10
)

// whileItRuns copies rows while the process goes on.
func (m *dataMove) whileItRuns(ctx context.Context) error {
	m.state.To = m.to()
	if err := m.state.Save(); err != nil {
		return err
	}
	if m.stream != nil {
		if err := within(ctx, m.patience+making, m.stream.prepare); err != nil {
			return err
		}
	}
	if m.rows == nil {
		return nil
	}
	if err := within(ctx, m.patience+making, m.rows.Begin); err != nil {
		return err
	}
	for range mostRounds {
		m.begin()
		n, err := m.rows.Round(ctx)
		if err != nil {
			return err
		}
		if n < lastRound {
			break
		}
	}
	return nil
}

// handOver asks the process to end, and copies what is left. The process ends as SIGTERM ends it
// and is not drained first, which would make the gap longer: what it has acknowledged is in rows,
// or in the stream behind the store group's offset, and is copied.
func (m *dataMove) handOver(ctx context.Context) error {
	if m.running {
		m.say("asking the process that has %s to end", m.Config.Data.Dir)
		if err := m.online.GiveUp(ctx); err != nil {
			return fmt.Errorf("the process that has %s does not end: %w", m.Config.Data.Dir, err)
		}
	}
	m.begin()
	if m.rows != nil {
		last := func() error { return m.rows.Last(ctx) }
		if err := m.onceFree(ctx, last); err != nil {
			return err
		}
	}
	messages, err := m.copyStream(ctx)
	if err != nil {
		return err
	}
	if m.rows != nil {
		if err := within(ctx, m.patience, m.rows.End); err != nil {
			return err
		}
	}
	m.state.Done = time.Now()
	if err := m.state.Save(); err != nil {
		return err
	}
	m.done(messages)
	return nil
}

// copyStream copies what is still needed of the stream, and returns how many messages those were.
func (m *dataMove) copyStream(ctx context.Context) (messages int, err error) {
	if m.stream == nil {
		return 0, nil
	}
	m.state.Stream = true
	if err := m.state.Save(); err != nil {
		return 0, err
	}
	bounded, cancel := context.WithTimeout(ctx, m.patience)
	defer cancel()
	again := func(err error) bool {
		return !errors.Is(err, disk.ErrInUse) && stream.Retryable(err)
	}
	try := func(ctx context.Context) (err error) {
		messages, err = m.stream.copy(ctx)
		return err
	}
	err = m.onceFree(ctx, func() error {
		return engine.Retry(bounded, m.Log, "the stream", again, try)
	})
	return messages, err
}

// onceFree calls f until no process has what it takes.
func (m *dataMove) onceFree(ctx context.Context, f func() error) error {
	for deadline := time.Now().Add(m.patience); ; {
		err := f()
		if !errors.Is(err, disk.ErrInUse) {
			return err
		}
		if !m.running || time.Now().After(deadline) {
			return exit.Usage(
				fmt.Errorf("%w: its process does not answer: stop it, and run this again", err))
		}
		clock.Pause(ctx, 50*time.Millisecond)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// done says what was moved, and what to start now.
func (m *dataMove) done(messages int) {
	if m.rows != nil {
		sum := int64(0)
		for _, t := range m.rows.Tables() {
			m.say("%-16s %d rows", t.Name, t.Rows)
			sum += t.Rows
		}
		m.say("%d rows were written now, and each was found again", sum)
		if lost := m.rows.Lost(); lost > 0 {
			m.say("%d bytes of damaged files could not be read", lost)
		}
	}
	m.say(
		"%s is moved to %s, with %d messages of the stream: start ringwatch all --config %s now, "+
			"or the roles with it, at the addresses that agents know", m.Config.Data.Dir,
		m.state.To,
		messages, m.file)
}

// toldEvery is how often progress is told.
const toldEvery = 5 * time.Second

// begin begins a round of copying.
func (m *dataMove) begin() { m.begun, m.told = time.Now(), time.Now() }

// tell says how far a round is. It is called by one goroutine at a time.
func (m *dataMove) tell(p store.MoveProgress) {
	if time.Since(m.told) < toldEvery {
		return
	}
	m.told = time.Now()
	left := ""
	if p.Bytes > 0 {
		rest := float64(p.Of-p.Bytes) / float64(p.Bytes) * float64(time.Since(m.begun))
		left = fmt.Sprintf(", %s left", time.Duration(rest).Round(time.Second))
	}
	m.say(
		"%s of %s on the disk, %d rows%s",
		screen.Human(float64(p.Bytes), "bytes"),
		screen.Human(float64(p.Of), "bytes"),
		p.Rows,
		left,
	)
}
