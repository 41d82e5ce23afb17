package stream

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Config says what the topic of frames is like, and how frames are published.
type Config struct {
	Topic string `yaml:"topic"`

	// These say how EnsureTopic makes the topic.
	// an upper bound for useful consumers of a group; 16 is room for a fleet of 10,000 nodes
	Partitions int32 `yaml:"partitions"`
	// how far a consumer can be stopped, rebuilt or walked back
	Retention time.Duration `yaml:"retention"`
	// the largest frame (16 MiB) and Kafka's own bytes around it
	MaxMessageBytes int32 `yaml:"max_message_bytes"`

	// within which Publish answers; shorter than an agent's patience, at least 1 s
	PublishTimeout time.Duration `yaml:"publish_timeout"`
	// of frames waiting for the engine; beyond it Publish fails at once
	MaxBufferedBytes int `yaml:"max_buffered_bytes"`
}

// DefaultConfig is for a fleet of up to 10,000 nodes.
func DefaultConfig() Config {
	return Config{
		Topic:            "ringwatch.frames",
		Partitions:       16,
		Retention:        24 * time.Hour,
		MaxMessageBytes:  17 << 20,
		PublishTimeout:   5 * time.Second,
		MaxBufferedBytes: 256 << 20,
	}
}

var topicPattern = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// Validate reports everything that is wrong at once.
func (c Config) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("stream: "+format, args...))
		}
	}
	check(isTopic(c.Topic), "topic %q: use 1 to 249 of a-z, A-Z, 0-9, '.', '_' and '-'", c.Topic)
	check(c.Partitions >= 1 && c.Partitions <= 10_000, "partitions is %d: use 1 to 10000",
		c.Partitions)
	check(c.Retention >= time.Hour, "retention is %s: use at least 1h, so that a consumer can be "+
		"restarted", c.Retention)
	check(c.MaxMessageBytes >= 64<<10 && c.MaxMessageBytes <= 64<<20,
		"max_message_bytes is %d: use 65536 to 67108864", c.MaxMessageBytes)
	check(c.PublishTimeout >= time.Second, "publish_timeout is %s: use at least 1s",
		c.PublishTimeout)
	check(c.MaxBufferedBytes >= int(c.MaxMessageBytes),
		"max_buffered_bytes is %d: use at least max_message_bytes, %d", c.MaxBufferedBytes,
		c.MaxMessageBytes)
	return errors.Join(errs...)
}

func isTopic(name string) bool {
	return topicPattern.MatchString(name) && strings.Trim(name, ".") != ""
}

// topic is the topic of frames in the engine's words.
func (c Config) topic() Topic {
	return Topic{
		Name: c.Topic, Partitions: c.Partitions, Retention: c.Retention,
		MaxMessageBytes: c.MaxMessageBytes, Timeout: c.PublishTimeout, GiveUp: true,
		MaxBufferedBytes: c.MaxBufferedBytes, Partition: partitionOfKey,
	}
}
