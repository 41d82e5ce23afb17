package kafka

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/stream/streamtest"
)

func TestEnsureTopic(t *testing.T) {
	k := mustKafka(t, engines.SharedKafka(t))
	c := streamtest.Config(t)
	c.Retention = 5 * time.Hour
	var wg sync.WaitGroup
	for range 4 { // several processes start at once
		wg.Go(func() {
			if err := stream.EnsureTopic(t.Context(), k, c); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	admin := kadm.NewClient(mustClient(t, k))
	topics, err := admin.ListTopics(t.Context(), c.Topic)
	if err != nil || len(topics[c.Topic].Partitions) != 4 ||
		topics[c.Topic].Partitions.NumReplicas() != 1 {
		t.Errorf("%v, %v", topics, err)
	}
	resources, err := admin.DescribeTopicConfigs(t.Context(), c.Topic)
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]string{}
	for _, s := range resources[0].Configs {
		have[s.Key] = s.MaybeValue()
	}
	for name, want := range map[string]string{"retention.ms": "18000000",
		"max.message.bytes": "17825792", "cleanup.policy": "delete", "min.insync.replicas": "1",
		"compression.type": "producer"} {
		if have[name] != want {
			t.Errorf("%s is %s, want %s", name, have[name], want)
		}
	}
	c.MaxMessageBytes = 20 << 20
	if err := stream.EnsureTopic(t.Context(), k, c); !errors.Is(err, stream.ErrTopic) ||
		!strings.Contains(err.Error(), "17825792") ||
		!strings.Contains(err.Error(), "max.message.bytes to 20971520") {
		t.Errorf("a smaller limit: %v", err)
	}
	c.MaxMessageBytes, c.Retention = 1<<20, time.Hour
	if err := stream.EnsureTopic(t.Context(), k, c); err != nil {
		t.Errorf("a topic that someone tuned: %v", err)
	}
	c.Topic += ".compacted"
	if _, err := admin.CreateTopic(t.Context(), 1, 1,
		map[string]*string{"cleanup.policy": kadm.StringPtr("compact"),
			"max.message.bytes": kadm.StringPtr("2000000")}, c.Topic); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "the broker knows the compacted topic", func() bool {
		err = stream.EnsureTopic(t.Context(), k, c)
		return !errors.Is(err, kerr.UnknownTopicOrPartition)
	})
	if !errors.Is(err, stream.ErrTopic) || !strings.Contains(err.Error(), "cleanup.policy") {
		t.Errorf("a compacted topic: %v", err)
	}
	c.Topic, k.config.ReplicationFactor = c.Topic+".three", 3
	if err := stream.EnsureTopic(t.Context(), k,
		c); !errors.Is(err, kerr.InvalidReplicationFactor) ||
		!strings.Contains(err.Error(), "fewer brokers") {
		t.Errorf("too few brokers: %v", err)
	}
}

// TestLogTopic: it is made compacted, and one that forgets is refused.
func TestLogTopic(t *testing.T) {
	k := mustKafka(t, engines.SharedKafka(t))
	c := streamtest.Config(t)
	l := stream.DefaultLogConfig(c.Topic + ".log")
	l.Partitions = 2
	for range 2 {
		if err := stream.EnsureLog(t.Context(), k, c, l); err != nil {
			t.Fatal(err)
		}
	}
	admin := kadm.NewClient(mustClient(t, k))
	have, err := settingsOf(t.Context(), admin, l.Topic)
	if err != nil || have["cleanup.policy"] != "compact,delete" ||
		have["retention.ms"] != "7776000000" {
		t.Errorf("%v %v", have, err)
	}
	forever := l
	forever.Topic, forever.Retention = c.Topic+".forever", 0
	if err := stream.EnsureLog(t.Context(), k, c, forever); err != nil {
		t.Fatal(err)
	}
	if have, err := settingsOf(t.Context(), admin, forever.Topic); err != nil ||
		have["cleanup.policy"] != "compact" {
		t.Errorf("%v %v", have, err)
	}
	streamtest.MustTopic(t, k, c)
	l.Topic = c.Topic // of frames
	if err := stream.EnsureLog(t.Context(), k, c, l); !errors.Is(err, stream.ErrTopic) ||
		!strings.Contains(err.Error(), "cleanup.policy delete") {
		t.Errorf("a topic that forgets: %v", err)
	}
}

// TestLengthen: a log's topic that forgets earlier than a new one would is given the retention of a
// new one if its log says so; all else, and a longer one, is left as somebody set it.
func TestLengthen(t *testing.T) {
	k := mustKafka(t, engines.SharedKafka(t))
	c := streamtest.Config(t)
	admin := kadm.NewClient(mustClient(t, k))
	l := stream.DefaultLogConfig(c.Topic + ".log")
	l.Partitions, l.Retention = 1, 15*24*time.Hour
	made := map[string]*string{"retention.ms": kadm.StringPtr("3600000"),
		"cleanup.policy": kadm.StringPtr("compact,delete"),
		"segment.ms":     kadm.StringPtr("1200000"), "max.message.bytes": kadm.StringPtr("2000000")}
	if _, err := admin.CreateTopic(t.Context(), 1, 1, made, l.Topic); err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct {
		lengthen  bool
		retention time.Duration
		want      string
	}{{false, 15 * 24 * time.Hour, "3600000"}, {true, 15 * 24 * time.Hour, "1296000000"},
		{true, time.Hour, "1296000000"}} {
		l.Lengthen, l.Retention = of.lengthen, of.retention
		if err := stream.EnsureLog(t.Context(), k, c, l); err != nil {
			t.Fatal(err)
		}
		var have map[string]string
		eventually.True(t, "the broker knows the retention", func() bool {
			var err error
			have, err = settingsOf(t.Context(), admin, l.Topic)
			return err == nil && have["retention.ms"] == of.want
		})
		if have["segment.ms"] != "1200000" || have["max.message.bytes"] != "2000000" ||
			have["cleanup.policy"] != "compact,delete" {
			t.Errorf("%v", have)
		}
	}
}

// TestForgetsEarly: which retentions are lengthened.
func TestForgetsEarly(t *testing.T) {
	for _, c := range []struct {
		lengthen bool
		has      string
		wanted   time.Duration
		want     bool
	}{
		{true, "3600000", 15 * 24 * time.Hour, true},
		{false, "3600000", 15 * 24 * time.Hour, false},
		{true, "1296000000", 15 * 24 * time.Hour, false}, {true, "-1", 15 * 24 * time.Hour, false},
		{true, "9223372036854775807", 15 * 24 * time.Hour, false}, {true, "", time.Hour, false},
		{true, "3600000", 0, false},
	} {
		w := wantedTopic{Topic: stream.Topic{Retention: c.wanted, Lengthen: c.lengthen}}
		if got := w.forgetsEarly(map[string]string{retention: c.has}); got != c.want {
			t.Errorf("of %q to %s (%v): %v", c.has, c.wanted, c.lengthen, got)
		}
	}
}
