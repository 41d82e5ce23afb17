package examine

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/access/certs"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/engine"
	"github.com/ringwatch/ringwatch/doctor"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/stream/kafka"
)

// engines checks the engines of the roles' configuration.
func (c *DoctorCmd) engines(ctx context.Context) (*doctor.Report, error) {
	flags := settings.RoleFlags{Config: c.Config}
	config, _, err := flags.Load()
	if err != nil {
		return nil, err
	}
	all := c.Redis == "" && c.Cassandra == ""
	if c.Redis != "" {
		config.Redis.Addresses = []string{c.Redis}
	}
	if c.Cassandra != "" {
		config.Cassandra.Hosts, config.Cassandra.Dir = []string{c.Cassandra}, ""
	}
	var results []doctor.Result
	if all {
		results = append(results, examineData(config)...)
		results = append(results, examineKafka(ctx, config)...)
	}
	if all || c.Cassandra != "" {
		more, err := examineCassandra(ctx, config)
		if err != nil {
			return nil, exit.Usage(err)
		}
		results = append(results, more...)
	}
	if all || c.Redis != "" {
		results = append(results, examineRedis(ctx, config)...)
	}
	if all {
		results = append(results, examineLinks(config))
		results = append(results, examineWatch(ctx, config)...)
	}
	if l := config.LookupOrStore(); all && l.On() && len(config.Lookup.Hosts) > 0 {
		more, _ := examineTLS(ctx, "lookup.tls", engine.Cassandra("lookup.hosts", l.Hosts, l.TLS))
		results = append(results, more...)
	}
	return doctor.Engines(results), nil
}

// examineLinks says where links in alerts lead.
func examineLinks(c *settings.Config) doctor.Result {
	r := doctor.Result{Name: "api.public_url", Status: doctor.OK,
		Message: "links in alerts begin with " + c.Rules.ExternalURL}
	if c.Rules.ExternalURL == "" {
		r.Status, r.Message = doctor.Warn, "alerts have no links: nothing says where the console is"
		r.Remedy = "set api.public_url to the console's address as people type it, such as " +
			"https://ringwatch.example:9470"
	}
	return r
}

// examineTLS says hello to each address of an engine with TLS. It reports false where none lets us
// in.
func examineTLS(ctx context.Context, name string, e engine.Engine) ([]doctor.Result, bool) {
	if !e.TLS.Enabled {
		return nil, true
	}
	results, in := doctor.ReportFiles(name, &e.TLS), false
	if e.TLS.Check() != nil {
		return results, false
	}
	for _, address := range e.Addresses {
		cert, err := e.Greet(ctx, nil, address)
		results, in = append(results, doctor.ReportTLS(name, address, cert, err)), in || err == nil
	}
	return results, in
}

// kafkaTimeout bounds the question to Kafka.
const kafkaTimeout = 10 * time.Second

func examineKafka(ctx context.Context, c *settings.Config) []doctor.Result {
	if len(c.Kafka.Brokers) == 0 {
		return nil
	}
	results, in := examineTLS(ctx, "kafka.tls", engine.Kafka(c))
	if !in {
		return results
	}
	within, cancel := context.WithTimeout(ctx, kafkaTimeout)
	defer cancel()
	err := askKafka(within, c)
	section := ""
	if err != nil && !c.Kafka.TLS.Enabled && certs.Speaks(ctx, c.Kafka.Brokers[0]) {
		section = "kafka.tls"
	}
	return append(results, doctor.ReportKafka(c.Kafka.Brokers, err, section))
}

func askKafka(ctx context.Context, c *settings.Config) error {
	k, err := kafka.New(c.Kafka.Config, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	producer, err := stream.NewProducer(k, c.Kafka.FramesConfig, prometheus.NewRegistry())
	if err != nil {
		return err
	}
	defer producer.Close()
	return producer.Ready(ctx)
}

func examineCassandra(ctx context.Context, c *settings.Config) ([]doctor.Result, error) {
	if len(c.Cassandra.Hosts) == 0 {
		return nil, nil
	}
	results, in := examineTLS(ctx, "cassandra.tls", engine.Rows(c))
	if !in {
		return results, nil
	}
	found, err := askCassandra(ctx, c.Cassandra)
	return append(results, doctor.ReportCassandra(found).Results...), err
}

func examineRedis(ctx context.Context, c *settings.Config) []doctor.Result {
	results, in := examineTLS(ctx, "redis.tls", engine.Redis(c))
	for _, address := range c.Redis.Addresses {
		if in {
			redis := doctor.Redis{Address: address, Username: c.Redis.Username,
				Password: c.Redis.Password, TLS: c.Redis.TLS}
			results = append(results, redis.Examine(ctx).Results...)
		}
	}
	return results
}
