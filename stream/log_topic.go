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
)

// EnsureLog makes the topic of a Log, compacted and, if it has a retention, also deleted; or it
// checks the one there is. Several processes may do so at once. A topic that would forget the last
// entry of a key is an ErrTopic; one that only differs is logged and left alone.
func EnsureLog(ctx context.Context, c Config, l LogConfig, log *slog.Logger) error {
	if err := errors.Join(c.Validate(), l.Validate()); err != nil {
		return err
	}
	return c.ensure(ctx, wantedTopic{name: l.Topic, partitions: l.Partitions,
		settings: l.topicSettings(c), suits: l.suits}, log)
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

// suits checks the settings of the log's topic.
func (l LogConfig) suits(have map[string]string) error {
	var errs []error
	limit, err := strconv.Atoi(have["max.message.bytes"])
	if err != nil || limit < int(l.MaxEntryBytes) {
		errs = append(errs, fmt.Errorf("%w: %s takes messages of %s bytes and entries need %d: "+
			"set its max.message.bytes to %[4]d, or lower max_entry_bytes", ErrTopic, l.Topic,
			have["max.message.bytes"], l.MaxEntryBytes+logOverhead))
	}
	if policy := have["cleanup.policy"]; !strings.Contains(policy, "compact") {
		errs = append(errs, fmt.Errorf("%w: %s has cleanup.policy %s, which forgets the last entry "+
			"of a key: set it to %s", ErrTopic, l.Topic, policy, *l.topicSettings(Config{})["cleanup.policy"]))
	}
	return errors.Join(errs...)
}
