// Package examine has the command doctor: a node before it is restarted with the agent, and what
// the roles need before they are started.
package examine

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/access/certs"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/engine"
	"github.com/ringwatch/ringwatch/doctor"
	"github.com/ringwatch/ringwatch/store"
)

// DoctorCmd is ringwatch doctor.
type DoctorCmd struct {
	AgentConfig   string `help:"The agent's configuration. Without it: the one that the Cassandra that runs here names, else /etc/ringwatch/agent.yaml." type:"path"`
	PID           int    `name:"pid" help:"The process of the Cassandra that is meant, where several run."`
	Jar           string `help:"The agent's jar. Without it: the running agent's, else ringwatch-agent.jar beside the configuration, beside this program or in /usr/share/ringwatch." type:"path"`
	CassandraConf string `help:"The directory of cassandra.yaml. Without it: that of the Cassandra that runs here, else where packages put it." type:"dir"`
	CassandraHome string `help:"The directory that holds Cassandra's jars, or their folder lib. Without it: found like --cassandra-conf." type:"dir"`
	JavaHome      string `help:"The Java that runs Cassandra. Without it: JAVA_HOME, the running Cassandra's, or the first in PATH." type:"dir"`
	Config        string `help:"Check the engines of this configuration of the roles instead of a node, with its logins and its TLS. With --redis or --cassandra: that address alone." type:"path" short:"c"`
	Redis         string `help:"Check this Redis instead of a node: host:port. A password is taken from RINGWATCH_REDIS_PASSWORD, a user from RINGWATCH_REDIS_USERNAME."`
	Cassandra     string `help:"Check the Cassandra that stores the frames instead of a node: host:port. A password is taken from RINGWATCH_CASSANDRA_PASSWORD, a user from RINGWATCH_CASSANDRA_USERNAME."`
	Keyspace      string `help:"With --cassandra: the configuration's cassandra.keyspace." default:"ringwatch"`
	JSON          bool   `name:"json" help:"Print JSON."`
}

// Help implements kong.HelpProvider.
func (*DoctorCmd) Help() string {
	return "Checks a node before you restart it with the agent. Prints the one line to add to " +
		"Cassandra's options, and how to remove it again. Of a Cassandra that runs here it takes " +
		"what the process names; where several run, --pid chooses one. " +
		"With --config it checks Kafka, Cassandra and Redis as the roles will use them: " +
		"certificates, logins, settings; the directory of what has no engine; and it reads each " +
		"target of section watch once, which may take a minute. With --redis " +
		"it checks a Redis against docs/STORE.md. With --cassandra it checks whether the " +
		"Cassandra that stores the frames can lose acknowledged ones. It changes nothing. Run it " +
		"as root or as Cassandra's user. It exits with 1 when the agent would not work.\n\n" +
		"Example: ringwatch doctor --agent-config /etc/ringwatch/agent.yaml\n\n" +
		"Example: ringwatch doctor --config /etc/ringwatch/ringwatch.yaml"
}

// ErrUnwell has been told in detail already.
var ErrUnwell = errors.New("correct what failed above")

// Run implements the command.
func (c *DoctorCmd) Run(ctx context.Context) error { return c.RunTo(ctx, os.Stdout) }

// RunTo is Run for another output than the process has.
func (c *DoctorCmd) RunTo(ctx context.Context, out io.Writer) error {
	if c.Config != "" {
		report, err := c.engines(ctx)
		if err != nil {
			return err
		}
		return c.print(out, report)
	}
	if c.Redis != "" {
		redis := doctor.Redis{Address: c.Redis, Username: os.Getenv("RINGWATCH_REDIS_USERNAME"),
			Password: os.Getenv("RINGWATCH_REDIS_PASSWORD")}
		return c.print(out, redis.Examine(ctx))
	}
	if c.Cassandra != "" {
		config := store.DefaultConfig()
		config.Hosts, config.Keyspace = []string{c.Cassandra}, c.Keyspace
		config.Username, config.Password = os.Getenv("RINGWATCH_CASSANDRA_USERNAME"),
			os.Getenv("RINGWATCH_CASSANDRA_PASSWORD")
		found, err := askCassandra(ctx, config)
		if err != nil {
			return exit.Usage(err)
		}
		return c.print(out, doctor.ReportCassandra(found))
	}
	report, err := doctor.Examine(ctx, doctor.Options{PID: c.PID, AgentConfig: c.AgentConfig,
		Jar: c.Jar, CassandraConf: c.CassandraConf, CassandraHome: c.CassandraHome,
		JavaHome: c.JavaHome})
	if err != nil {
		return exit.Usage(err)
	}
	return c.print(out, report)
}

// cassandraTimeout bounds all questions to Cassandra.
const cassandraTimeout = 20 * time.Second

// secureTimeout is the time for a Cassandra that speaks TLS and is asked without: most do not
// answer then, but those with client_encryption_options.optional do.
const secureTimeout = 5 * time.Second

// askCassandra asks the Cassandra that keeps the frames. The error is about what was typed.
func askCassandra(ctx context.Context, config store.Config) (doctor.Cassandra, error) {
	found := doctor.Cassandra{Address: strings.Join(config.Hosts, ", "), Keyspace: config.Keyspace}
	config.Log = slog.New(slog.DiscardHandler) // what it cannot do stands in the report
	db, err := store.New(config, nil)
	if err != nil {
		return found, err
	}
	defer db.Close()
	within := cassandraTimeout
	if !config.TLS.Enabled &&
		certs.Speaks(ctx, engine.Cassandra("", config.Hosts, config.TLS).Addresses[0]) {
		found.Section, within = "cassandra.tls", secureTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if found.Away = db.Connect(ctx); found.Away != nil {
		return found, nil
	}
	log, err := db.CommitLog(ctx)
	found.Hidden, found.Replicas, found.Sync = err, log.Replicas, log.Sync
	if log.Replicas == 0 {
		log.Replicas = config.ReplicationFactor // that is what it gets
	}
	found.Risk, found.Remedy = log.Risk(), store.CommitLogRemedy
	return found, nil
}

func (c *DoctorCmd) print(out io.Writer, report *doctor.Report) error {
	var err error
	if c.JSON {
		encoder := json.NewEncoder(screen.Writer{Writer: out})
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(report)
	} else {
		err = report.Write(screen.Writer{Writer: out})
	}
	if err == nil && !report.OK {
		err = ErrUnwell
	}
	return err
}
