package kafka

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

	"github.com/ringwatch/ringwatch/access/certs"
	"github.com/ringwatch/ringwatch/stream"
)

// Ensure implements stream.Engine.
func (k *Kafka) Ensure(ctx context.Context, t stream.Topic) error {
	return explained(k.ensure(ctx, wantedTopic{Topic: t, settings: k.settings(t)}))
}

// wantedTopic is what a topic is to be like.
type wantedTopic struct {
	stream.Topic
	settings map[string]*string
}

// ensure makes a topic or checks the one there is.
func (k *Kafka) ensure(ctx context.Context, w wantedTopic) error {
	client, err := k.client()
	if err != nil {
		return err
	}
	defer client.Close()
	admin, factor := kadm.NewClient(client), k.config.ReplicationFactor
	_, err = admin.CreateTopic(ctx, w.Partitions, factor, w.settings, w.Name)
	switch {
	case err == nil:
		k.log.Info("created a topic", "topic", w.Name, "partitions", w.Partitions,
			"replication_factor", factor)
		return w.await(ctx, admin)
	case errors.Is(err, kerr.TopicAlreadyExists):
		return w.check(ctx, admin, k.log)
	case errors.Is(err, kerr.InvalidReplicationFactor):
		return fmt.Errorf("stream: Kafka has fewer brokers than replication_factor, %d, asks for: "+
			"start more or lower it: %w", factor, err)
	case errors.As(err, new(*certs.Error)):
		return fmt.Errorf("stream: %w", err)
	}
	return fmt.Errorf(
		"stream: cannot make topic %s on %s: check that Kafka runs there and lets us "+
			"create topics: %w", w.Name, strings.Join(k.config.Brokers, ","), err)
}

// retention is the setting of how long messages are kept, in ms.
const retention = "retention.ms"

func (k *Kafka) settings(t stream.Topic) map[string]*string {
	settings := map[string]*string{
		"cleanup.policy":      kadm.StringPtr("delete"),
		"max.message.bytes":   kadm.StringPtr(strconv.Itoa(int(t.MaxMessageBytes))),
		"min.insync.replicas": kadm.StringPtr(strconv.Itoa(int(k.config.MinInsyncReplicas))),
	}
	if t.Retention > 0 {
		settings[retention] = kadm.StringPtr(strconv.FormatInt(t.Retention.Milliseconds(), 10))
	}
	if !t.Compact {
		// Frames are compressed already; the broker must not spend CPU on them again.
		settings["compression.type"] = kadm.StringPtr("producer")
		// Ingest stamps a record when it takes the frame, and walking back by time relies on it.
		settings["message.timestamp.type"] = kadm.StringPtr("CreateTime")
		return settings
	}
	settings["cleanup.policy"] = kadm.StringPtr("compact")
	if t.Retention > 0 {
		settings["cleanup.policy"] = kadm.StringPtr("compact,delete")
	}
	// Only closed segments are compacted, and a topic of few entries fills none.
	settings["segment.ms"] = kadm.StringPtr(strconv.FormatInt((24 * time.Hour).Milliseconds(), 10))
	return settings
}

