package engines

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestKafka(t *testing.T) {
	broker := MustKafka(t)
	producer, err := kgo.NewClient(kgo.SeedBrokers(broker.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	if _, err := kadm.NewClient(producer).CreateTopic(t.Context(), 2, 1, nil, "lines"); err != nil {
		t.Fatal(err)
	}
	if err := producer.ProduceSync(t.Context(), &kgo.Record{Topic: "lines", Value: []byte("kept")}).
		FirstErr(); err != nil {
		t.Fatal(err)
	}
	producer.Close()
	consumeOne(t, broker.Addr(), "lines", "kept")

	t.Run("port taken", func(t *testing.T) {
		_, err := StartKafka(t.Context(), KafkaConfig{Dir: t.TempDir(), Port: broker.Port})
		if !errors.Is(err, ErrPortTaken) {
			t.Errorf("the error is not ErrPortTaken")
		}
		oneSentence(t, err, itoa(broker.Port), "Kafka needs it")
	})

	pid := broker.Pid()
	if err := broker.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	gone(t, pid)
	if err := broker.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	consumeOne(t, broker.Addr(), "lines", "kept")

	// As after a crash, and on the same directory by a new Start.
	if err := broker.Kill(); err != nil {
		t.Fatal(err)
	}
	again := MustKafka(t, func(c *KafkaConfig) {
		c.Dir, c.Port, c.ControllerPort = broker.Dir, broker.Port, broker.ControllerPort
	})
	consumeOne(t, again.Addr(), "lines", "kept")
}

func consumeOne(t *testing.T, addr, topic, want string) {
	t.Helper()
	consumer, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()
	fetches := consumer.PollRecords(t.Context(), 1)
	if err := fetches.Err(); err != nil {
		t.Fatal(err)
	}
	if got := string(fetches.Records()[0].Value); got != want {
		t.Errorf("the record is %q, want %q", got, want)
	}
}

func TestKafkaThatCannotStart(t *testing.T) {
	Needed(t, "Kafka")
	_, err := StartKafka(t.Context(),
		KafkaConfig{Dir: t.TempDir(), Extra: map[string]string{"num.io.threads": "many"}})
	oneSentence(t, err, "num.io.threads")
	_, err = StartKafka(t.Context(), KafkaConfig{Dir: t.TempDir(), Join: &Kafka{}, NodeID: 1})
	oneSentence(t, err, "NodeID from 2 on")
}
