package kafka

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringwatch/ringwatch/watch/reading"
)

// liar is a cluster that says whatever a test wants, where no real broker would.
type liar struct {
	metadata *kmsg.MetadataResponse
	ends     func(broker int32) *kmsg.ListOffsetsResponse // nil: each log is from 0 to 100
	groups   map[int32][]string
	offsets  *kmsg.OffsetFetchResponse
	dirs     *kmsg.DescribeLogDirsResponse
	quorum   *kmsg.DescribeQuorumResponse
	raw      bool                         // offsets, whatever was asked for
	members  *kmsg.DescribeGroupsResponse // nil: each group asked for has none
	silent   map[int32]bool
	other    bool // answers another question than was asked
}

func (l *liar) any(ctx context.Context, r kmsg.Request) (kmsg.Response, error) {
	return l.one(ctx, 1, r)
}

func (l *liar) one(ctx context.Context, id int32, r kmsg.Request) (kmsg.Response, error) {
	if l.silent[id] {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	switch r.(type) {
	case *kmsg.MetadataRequest:
		return l.metadata, nil
	case *kmsg.ApiVersionsRequest:
		v := kmsg.NewPtrApiVersionsResponse()
		v.ApiKeys = []kmsg.ApiVersionsResponseApiKey{{ApiKey: 55}}
		return v, nil
	}
	if l.other {
		return kmsg.NewPtrHeartbeatResponse(), nil
	}
	switch r := r.(type) {
	case *kmsg.ListOffsetsRequest:
		if l.ends != nil {
			return l.ends(id), nil
		}
		answer := kmsg.NewPtrListOffsetsResponse()
		for _, t := range r.Topics {
			of := kmsg.NewListOffsetsResponseTopic()
			of.Topic = t.Topic
			for _, p := range t.Partitions {
				one := kmsg.NewListOffsetsResponseTopicPartition()
				one.Partition, one.Offset = p.Partition, 0
				if p.Timestamp == -1 {
					one.Offset = 100
				}
				of.Partitions = append(of.Partitions, one)
			}
			answer.Topics = append(answer.Topics, of)
		}
		return answer, nil
	case *kmsg.ListGroupsRequest:
		answer := kmsg.NewPtrListGroupsResponse()
		for _, g := range l.groups[id] {
			one := kmsg.NewListGroupsResponseGroup()
			one.Group, one.GroupState = g, "Stable"
			answer.Groups = append(answer.Groups, one)
		}
		return answer, nil
	case *offsetsRequest:
		answer := kmsg.OffsetFetchResponse{Version: 9}
		for _, g := range r.Groups { // what it has of it, or nothing in it
			i := slices.IndexFunc(l.offsets.Groups, func(o kmsg.OffsetFetchResponseGroup) bool {
				return o.Group == g.Group
			})
			switch {
			case l.raw:
			case i >= 0:
				answer.Groups = append(answer.Groups, l.offsets.Groups[i])
			default:
				answer.Groups = append(answer.Groups, kmsg.OffsetFetchResponseGroup{Group: g.Group})
			}
		}
		if l.raw {
			answer.Groups = l.offsets.Groups
		}
		ours := &offsetsResponse{version: 9, topics: r.topics}
		return ours, ours.ReadFrom(answer.AppendTo(nil))
	case *kmsg.DescribeLogDirsRequest:
		return l.dirs, nil
	case *kmsg.DescribeQuorumRequest:
		return l.quorum, nil
	case *kmsg.DescribeGroupsRequest:
		if l.members != nil {
			return l.members, nil
		}
		answer := kmsg.NewPtrDescribeGroupsResponse()
		for _, g := range r.Groups {
			answer.Groups = append(answer.Groups, kmsg.DescribeGroupsResponseGroup{Group: g})
		}
		return answer, nil
	}
	return nil, fmt.Errorf("%T was not expected", r)
}

func str(s string) *string { return &s }

// metadataOf are two brokers' that lead a topic's partitions in turn.
func metadataOf(topic string, partitions int) *kmsg.MetadataResponse {
	m := kmsg.NewPtrMetadataResponse()
	m.Brokers = []kmsg.MetadataResponseBroker{{NodeID: 1, Host: "one", Port: 9},
		{NodeID: 2, Host: "two", Port: 9}}
	t := kmsg.NewMetadataResponseTopic()
	t.Topic = str(topic)
	for i := range partitions {
		t.Partitions = append(t.Partitions, kmsg.MetadataResponseTopicPartition{
			Partition: int32(i), Leader: int32(1 + i%2), Replicas: []int32{1, 2},
			ISR: []int32{1, 2}})
	}
	m.Topics = append(m.Topics, t)
	return m
}

func honest() *liar {
	l := &liar{metadata: metadataOf("orders", 4), groups: map[int32][]string{1: {"a"}, 2: {"b"}},
		offsets: kmsg.NewPtrOffsetFetchResponse(), dirs: kmsg.NewPtrDescribeLogDirsResponse(),
		quorum: kmsg.NewPtrDescribeQuorumResponse()}
	l.dirs.Dirs = []kmsg.DescribeLogDirsResponseDir{{Dir: "/data"}}
	l.quorum.Topics = []kmsg.DescribeQuorumResponseTopic{{
		Partitions: []kmsg.DescribeQuorumResponseTopicPartition{{LeaderID: 1}}}}
	return l
}

func (l *liar) reader(t testing.TB, change ...func(*Config)) *Reader {
	t.Helper()
	c := testConfig("one:9")
	c.Timeout = time.Second
	for _, f := range change {
		f(&c)
	}
	r, err := newReader(c, Deps{Log: quiet}, l, func() {})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// readAnyway reads what is there, and checks the form that each reading must have.
func readAnyway(t testing.TB, r *Reader) (values, *Partial) {
	t.Helper()
	rd, err := r.Read(t.Context())
	var p *Partial
	if rd == nil || err != nil && !errors.As(err, &p) {
		t.Fatalf("there is no reading: %v", err)
	}
	for i := range rd.Tables {
		seen := map[string]bool{}
		for _, row := range rd.Tables[i].Rows {
			key := strings.Join(row, "\x00")
			if seen[key] {
				t.Errorf("%s has two rows %q", rd.Tables[i].Type, row)
			}
			seen[key] = true
		}
	}
	if p == nil {
		p = &Partial{}
	}
	return valuesOf(t, rd), p
}

func offsetsOf(group string, topics ...kmsg.OffsetFetchResponseGroupTopic) kmsg.
	OffsetFetchResponseGroup {
	return kmsg.OffsetFetchResponseGroup{Group: group, Topics: topics}
}

func at(topic string, offset int64, partitions ...int32) kmsg.OffsetFetchResponseGroupTopic {
	t := kmsg.OffsetFetchResponseGroupTopic{Topic: topic}
	for _, p := range partitions {
		t.Partitions = append(t.Partitions, kmsg.OffsetFetchResponseGroupTopicPartition{
			Partition: p, Offset: offset, Metadata: str("x")})
	}
	return t
}

func TestLies(t *testing.T) {
	for name, c := range map[string]struct {
		lie  func(*liar)
		says []string // of the partial error; none: it is none
		// what must be right nevertheless: metric, labels, value
		metric, labels string
		want           float64
	}{
		"none": {func(*liar) {}, nil, "kafka_topic_current_offset_sum", "orders", 400},
		"half does not answer": {func(l *liar) { l.silent = map[int32]bool{2: true} },
			[]string{"brokers gave no ends of logs (2 at two:9): no answer within 1s",
				"brokers listed no groups (2 at two:9)"},
			"kafka_topic_partition_current_offset", "orders/2", 100},
		"half does not answer, counted": {func(l *liar) { l.silent = map[int32]bool{2: true} },
			[]string{"told no sizes"}, "kafka_cluster_unanswered_brokers", "", 1},
		"answers to other questions": {func(l *liar) { l.other = true },
			[]string{"to another question"}, "kafka_topic_partitions", "orders", 4},
		"partitions that cannot be": {func(l *liar) {
			p := l.metadata.Topics[0].Partitions
			p[1].Partition, p[2].Partition, p[3].Partition = -7, math.MaxInt32, 0
		}, []string{"topics have partitions that cannot be (3, such as orders): the " +
			"broker's answer"},
			"kafka_topic_partition_leader", "orders/0", 1},
		"brokers that cannot be": {func(l *liar) {
			l.metadata.Topics[0].Partitions[0].Replicas = []int32{-3, 1, 2}
		}, []string{"brokers have an id that is not believed (-3)"}, "kafka_broker_replicas", "1",
			4},
		"a topic twice": {func(l *liar) {
			l.metadata.Topics = append(l.metadata.Topics, l.metadata.Topics[0])
		}, []string{"topics are named twice (orders)"}, "kafka_cluster_partitions", "", 4},
		"a topic without partitions": {func(l *liar) {
			l.metadata.Topics = append(l.metadata.Topics, kmsg.MetadataResponseTopic{
				Topic: str("hidden"), ErrorCode: kerr.TopicAuthorizationFailed.Code})
		}, []string{"topics are not described (hidden)", "DESCRIBE on the topics"},
			"kafka_cluster_topics", "", 1},
		"offsets of others' partitions": {func(l *liar) {
			l.ends = func(id int32) *kmsg.ListOffsetsResponse {
				a := kmsg.NewPtrListOffsetsResponse()
				of := kmsg.ListOffsetsResponseTopic{Topic: "orders"}
				for _, p := range []int32{-1, 0, 1, 2, 3, math.MaxInt32} {
					of.Partitions = append(of.Partitions,
						kmsg.ListOffsetsResponseTopicPartition{Partition: p, Offset: 7 * int64(id)})
				}
				a.Topics = append(a.Topics, of, kmsg.ListOffsetsResponseTopic{Topic: "foreign",
					Partitions: of.Partitions})
				return a
			}
		}, []string{"that nobody asked for"}, "kafka_topic_current_offset_sum", "orders",
			7 + 14 + 7 + 14},
		"offsets below 0 and errors": {func(l *liar) {
			l.ends = func(id int32) *kmsg.ListOffsetsResponse {
				a := kmsg.NewPtrListOffsetsResponse()
				of := kmsg.ListOffsetsResponseTopic{Topic: "orders"}
				if id == 1 {
					of.Partitions = []kmsg.ListOffsetsResponseTopicPartition{
						{Partition: 0, Offset: -4},
						{Partition: 2, ErrorCode: kerr.NotLeaderForPartition.Code}}
				} else {
					of.Partitions = []kmsg.ListOffsetsResponseTopicPartition{
						{Partition: 1, Offset: 9}}
				}
				a.Topics = append(a.Topics, of)
				return a
			}
		}, []string{"partitions gave no offsets (2, such as orders/0)", "(2, such as orders/2)",
			"the next reading asks the new leader"},
			"kafka_topic_partition_current_offset", "orders/1", 9},
		"a group on two brokers": {func(l *liar) { l.groups[2] = []string{"a", "b"} }, nil,
			"kafka_cluster_consumergroups", "", 2},
		"groups nobody asked for": {func(l *liar) {
			l.raw = true
			l.offsets.Groups = []kmsg.OffsetFetchResponseGroup{offsetsOf("z", at("orders", 5, 0))}
		}, []string{"groups were told of that nobody asked for (2, such as z)"},
			"kafka_consumergroup_state", "a/Stable", 1},
		"another broker's group": {func(l *liar) {
			l.members = kmsg.NewPtrDescribeGroupsResponse()
			l.members.Groups = []kmsg.DescribeGroupsResponseGroup{{Group: "a",
				Members: make([]kmsg.DescribeGroupsResponseGroupMember, 3)}}
		}, []string{"groups were told of that nobody asked for (a)"},
			"kafka_consumergroup_members", "a", 3},
		"too few groups": {func(l *liar) {
			l.raw = true
			l.groups[1] = []string{"a", "c"}
			l.offsets.Groups = []kmsg.OffsetFetchResponseGroup{offsetsOf("b", at("orders", 5, 0))}
		}, []string{"groups told no offsets (a, c): the broker's answer cannot be"},
			"kafka_consumergroup_lag_sum", "b/orders", 95},
		"groups in error states": {func(l *liar) {
			delete(l.groups, 2)
			l.offsets.Groups = []kmsg.OffsetFetchResponseGroup{{Group: "a",
				ErrorCode: kerr.CoordinatorLoadInProgress.Code}}
			l.members = kmsg.NewPtrDescribeGroupsResponse()
			l.members.Groups = []kmsg.DescribeGroupsResponseGroup{{Group: "a",
				ErrorCode: kerr.GroupAuthorizationFailed.Code}}
		}, []string{"groups told no offsets (a)", "the coordinator is starting",
			"groups told no members (a)", "DESCRIBE on the groups"},
			"kafka_consumergroup_state", "a/Stable", 1},
		"a topic of a group twice": {func(l *liar) {
			delete(l.groups, 2)
			l.offsets.Groups = []kmsg.OffsetFetchResponseGroup{offsetsOf("a",
				at("orders", 5, 0, 1), at("orders", 6, 0, 2))}
		}, []string{"groups told of a topic or a partition twice (a)"},
			"kafka_consumergroup_lag_sum", "a/orders", 190},
		"a partition of a group twice": {func(l *liar) {
			delete(l.groups, 2)
			l.offsets.Groups = []kmsg.OffsetFetchResponseGroup{offsetsOf("a",
				at("orders", 5, 0, 1, 0))}
		}, []string{"groups told of a topic or a partition twice (a)"},
			"kafka_consumergroup_lag_sum", "a/orders", 190},
		"another broker's group's offsets": {func(l *liar) {
			l.raw = true
			l.offsets.Groups = []kmsg.OffsetFetchResponseGroup{offsetsOf("a", at("orders", 5, 0))}
		}, []string{"groups were told of that nobody asked for (a)"},
			"kafka_consumergroup_lag_sum", "a/orders", 95},
		"topics and partitions that are gone": {func(l *liar) {
			delete(l.groups, 2)
			l.offsets.Groups = []kmsg.OffsetFetchResponseGroup{offsetsOf("a",
				at("deleted", 5, 0, 1), at("orders", 40, -1, 3, 4, math.MaxInt32, math.MinInt32))}
		}, nil, "kafka_consumergroup_lag_sum", "a/orders", 60},
		"topics and partitions that are gone, counted": {func(l *liar) {
			delete(l.groups, 2)
			l.offsets.Groups = []kmsg.OffsetFetchResponseGroup{offsetsOf("a",
				at("deleted", 5, 0, 1), at("orders", 40, 3, 4))}
		}, nil, "kafka_consumergroup_gone_partitions", "a", 3},
		"log directories": {func(l *liar) {
			l.dirs.Dirs = append(l.dirs.Dirs, l.dirs.Dirs[0], kmsg.DescribeLogDirsResponseDir{
				Dir: "/broken", ErrorCode: kerr.KafkaStorageError.Code,
				Topics: []kmsg.DescribeLogDirsResponseDirTopic{{Topic: "foreign",
					Partitions: []kmsg.DescribeLogDirsResponseDirTopicPartition{{Size: -5}}}}})
		}, []string{"brokers told no sizes of logs"}, "kafka_broker_log_dir_up", "1//broken", 0},
		"no quorum": {func(l *liar) { l.quorum.Topics = nil },
			[]string{"the quorum is not described"}, "kafka_cluster_controllers", "", 0},
		"a quorum twice": {func(l *liar) {
			l.quorum.Topics[0].Partitions[0].CurrentVoters = []quorumReplica{{ReplicaID: 1},
				{ReplicaID: 1}}
		}, nil, "kafka_quorum_replica_lag", "1/voter", 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := honest()
			c.lie(l)
			r := l.reader(t)
			for range 2 {
				began := time.Now()
				v, p := readAnyway(t, r)
				if took := time.Since(began); took > 4*time.Second {
					t.Errorf("it took %s", took)
				}
				v.want(t, c.metric, c.labels, c.want)
				if (len(c.says) == 0) != (p.Count == 0) {
					t.Errorf("missing: %v", p.Sentences)
				}
				v.want(t, "kafka_cluster_unanswered_questions", "", float64(p.Count))
				for _, s := range c.says {
					if !strings.Contains(p.Error(), s) {
						t.Errorf("%q is not in %q", s, p.Sentences)
					}
				}
			}
		})
	}
}

// TestLargeGroup: a group with a million partitions, of which a tenth is there, beside a small one.
// The small one has its rows, the large one its sums; what is held is bounded.
func TestLargeGroup(t *testing.T) {
	l := honest()
	const there = 100_000
	l.metadata = metadataOf("orders", there)
	all := make([]int32, 1_000_000)
	for i := range all {
		all[i] = int32(i)
	}
	l.groups = map[int32][]string{1: {"large", "small"}}
	l.offsets.Groups = []kmsg.OffsetFetchResponseGroup{offsetsOf("large", at("orders", 90, all...)),
		offsetsOf("small", at("orders", 80, 1, 2, 3))}
	series := 7*there + 1000
	r := l.reader(t, func(c *Config) { c.MaxSeries, c.Timeout = series, 20*time.Second })
	for range 2 {
		rd, err := r.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if rd.Series() > series {
			t.Errorf("%d series, more than %d", rd.Series(), series)
		}
		v := valuesOf(t, rd)
		v.want(t, "kafka_consumergroup_lag_sum", "large/orders", 10*there)
		v.want(t, "kafka_consumergroup_left_out_partitions", "large", there)
		v.want(t, "kafka_consumergroup_left_out_partitions", "small", 0)
		v.want(t, "kafka_consumergroup_lag", "small/orders/2", 20)
		v.want(t, "kafka_cluster_left_out_series", "", 3*there)
		if n := len(v["kafka_consumergroup_lag"]); n != 3 {
			t.Errorf("%d rows of groups' partitions", n)
		}
	}
	l.offsets, l.metadata.Topics = nil, nil
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	if per := float64(memory.HeapAlloc) / there; per > 1000 {
		t.Errorf("%.0f bytes a partition are held", per)
	}
	runtime.KeepAlive(r)
}

// TestLimit: with less room than the cluster itself needs, what matters most is there.
func TestLimit(t *testing.T) {
	l := honest()
	l.groups = map[int32][]string{1: {"a", "b", "c"}}
	l.offsets.Groups = []kmsg.OffsetFetchResponseGroup{offsetsOf("a", at("orders", 1, 0, 1)),
		offsetsOf("b", at("orders", 1, 0, 1, 2)), offsetsOf("c", at("orders", 1, 0))}
	full := l.reader(t)
	rd, err := full.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := rd.Series()
	for most := 1; most <= all; most++ {
		r := l.reader(t, func(c *Config) { c.MaxSeries = most })
		rd, err := r.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		v := valuesOf(t, rd)
		if got := rd.Series(); got > most {
			t.Errorf("%d series where %d may be", got, most)
		} else if most >= 20 && rd.Series()+int(v["kafka_cluster_left_out_series"][""]) != all {
			t.Errorf("%d series and %v left out are not %d", got,
				v["kafka_cluster_left_out_series"], all)
		}
		if _, has := v["kafka_consumergroup_lag"]["b/orders/0"]; has && most < all {
			t.Errorf("the largest group has rows among %d series of %d", most, all)
		}
	}
	rd.Limit(0)
}

// TestGarbage: what answers is no Kafka.
func TestGarbage(t *testing.T) {
	for name, says := range map[string]string{"nothing": "",
		"web":   "HTTP/1.1 400 Bad Request\r\n\r\n",
		"zeros": strings.Repeat("\x00", 1<<16), "ones": strings.Repeat("\xff", 1<<16)} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					go func() {
						defer conn.Close()
						_, _ = conn.Read(make([]byte, 100))
						_, _ = conn.Write([]byte(says))
						_, _ = conn.Read(make([]byte, 100))
					}()
				}
			}()
			c := testConfig(l.Addr().String())
			c.Timeout = time.Second
			began := time.Now()
			rd, err := mustNew(t, c, nil).Read(t.Context())
			if rd != nil || err == nil {
				t.Errorf("garbage is read: %v", err)
			}
			t.Log(err)
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// FuzzOffsets reads what groups have committed out of anything.
func FuzzOffsets(f *testing.F) {
	said := kmsg.NewPtrOffsetFetchResponse()
	said.Version = 9
	said.Groups = []kmsg.OffsetFetchResponseGroup{offsetsOf("a", at("orders", 5, 0, 1),
		at("gone", 6, 1)), {Group: "b", ErrorCode: 30}}
	text := said.AppendTo(nil)
	f.Add(text)
	f.Add(text[:len(text)-9])
	f.Add(append(slices.Clone(text[:30]), 255, 255, 255, 255, 15))
	f.Add(append(slices.Clone(text[:len(text)-1]), 255, 255, 255, 255, 15)) // four billion tags
	topics := map[string]*topic{"orders": {name: "orders"}}
	topics["orders"].resize(3, &clock{})
	f.Fuzz(func(t *testing.T, text []byte) {
		r, began := &offsetsResponse{version: 9, topics: topics}, time.Now()
		_ = r.ReadFrom(text)
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("%d bytes took %s", len(text), took)
		}
		for _, g := range r.groups {
			if len(g.partitions) != len(g.offsets) ||
				len(g.topics) > 0 && g.topics[len(g.topics)-1].until != len(g.partitions) {
				t.Errorf("%+v", g)
			}
			for _, p := range g.partitions {
				if p < 0 || p > 2 {
					t.Errorf("partition %d", p)
				}
			}
		}
	})
}