// await waits until all partitions of a new topic have a leader: creation is answered before that.
func (w *wantedTopic) await(ctx context.Context, admin *kadm.Client) error {
	for {
		topics, err := admin.ListTopics(ctx, w.Name)
		if err == nil {
			ready := 0
			for _, p := range topics[w.Name].Partitions {
				if p.Err == nil && p.Leader >= 0 {
					ready++
				}
			}
			if ready == int(w.Partitions) {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("stream: topic %s was created, but its partitions have no "+
				"leaders yet: %w",
				w.Name, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// spreads bounds how long a new topic takes to be known to all brokers.
const spreads = 30 * time.Second

// check looks at a topic that is there. One that suits and only differs is logged and left alone,
// but for a retention that is to be lengthened.
func (w *wantedTopic) check(ctx context.Context, admin *kadm.Client, log *slog.Logger) error {
	have, err := settingsOf(ctx, admin, w.Name)
	// A topic that another process is making is there before each broker knows it.
	for deadline := time.Now().Add(spreads); errors.Is(err, kerr.UnknownTopicOrPartition) &&
		time.Now().Before(deadline) && ctx.Err() == nil; have, err = settingsOf(ctx, admin,
		w.Name) {
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	if err != nil {
		return err
	}
	if err := w.suits(have); err != nil {
		return err
	}
	if w.forgetsEarly(have) {
		if err := w.lengthen(ctx, admin, log); err != nil {
			return err
		}
		have[retention] = *w.settings[retention]
	}
	for name, want := range w.settings {
		if name != "max.message.bytes" && have[name] != *want {
			log.Warn("the topic differs from the configuration; change one of them",
				"topic", w.Name,
				"setting", name, "topic_has", have[name], "configured", *want)
		}
	}
	return nil
}

// forgetsEarly reports whether the topic's retention is to be lengthened.
func (w *wantedTopic) forgetsEarly(have map[string]string) bool {
	if !w.Lengthen || w.Retention <= 0 {
		return false
	}
	ms, err := strconv.ParseInt(have[retention], 10, 64)
	return err == nil && ms >= 0 && ms < w.Retention.Milliseconds() // -1 is for ever
}

// lengthen gives the topic the retention of a new one, and changes nothing else of it. If Kafka
// does not allow that, it is logged.
func (w *wantedTopic) lengthen(
	ctx context.Context, admin *kadm.Client, log *slog.Logger,
) error {
	to := w.settings[retention]
	answers, err := admin.AlterTopicConfigs(ctx,
		[]kadm.AlterConfig{{Op: kadm.SetConfig, Name: retention, Value: to}}, w.Name)
	if err != nil {
		return fmt.Errorf("stream: cannot lengthen the retention of topic %s: %w", w.Name, err)
	}
	if answer, err := answers.On(w.Name, nil); err != nil || answer.Err != nil {
		log.Warn("the topic forgets too early, and Kafka does not let us change that; set its "+
			retention, "topic", w.Name, "to", *to, "error", errors.Join(err, answer.Err))
		return nil
	}
	log.Info("lengthened the retention of a topic", "topic", w.Name, retention, *to)
	return nil
}

// suits returns an ErrTopic for settings with which the topic would lose what is written to it.
func (w *wantedTopic) suits(have map[string]string) error {
	var errs []error
	// A log's entries are bounded below what its topic is made with.
	need, key := int(w.MaxMessageBytes), "max_message_bytes and ingest's max_frame_bytes"
	if w.Compact {
		key = "max_entry_bytes"
	}
	limit, err := strconv.Atoi(have["max.message.bytes"])
	if err != nil || limit < need {
		errs = append(errs,
			fmt.Errorf("%w: %s takes messages of %s bytes and ours need %d: set its "+
				"max.message.bytes to %[4]d, or lower %s", stream.ErrTopic, w.Name,
				have["max.message.bytes"], need, key))
	}
	switch policy := have["cleanup.policy"]; {
	case w.Compact && !strings.Contains(policy, "compact"):
		errs = append(errs,
			fmt.Errorf("%w: %s has cleanup.policy %s, which forgets the last entry "+
				"of a key: set it to %s", stream.ErrTopic, w.Name, policy,
				*w.settings["cleanup.policy"]))
	case !w.Compact && policy != "delete":
		errs = append(errs, fmt.Errorf("%w: %s has cleanup.policy %s, which would drop all but a "+
			"cluster's last frame: set it to delete", stream.ErrTopic, w.Name, policy))
	}
	return errors.Join(errs...)
}

// settingsOf asks Kafka for a topic's settings by name.
func settingsOf(ctx context.Context, admin *kadm.Client, name string) (map[string]string, error) {
	resources, err := admin.DescribeTopicConfigs(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("stream: cannot read the settings of topic %s: %w", name, err)
	}
	topic, err := resources.On(name, nil)
	if err == nil {
		err = topic.Err
	}
	if err != nil {
		return nil, fmt.Errorf("stream: cannot read the settings of topic %s: %w", name, err)
	}
	have := map[string]string{}
	for _, s := range topic.Configs {
		have[s.Key] = s.MaybeValue()
	}
	return have, nil
}
