package kafka

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
)

// replicated are settings for three brokers.
func replicated(c *engines.KafkaConfig) {
	c.Heap = "256M"
	c.Extra = map[string]string{"offsets.topic.replication.factor": "3",
		"auto.leader.rebalance.enable": "false", "log.retention.check.interval.ms": "1000"}
}

func mustClient(t testing.TB, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(addr),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func mustCreate(t testing.TB, admin *kadm.Client, partitions int32, replicas int16,
	topic string) {
	t.Helper()
	eventually.Nil(t, "the topic "+topic+" is made", func() error {
		made, err := admin.CreateTopic(t.Context(), partitions, replicas, nil, topic)
		if err != nil {
			return err
		}
		return made.Err
	})
}

func mustProduce(t testing.TB, client *kgo.Client, topic string, partition int32, n int) {
	t.Helper()
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = &kgo.Record{Topic: topic, Partition: partition, Value: []byte("v")}
	}
	if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func mustCommit(t testing.TB, admin *kadm.Client, group, topic string, at map[int32]int64) {
	t.Helper()
	var offsets kadm.Offsets
	for partition, offset := range at {
		offsets.AddOffset(topic, partition, offset, -1)
	}
	eventually.Nil(t, "the offsets of "+group+" are committed", func() error {
		done, err := admin.CommitOffsets(t.Context(), group, offsets)
		if err != nil {
			return err
		}
		return done.Error()
	})
}

// TestCluster compares a reading of three brokers with what franz-go's admin client says, and then
// kills a broker.
func TestCluster(t *testing.T) {
	brokers := engines.MustKafkas(t, 3, replicated)
	client := mustClient(t, brokers[0].Addr())
	admin := kadm.NewClient(client)
	mustCreate(t, admin, 6, 3, "orders")
	mustCreate(t, admin, 3, 1, "alone")
	for p := range int32(6) {
		mustProduce(t, client, "orders", p, 10*int(p+1))
	}
	for p := range int32(3) {
		mustProduce(t, client, "alone", p, 5)
	}
	mustCommit(t, admin, "billing", "orders", map[int32]int64{0: 10, 1: 15, 2: 30, 5: 1})
	mustCommit(t, admin, "billing", "alone", map[int32]int64{0: 5, 1: 5, 2: 5})
	member := mustClient(t, brokers[1].Addr(), kgo.ConsumerGroup("shipping"),
		kgo.ConsumeTopics("orders"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	for read := 0; read < 210; {
		fetches := member.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		read += fetches.NumRecords()
	}
	if err := member.CommitUncommittedOffsets(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := mustNew(t, testConfig(brokers[2].Addr()), nil)
	v := mustRead(t, r)

	ends, err := admin.ListEndOffsets(t.Context(), "orders", "alone")
	if err != nil {
		t.Fatal(err)
	}
	lags, err := admin.Lag(t.Context(), "billing", "shipping")
	if err != nil {
		t.Fatal(err)
	}
	topics, err := admin.ListTopicsWithInternal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	partitions, leaders, replicas := 0, map[int32]int{}, map[int32]int{}
	topics.EachPartition(func(p kadm.PartitionDetail) {
		key := fmt.Sprintf("%s/%d", p.Topic, p.Partition)
		partitions++
		leaders[p.Leader]++
		for _, id := range p.Replicas {
			replicas[id]++
		}
		v.want(t, "kafka_topic_partition_leader", key, float64(p.Leader))
		v.want(t, "kafka_topic_partition_replicas", key, float64(len(p.Replicas)))
		v.want(t, "kafka_topic_partition_in_sync_replica", key, float64(len(p.ISR)))
		v.want(t, "kafka_topic_partition_leader_is_preferred", key,
			float64(truth(p.Leader == p.Replicas[0])))
		v.want(t, "kafka_topic_partition_under_replicated_partition", key, 0)
	})
	v.want(t, "kafka_cluster_partitions", "", float64(partitions))
	v.want(t, "kafka_cluster_topics", "", float64(len(topics)))
	v.want(t, "kafka_brokers", "", 3)
	for _, metric := range []string{"offline_partitions", "under_replicated_partitions",
		"unanswered_brokers", "left_out_series", "unanswered_questions"} {
		v.want(t, "kafka_cluster_"+metric, "", 0)
	}
	v.want(t, "kafka_cluster_controllers", "", 1)
	v.want(t, "kafka_controller", "1", 1)
	v.want(t, "kafka_controller", "2", 0)
	v.want(t, "kafka_quorum_leader", "", 1)
	v.want(t, "kafka_quorum_voters", "", 1)
	v.want(t, "kafka_quorum_observers", "", 2)
	if lag, there := v["kafka_quorum_replica_lag"]["2/observer"]; !there || lag > 100 {
		t.Errorf("the lag of an observer is %v", v["kafka_quorum_replica_lag"])
	}
	for i, b := range brokers {
		id := number(i + 1)
		v.want(t, "kafka_broker_info", id+"/"+b.Addr(), 1)
		v.want(t, "kafka_broker_up", id, 1)
		v.want(t, "kafka_broker_leaders", id, float64(leaders[int32(i+1)]))
		v.want(t, "kafka_broker_replicas", id, float64(replicas[int32(i+1)]))
		skew := float64(leaders[int32(i+1)])/(float64(partitions)/3) - 1
		if got := v["kafka_broker_leader_skew"][id]; math.Abs(got-skew) > 1e-9 {
			t.Errorf("the skew of %s is %v, want %v", id, got, skew)
		}
	}
	ends.Each(func(o kadm.ListedOffset) {
		key := fmt.Sprintf("%s/%d", o.Topic, o.Partition)
		v.want(t, "kafka_topic_partition_current_offset", key, float64(o.Offset))
		v.want(t, "kafka_topic_partition_oldest_offset", key, 0)
	})
	v.want(t, "kafka_topic_current_offset_sum", "orders", 210)
	v.want(t, "kafka_topic_replication_factor", "orders", 3)
	lags.Each(func(g kadm.DescribedGroupLag) {
		var sum float64
		for topic, of := range g.Lag {
			for p, l := range of {
				key := fmt.Sprintf("%s/%s/%d", g.Group, topic, p)
				if l.Commit.At < 0 {
					continue
				}
				v.want(t, "kafka_consumergroup_lag", key, float64(l.Lag))
				v.want(t, "kafka_consumergroup_current_offset", key, float64(l.Commit.At))
				sum += float64(l.Lag)
			}
		}
		v.want(t, "kafka_consumergroup_group_lag", g.Group, sum)
		v.want(t, "kafka_consumergroup_state", g.Group+"/"+g.State, 1)
		v.want(t, "kafka_consumergroup_members", g.Group, float64(len(g.Members)))
	})
	v.want(t, "kafka_consumergroup_lag_sum", "billing/orders", 5+59)
	v.want(t, "kafka_consumergroup_lag_sum", "billing/alone", 0)
	v.want(t, "kafka_consumergroup_lag_seconds", "billing/alone", 0)
	v.want(t, "kafka_consumergroup_current_offset_sum", "billing/orders", 56)
	v.want(t, "kafka_consumergroup_topic_partitions", "billing/orders", 4)
	v.want(t, "kafka_consumergroup_lagging_partitions", "billing/orders", 2)
	v.want(t, "kafka_consumergroup_members", "shipping", 1)

	dirs, err := admin.DescribeAllLogDirs(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	dirs.Each(func(d kadm.DescribedLogDir) {
		size := int64(0)
		for topic, of := range d.Topics {
			byTopic := int64(0)
			for _, p := range of {
				byTopic += p.Size
			}
			size += byTopic
			if topic == "orders" || topic == "alone" {
				v.want(t, "kafka_broker_topic_log_size_bytes", fmt.Sprintf("%d/%s", d.Broker,
					topic), float64(byTopic))
			}
		}
		if v["kafka_broker_log_dir_usable_bytes"][fmt.Sprintf("%d/%s", d.Broker, d.Dir)] <= 0 {
			t.Errorf("no room on %d in %v", d.Broker, v["kafka_broker_log_dir_usable_bytes"])
		}
	})
	if facts := r.facts(); len(facts) != 2 || !strings.Contains(facts[1].Value, ".") {
		t.Errorf("the facts are %q", facts)
	}

	// The same again has the same rows, not copies.
	before, err := r.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	after, err := r.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	described(t, after)
	for i := range after.Tables {
		a, b := before.Tables[i], after.Tables[i]
		if len(a.Rows) > 3 && &a.Rows[0] != &b.Rows[0] && !strings.Contains(a.Type, "broker") {
			t.Errorf("the rows of %s are copied", a.Type)
		}
	}

	t.Run("a broker is killed", func(t *testing.T) { killed(t, brokers, admin, r) })
}

func killed(t *testing.T, brokers []*engines.Kafka, admin *kadm.Client, r *Reader) {
	var onIt float64
	topics, err := admin.ListTopicsWithInternal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var offline float64
	topics.EachPartition(func(p kadm.PartitionDetail) {
		for _, id := range p.Replicas {
			if id == 3 {
				onIt++
				offline += float64(truth(len(p.Replicas) == 1))
			}
		}
	})
	if offline == 0 || onIt <= offline {
		t.Fatalf("%v partitions are on broker 3, %v alone", onIt, offline)
	}
	if err := brokers[2].Kill(); err != nil {
		t.Fatal(err)
	}
	var v values
	eventually.True(t, "the loss of a broker is seen", func() bool {
		rd, err := r.Read(t.Context())
		if rd == nil {
			t.Log(err)
			return false
		}
		v = valuesOf(t, rd)
		return v["kafka_cluster_under_replicated_partitions"][""] == onIt &&
			v["kafka_cluster_offline_partitions"][""] == offline && v["kafka_brokers"][""] == 2
	})
	v.want(t, "kafka_broker_up", "3", 0)
	v.want(t, "kafka_broker_up", "2", 1)
	v.want(t, "kafka_broker_leaders", "3", 0)
	v.want(t, "kafka_broker_replicas", "3", onIt)
	v.want(t, "kafka_broker_out_of_sync_replicas", "3", onIt)
	v.want(t, "kafka_cluster_unanswered_brokers", "", 1)
	v.want(t, "kafka_topic_under_replicated_partitions", "orders", 6)
	v.want(t, "kafka_topic_offline_partitions", "alone", offline)
	if sum, there := v["kafka_topic_current_offset_sum"]["alone"]; there {
		t.Errorf("a sum that lacks a partition is %v", sum)
	}
	eventually.True(t, "the groups have other coordinators", func() bool {
		rd, err := r.Read(t.Context())
		if err != nil {
			t.Log(err)
			return false
		}
		v = valuesOf(t, rd)
		return len(v["kafka_consumergroup_lag_sum"]) >= 2
	})
	v.want(t, "kafka_consumergroup_lag_sum", "billing/orders", 5+59)

	if err := brokers[2].Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "the broker is back, and leads nothing that another took over",
		func() bool {
			rd, err := r.Read(t.Context())
			if err != nil {
				t.Log(err)
				return false
			}
			v = valuesOf(t, rd)
			return v["kafka_cluster_under_replicated_partitions"][""] == 0 &&
				v["kafka_cluster_offline_partitions"][""] == 0
		})
	if v["kafka_cluster_not_preferred_leader_partitions"][""] == 0 {
		t.Error("after an election all leaders are preferred")
	}
	v.want(t, "kafka_broker_up", "3", 1)
	if _, err := admin.ElectLeaders(t.Context(), kadm.ElectPreferredReplica, nil); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "the preferred leaders lead", func() bool {
		rd, err := r.Read(t.Context())
		return err == nil &&
			valuesOf(t, rd)["kafka_cluster_not_preferred_leader_partitions"][""] == 0
	})
}

// TestStallAndBurst tells a group that stands still from one that has much to do at once. The clock
// is the test's: a reading is 20 s after the one before.
func TestStallAndBurst(t *testing.T) {
	broker := engines.SharedKafka(t)
	client := mustClient(t, broker.Addr())
	admin := kadm.NewClient(client)
	// The broker is shared, with an earlier run of this test, too.
	stall := fmt.Sprint("stall-", time.Now().UnixNano())
	stalled, busy := "stalled-"+stall, "busy-"+stall
	mustCreate(t, admin, 2, 1, stall)
	now := time.Unix(1_700_000_000, 0)
	c := testConfig(broker.Addr())
	c.Topics.Include, c.Groups.Include = stall, stalled+"|"+busy
	r := mustNew(t, c, func() time.Time { return now })
	read := func() values {
		now = now.Add(20 * time.Second)
		return mustRead(t, r)
	}
	var v values
	for i := range 10 { // both read along
		mustProduce(t, client, stall, 0, 100)
		mustCommit(t, admin, stalled, stall, map[int32]int64{0: int64(100 * (i + 1)), 1: 0})
		mustCommit(t, admin, busy, stall, map[int32]int64{0: int64(100 * (i + 1))})
		v = read()
	}
	v.want(t, "kafka_consumergroup_lag_seconds", stalled+"/"+stall, 0)
	v.want(t, "kafka_consumergroup_last_commit_timestamp_seconds", stalled+"/"+stall,
		float64(now.Unix()))
	committed := float64(now.Unix())
	for i := 10; i < 20; i++ { // one stands still, the other reads along half a step behind
		mustProduce(t, client, stall, 0, 100)
		mustCommit(t, admin, busy, stall, map[int32]int64{0: int64(100*i + 50)})
		v = read()
		v.want(t, "kafka_consumergroup_lag_seconds", stalled+"/"+stall, float64(20*(i-9)))
		v.want(t, "kafka_consumergroup_lag_seconds", busy+"/"+stall, 10)
	}
	v.want(t, "kafka_consumergroup_last_commit_timestamp_seconds", stalled+"/"+stall, committed)
	v.want(t, "kafka_consumergroup_lag_sum", stalled+"/"+stall, 1000)
	mustProduce(t, client, stall, 0, 20_000) // a burst
	v = read()
	v.want(t, "kafka_consumergroup_lag", busy+"/"+stall+"/0", 20_050)
	if got := v["kafka_consumergroup_lag_seconds"][busy+"/"+stall]; got > 31 {
		t.Errorf("a burst is %v s", got)
	}
	v.want(t, "kafka_consumergroup_lag_seconds", stalled+"/"+stall, 220)
	v.want(t, "kafka_consumergroup_partition_lag_seconds", stalled+"/"+stall+"/1", 0)
	v.want(t, "kafka_consumergroup_beyond_history_partitions", stalled+"/"+stall, 0)
	mustCommit(t, admin, busy, stall, map[int32]int64{0: 50})
	v = read() // who goes back before all that was seen
	v.want(t, "kafka_consumergroup_beyond_history_partitions", busy+"/"+stall, 1)
	v.want(t, "kafka_consumergroup_lag_seconds", busy+"/"+stall, 21*20)
	v.want(t, "kafka_cluster_max_lag_seconds", "", 21*20)

	// A topic that is made anew begins anew.
	if _, err := admin.DeleteTopics(t.Context(), stall); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "the topic is gone", func() bool {
		rd, err := r.Read(context.WithoutCancel(t.Context()))
		return err == nil && valuesOf(t, rd)["kafka_cluster_topics"][""] == 0
	})
	mustCreate(t, admin, 2, 1, stall)
	mustProduce(t, mustClient(t, broker.Addr()), stall, 0, 3) // the other knows the old one
	mustCommit(t, admin, busy, stall, map[int32]int64{0: 1})
	v = read()
	v.want(t, "kafka_consumergroup_lag_sum", busy+"/"+stall, 2)
	if got := v["kafka_consumergroup_lag_seconds"][busy+"/"+stall]; got > 20 {
		t.Errorf("a new topic is %v s behind", got)
	}
}

// TestDeletedAndBeyond: what retention has deleted is not waited for, and who has committed what
// the log does not have is told of.
func TestDeletedAndBeyond(t *testing.T) {
	broker := engines.SharedKafka(t)
	client := mustClient(t, broker.Addr())
	admin := kadm.NewClient(client)
	topic := fmt.Sprint("kept-", time.Now().UnixNano())
	slow, fast := "slow-"+topic, "fast-"+topic
	mustCreate(t, admin, 1, 1, topic)
	now := time.Unix(1_700_000_000, 0)
	c := testConfig(broker.Addr())
	c.Topics.Include, c.Groups.Include = topic, slow+"|"+fast
	r := mustNew(t, c, func() time.Time { return now })
	read := func() values {
		now = now.Add(20 * time.Second)
		return mustRead(t, r)
	}
	keepFrom := func(oldest int64) {
		of := kadm.Offsets{}
		of.Add(kadm.Offset{Topic: topic, At: oldest})
		done, err := admin.DeleteRecords(t.Context(), of)
		if err == nil {
			err = done.Error()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	is := func(v values, group string, lag, seconds, lost, ahead float64) {
		t.Helper()
		of := group + "/" + topic
		v.want(t, "kafka_consumergroup_lag", of+"/0", lag)
		v.want(t, "kafka_consumergroup_lag_sum", of, lag)
		v.want(t, "kafka_consumergroup_lag_seconds", of, seconds)
		v.want(t, "kafka_consumergroup_lost_partitions", of, lost)
		v.want(t, "kafka_consumergroup_ahead_partitions", of, ahead)
	}
	read()
	mustProduce(t, client, topic, 0, 23)
	mustCommit(t, admin, slow, topic, map[int32]int64{0: 5})
	mustCommit(t, admin, fast, topic, map[int32]int64{0: 23})
	read()
	keepFrom(20)
	is(read(), slow, 3, 22.609, 1, 0) // 20/23 of the second interval before now
	keepFrom(23)
	v := read()
	is(v, slow, 0, 0, 1, 0)
	is(v, fast, 0, 0, 0, 0)
	for i := range 3 { // it is beyond the end that was read before it, and goes on
		mustCommit(t, admin, fast, topic, map[int32]int64{0: int64(30 + i)})
		is(read(), fast, 0, 0, 0, 0)
	}
	is(read(), fast, 0, 0, 0, 1)
	mustProduce(t, client, topic, 0, 10)
	v = read()
	is(v, fast, 1, 20*.1, 0, 0)
	v.want(t, "kafka_consumergroup_lag_sum", slow+"/"+topic, 10)
}

// TestNobodyAnswers wants a sentence, within the timeout.
func TestNobodyAnswers(t *testing.T) {
	c := testConfig("127.0.0.1:1")
	c.Timeout = time.Second
	r := mustNew(t, c, nil)
	began := time.Now()
	rd, err := r.Read(t.Context())
	if rd != nil || err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") ||
		!strings.Contains(err.Error(), "check that Kafka runs there") {
		t.Errorf("%v", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}
