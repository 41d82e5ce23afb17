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

	"github.com/ringwatch/ringwatch/certs"
)

// ErrTopic says that the topic exists and is not fit for frames. The error around it says what to change.
var ErrTopic = errors.New("stream: the topic has unsuitable settings")

// EnsureTopic makes the topic of frames, or checks the one there is. Several processes may do so at once. A topic that would lose frames is an
// ErrTopic; one that only differs from the configuration (someone tuned it) is logged and left alone.
func EnsureTopic(ctx context.Context, c Config, log *slog.Logger) error {
	if err := c.Validate(); err != nil {
		return err
	}
	return c.ensure(ctx, wantedTopic{name: c.Topic, partitions: c.Partitions, settings: c.topicSettings(),
		suits: c.suits}, log)
}

// wantedTopic is what a topic is to be like.
type wantedTopic struct {
	name       string
	partitions int32
	settings   map[string]*string
	// suits returns an ErrTopic for settings with which a topic would lose what is written to it.
	suits func(have map[string]string) error
}

// ensure makes a topic or checks the one there is.
func (c Config) ensure(ctx context.Context, w wantedTopic, log *slog.Logger) error {
	client, err := c.client(log)
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	_, err = admin.CreateTopic(ctx, w.partitions, c.ReplicationFactor, w.settings, w.name)
	switch {
	case err == nil:
		log.Info("created a topic", "topic", w.name, "partitions", w.partitions,
			"replication_factor", c.ReplicationFactor)
		return w.await(ctx, admin)
	case errors.Is(err, kerr.TopicAlreadyExists):
		return w.check(ctx, admin, log)
	case errors.Is(err, kerr.InvalidReplicationFactor):
		return fmt.Errorf("stream: Kafka has fewer brokers than replication_factor, %d, asks for: "+
			"start more or lower it: %w", c.ReplicationFactor, err)
	case errors.As(err, new(*certs.Error)):
		return fmt.Errorf("stream: %w", err)
	}
	return fmt.Errorf("stream: cannot make topic %s on %s: check that Kafka runs there and lets us "+
		"create topics: %w", w.name, strings.Join(c.Brokers, ","), err)
}

func (c Config) topicSettings() map[string]*string {
	return map[string]*string{
		"cleanup.policy":      kadm.StringPtr("delete"),
		"retention.ms":        kadm.StringPtr(strconv.FormatInt(c.Retention.Milliseconds(), 10)),
		"max.message.bytes":   kadm.StringPtr(strconv.Itoa(int(c.MaxMessageBytes))),
		"min.insync.replicas": kadm.StringPtr(strconv.Itoa(int(c.MinInsyncReplicas))),
		// Frames are compressed already; the broker must not spend CPU on them again.
		"compression.type": kadm.StringPtr("producer"),
		// Ingest stamps a record when it takes the frame, and walking back by time relies on it.
		"message.timestamp.type": kadm.StringPtr("CreateTime"),
	}
}

// await waits until all partitions of a new topic have a leader: creation is answered before that.
func (w *wantedTopic) await(ctx context.Context, admin *kadm.Client) error {
	for {
		topics, err := admin.ListTopics(ctx, w.name)
		if err == nil {
			ready := 0
			for _, p := range topics[w.name].Partitions {
				if p.Err == nil && p.Leader >= 0 {
					ready++
				}
			}
			if ready == int(w.partitions) {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("stream: topic %s was created, but its partitions have no leaders yet: %w",
				w.name, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// spreads bounds how long a new topic takes to be known to all brokers.
const spreads = 30 * time.Second

// check looks at a topic that is there. One that suits and only differs is logged and left alone.
func (w *wantedTopic) check(ctx context.Context, admin *kadm.Client, log *slog.Logger) error {
	have, err := settingsOf(ctx, admin, w.name)
	// A topic that another process is making is there before each broker knows it.
	for deadline := time.Now().Add(spreads); errors.Is(err, kerr.UnknownTopicOrPartition) &&
		time.Now().Before(deadline) && ctx.Err() == nil; have, err = settingsOf(ctx, admin, w.name) {
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
	for name, want := range w.settings {
		if name != "max.message.bytes" && have[name] != *want {
			log.Warn("the topic differs from the configuration; change one of them", "topic", w.name,
				"setting", name, "topic_has", have[name], "configured", *want)
		}
	}
	return nil
}

// suits checks the settings of the topic of frames.
func (c Config) suits(have map[string]string) error {
	var errs []error
	limit, err := strconv.Atoi(have["max.message.bytes"])
	if err != nil || limit < int(c.MaxMessageBytes) {
		errs = append(errs, fmt.Errorf("%w: %s takes messages of %s bytes and frames need %d: set its "+
			"max.message.bytes to %[4]d, or lower max_message_bytes and ingest's max_frame_bytes",
			ErrTopic, c.Topic, have["max.message.bytes"], c.MaxMessageBytes))
	}
	if policy := have["cleanup.policy"]; policy != "delete" {
		errs = append(errs, fmt.Errorf("%w: %s has cleanup.policy %s, which would drop all but a "+
			"cluster's last frame: set it to delete", ErrTopic, c.Topic, policy))
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
