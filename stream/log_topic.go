package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// EnsureLog makes the topic of a Log, compacted and, if it has a retention, also deleted; or it
// checks the one there is. Several processes may do so at once. A topic that would forget the last
// entry of a key is an ErrTopic; one that only differs is logged and left alone.
func EnsureLog(ctx context.Context, c Config, l LogConfig, log *slog.Logger) error {
	if err := errors.Join(c.Validate(), l.Validate()); err != nil {
		return err
	}
	client, err := c.client(log)
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	settings := l.topicSettings(c)
	_, err = admin.CreateTopic(ctx, l.Partitions, c.ReplicationFactor, settings, l.Topic)
	switch {
	case err == nil:
		log.Info("made a topic", "topic", l.Topic, "partitions", l.Partitions,
			"replication_factor", c.ReplicationFactor)
		c.Topic, c.Partitions = l.Topic, l.Partitions
		return c.awaitTopic(ctx, admin)
	case errors.Is(err, kerr.TopicAlreadyExists):
		return l.checkTopic(ctx, admin, settings, log)
	}
	return fmt.Errorf("stream: cannot make topic %s on %s: check that Kafka runs there, lets us "+
		"create topics and has %d brokers: %w", l.Topic, strings.Join(c.Brokers, ","),
		c.ReplicationFactor, err)
}

func (l LogConfig) topicSettings(c Config) map[string]*string {
	settings := map[string]*string{
		"cleanup.policy":      kadm.StringPtr("compact"),
		"max.message.bytes":   kadm.StringPtr(strconv.Itoa(int(l.MaxEntryBytes + logOverhead))),
		"min.insync.replicas": kadm.StringPtr(strconv.Itoa(int(c.MinInsyncReplicas))),
		// Only closed segments are compacted, and a topic of few entries fills none.
		"segment.ms": kadm.StringPtr(strconv.FormatInt((24 * time.Hour).Milliseconds(), 10)),
	}
	if l.Retention > 0 {
		settings["cleanup.policy"] = kadm.StringPtr("compact,delete")
		settings["retention.ms"] = kadm.StringPtr(strconv.FormatInt(l.Retention.Milliseconds(), 10))
	}
	return settings
}

func (l LogConfig) checkTopic(
	ctx context.Context, admin *kadm.Client, want map[string]*string, log *slog.Logger,
) error {
	have, err := settingsOf(ctx, admin, l.Topic)
	if err != nil {
		return err
	}
	var errs []error
	limit, err := strconv.Atoi(have["max.message.bytes"])
	if err != nil || limit < int(l.MaxEntryBytes) {
		errs = append(errs, fmt.Errorf("%w: %s takes messages of %s bytes and entries need %d: "+
			"set its max.message.bytes to %[4]d, or lower max_entry_bytes", ErrTopic, l.Topic,
			have["max.message.bytes"], l.MaxEntryBytes+logOverhead))
	}
	if policy := have["cleanup.policy"]; !strings.Contains(policy, "compact") {
		errs = append(errs, fmt.Errorf("%w: %s has cleanup.policy %s, which forgets the last entry "+
			"of a key: set it to %s", ErrTopic, l.Topic, policy, *want["cleanup.policy"]))
	}
	for name, value := range want {
		if name != "max.message.bytes" && len(errs) == 0 && have[name] != *value {
			log.Warn("the topic differs from the configuration and is left as it is", "topic", l.Topic,
				"setting", name, "topic_has", have[name], "configured", *value)
		}
	}
	return errors.Join(errs...)
}
