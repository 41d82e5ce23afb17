package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/stream/kafka"
)

func TestAlertJSON(t *testing.T) {
	a := resolved("a", 1, 2)
	a.Value = Value(math.Inf(1))
	a.ActiveAt, a.StartsAt, a.EndsAt = at(0).UTC(), at(1).UTC(), at(2).UTC()
	e, err := EntryOf(&a)
	if err != nil {
		t.Fatal(err)
	}
	b, err := AlertOf(e)
	if err != nil || !reflect.DeepEqual(a, b) || a.Identity() != b.Identity() {
		t.Errorf("%s: %v\n%+v\n%+v", e.Value, err, a, b)
	}
	var fields map[string]any
	if err := json.Unmarshal(e.Value, &fields); err != nil || fields["value"] != "+Inf" ||
		fields["validUntil"] != nil {
		t.Errorf("%s", e.Value)
	}
	for _, text := range []string{"", "{", "{}", `{"state":"pending"}`, `{"state":1}`} {
		if _, err := AlertOf(stream.Entry{Value: []byte(text)}); err == nil {
			t.Errorf("%q is an alert", text)
		}
	}
	other := a
	other.Account = "zeta"
	if again := firing("a", 3); a.Identity() == again.Identity() ||
		a.Identity() == other.Identity() {
		t.Error("two firings have one identity")
	}
}

// TestTopic: each change once on a real Kafka, and a second life that has read the topic adds only
// what is new.
func TestTopic(t *testing.T) {
	broker := kafka.DefaultConfig()
	broker.Brokers = []string{engines.SharedKafka(t).Addr()}
	k, err := kafka.New(broker, quiet)
	if err != nil {
		t.Fatal(err)
	}
	c := stream.DefaultConfig()
	c.PublishTimeout = time.Minute
	config := testConfig()
	config.Topic.Topic = fmt.Sprintf("%s.%d", t.Name(), time.Now().UnixNano())
	config.Topic.Partitions = 4
	if err := stream.EnsureLog(t.Context(), k, c, config.Topic); err != nil {
		t.Fatal(err)
	}
	log, err := stream.NewLog(k, c, config.Topic, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(log.Close)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	n, _, stop := mustNotifier(t, config, Deps{Publish: log.Publish})
	n.Send(ctx, []Alert{firing("a", 1), firing("a", 1), firing("b", 1)})
	n.Send(ctx, []Alert{resolved("a", 1, 2), firing("b", 1)})
	stop() // it flushes

	last, from, err := log.Last(ctx, []int32{stream.PartitionOf("acme", "prod", 4)})
	if err != nil || len(last) != 2 {
		t.Fatalf("%v %v", last, err)
	}
	var restored []Alert
	states := map[string]State{}
	for _, e := range last {
		a, err := AlertOf(e)
		if err != nil {
			t.Fatal(err)
		}
		restored = append(restored, a)
		states[a.Labels.Get("alertname")] = a.State
	}
	if states["a"] != Resolved || states["b"] != Firing {
		t.Errorf("%v", states)
	}
	n, _, stop = mustNotifier(t, config, Deps{Publish: log.Publish})
	n.Restore(restored)
	n.Send(ctx, []Alert{resolved("a", 1, 2), firing("b", 1), firing("c", 3), resolved("b", 1, 4)})
	stop()
	_, to, err := log.Last(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	var added []string
	for p := range from { // Read puts a mark behind the entries, which is none
		if _, err := log.Read(ctx, []int32{p}, func(e stream.Entry) error {
			if a, err := AlertOf(e); err == nil && e.Offset >= from[p] {
				added = append(added, word(&a))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(added) != "[c firing b resolved]" || len(to) != 4 {
		t.Errorf("the second life added %q", added)
	}
}