// TestValidate wants everything that is wrong at once.
func TestValidate(t *testing.T) {
	c := testConfig("one:9")
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	if target := c.Target(); target.Kind != reading.Kafka || target.Job != "kafka" ||
		target.Instance != "orders" {
		t.Errorf("%+v", target)
	}
	c = Config{Brokers: []string{"nowhere"}, Interval: time.Second, Timeout: 2 * time.Second,
		MaxSeries: -1, Topics: Names{Include: "("}, Groups: Names{Exclude: "["}}
	c.TLS.CertFile, c.SASL.Mechanism = "own.pem", "OAUTH"
	err := c.Validate()
	for _, want := range []string{"cluster is empty", "job is empty", `broker "nowhere"`,
		"key_file", `mechanism "OAUTH"`, "sasl needs user", "interval is 1s", "timeout is 2s",
		"max_series is -1", "topics: include", "groups: exclude"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}

// TestNames: expressions match whole names, and are asked once a name.
func TestNames(t *testing.T) {
	f, err := Names{Include: "orders|pay.*", Exclude: "pay-test"}.filter()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"orders": true, "orders2": false, "payment": true,
		"pay-test": false, "": false} {
		for range 2 {
			if f.takes(name) != want {
				t.Errorf("%q: %v", name, !want)
			}
		}
	}
	for i := range mostKnown + 10 {
		f.takes(number(i))
	}
	if len(f.known) > mostKnown {
		t.Errorf("%d names are remembered", len(f.known))
	}
}
