package stream

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestValidate(t *testing.T) {
	if err := DefaultConfig().Validate(); err != nil {
		t.Error(err)
	}
	if err := DefaultConsumerConfig("frames", "g").Validate(); err != nil {
		t.Error(err)
	}
	err := errors.Join(Config{}.Validate(), ConsumerConfig{}.Validate())
	for _, want := range []string{"topic", "partitions", "retention", "max_message_bytes",
		"publish_timeout",
		"group", "session_timeout", "handle_timeout", "tick_every", "commit_every", "max_backoff",
		"max_fetch_bytes", "max_records"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
}

func TestLogConfig(t *testing.T) {
	if err := DefaultLogConfig("ringwatch.alerts").Validate(); err != nil {
		t.Error(err)
	}
	err := LogConfig{Topic: "a b", Retention: time.Second}.Validate()
	for _, want := range []string{"topic", "partitions", "retention", "max_entry_bytes"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
	if Retryable(fmt.Errorf("%w: too large", ErrEntry)) || !errors.Is(ErrEntry, ErrLog) {
		t.Error("an entry that is never published is tried again")
	}
}

// TestBecause: a cause is found, and the engine's own error and words stay.
func TestBecause(t *testing.T) {
	own := errors.New("the engine's words")
	err := fmt.Errorf("%w: %w", ErrPublish, Because(own, ErrRefused))
	if !errors.Is(err, ErrRefused) || !errors.Is(err, own) || Retryable(err) ||
		!strings.HasSuffix(err.Error(), own.Error()) {
		t.Errorf("%v", err)
	}
	if Retryable(nil) || !Retryable(own) {
		t.Error("Retryable takes nil for an error, or refuses what it does not know")
	}
}
