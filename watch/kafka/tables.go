package kafka

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/watch/reading"
)

// quorumReplica is a node that has the cluster's metadata.
type quorumReplica = kmsg.DescribeQuorumResponseTopicPartitionReplicaState

var errTooManyTopics = fmt.Errorf("more than %d topics of groups: name fewer with groups.include",
	mostGroupTopics)

// partitionColumns are the columns of kafka_consumergroup_partition.
const partitionColumns = 3

// rowCache keeps a table's rows while they are the same as in the reading before.
type rowCache struct {
	last, fresh [][]string
	same        int
}

// add appends a row. Rows are remembered, so equal ones are one slice.
func (c *rowCache) add(row []string) {
	if c.fresh == nil && c.same < len(c.last) && &c.last[c.same][0] == &row[0] {
		c.same++
		return
	}
	if c.fresh == nil {
		c.fresh = append(make([][]string, 0, len(c.last)+1), c.last[:c.same]...)
	}
	c.fresh = append(c.fresh, row)
}

// rows returns the rows added, and begins the next reading.
func (c *rowCache) rows() [][]string {
	if c.fresh == nil {
		c.fresh = c.last[:c.same:c.same]
	}
	c.last, c.fresh, c.same = c.fresh, nil, 0
	return c.last
}

// rowCaches has one for each table with many rows.
type rowCaches struct {
	groups, states, groupTopics, topics, partitions, groupPartitions rowCache
	brokerTopics                                                     rowCache
	brokerTopic                                                      map[[2]string][]string
}

// table is a table in the making.
type table struct{ reading.Table }

func newTable(kind string, rows [][]string, labels ...string) *table {
	return &table{reading.Table{Type: kind, Labels: labels, Rows: rows}}
}

// ints adds a gauge and returns its values to be set, in the rows' order.
func (t *table) ints(name string) []int64 { return t.unit(name, "", 0) }

// offsets adds a counter: an offset only rises, unless somebody sets it back or makes the topic
// anew. So rates of it come from rollups, too.
func (t *table) offsets(name string) []int64 {
	values := t.ints(name)
	t.Columns[len(t.Columns)-1].Kind = frame.Counter
	return values
}

func (t *table) bytes(name string) []int64 { return t.unit(name, "bytes", 0) }

// millis adds a gauge of seconds whose values are ms.
func (t *table) millis(name string) []int64 { return t.unit(name, "seconds", -3) }

func (t *table) unit(name, unit string, exponent int) []int64 {
	values := make([]int64, len(t.Rows))
	t.Columns = append(t.Columns, reading.Column{Name: name, Kind: frame.Gauge, Unit: unit,
		Exponent: exponent, Ints: values})
	return values
}

func (t *table) doubles(name, unit string) []float64 {
	values := make([]float64, len(t.Rows))
	t.Columns = append(t.Columns, reading.Column{Name: name, Kind: frame.GaugeDouble, Unit: unit,
		Doubles: values})
	return values
}

func (t *table) series() int { return len(t.Rows) * len(t.Columns) }

func truth(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// seriesBeside is about how many series the reading has beside those of groups' topics and
// partitions. The rest is known when the groups have answered.
func (p *pass) seriesBeside() int {
	return 7*int(p.partitions) + 8*len(p.reader.order) + 8*len(p.groups)
}

// reading makes the tables, those first that matter most.
func (p *pass) reading() *reading.Reading {
	cluster := p.clusterTable()
	tables := []*table{cluster.table}
	if p.quorum != nil {
		tables = append(tables, p.quorumTable())
	}
	tables = append(tables, p.brokerTables()...)
	tables = append(tables, p.groupTables()...)
	tables = append(tables, p.topicTable(), p.brokerTopicTable(), p.partitionTable())
	series, entities := 0, 0
	for _, t := range tables {
		series += t.series()
		entities += len(t.Rows)
	}
	p.kept.shrink(p.reader.budget(series, entities))
	for i, g := range p.groups {
		if g.answered && g.rows == nil {
			p.leftOut[i] = int64(g.partitions)
		}
	}
	partitions, left := p.groupPartitionTable()
	tables = append(tables, partitions)
	rd := &reading.Reading{Facts: p.reader.facts()}
	for _, t := range tables {
		if len(t.Rows) > 0 {
			rd.Tables = append(rd.Tables, t.Table)
		}
	}
	if most := p.reader.config.MaxSeries; most > 0 {
		left += rd.Limit(most)
	}
	cluster.leftOut[0] = int64(left)
	cluster.unanswered[0] = int64(p.missing.count)
	return rd
}

// clusterTable is what is known of the whole, with two values to be set last.
type clusterTable struct {
	*table
	leftOut, unanswered []int64
}

func (p *pass) clusterTable() clusterTable {
	t := newTable("kafka_cluster", [][]string{{}})
	set := func(name string, value int64) { t.ints(name)[0] = value }
	var offline, under, notPreferred, size, unanswered, alive int64
	sized := false
	for _, of := range p.reader.order {
		offline, under, notPreferred = offline+of.offline, under+of.under,
			notPreferred+of.notPreferred
	}
	for _, n := range p.nodes {
		size += n.size
		sized = sized || n.logs
		alive += truth(n.address != "")
		unanswered += truth(!n.up)
	}
	if !sized {
		size = noValue
	}
	worst, lag := int64(noValue), int64(0)
	for _, g := range p.groups {
		if g.answered {
			worst = max(worst, g.ms)
			lag += g.lag
		}
	}
	set("kafka_brokers", alive)
	set("kafka_cluster_unanswered_brokers", unanswered)
	controllers := truth(p.controller >= 0)
	if p.controller == noController {
		controllers = noValue
	}
	set("kafka_cluster_controllers", controllers)
	set("kafka_cluster_topics", int64(len(p.reader.order)))
	set("kafka_cluster_partitions", p.partitions)
	set("kafka_cluster_consumergroups", int64(len(p.groups)))
	set("kafka_cluster_offline_partitions", offline)
	set("kafka_cluster_under_replicated_partitions", under)
	set("kafka_cluster_not_preferred_leader_partitions", notPreferred)
	t.millis("kafka_cluster_max_lag_seconds")[0] = worst
	set("kafka_cluster_lag", lag)
	t.bytes("kafka_cluster_log_size_bytes")[0] = size
	c := clusterTable{table: t, leftOut: t.ints("kafka_cluster_left_out_series"),
		unanswered: t.ints("kafka_cluster_unanswered_questions")}
	if q := p.quorum; q != nil {
		set("kafka_quorum_leader", int64(q.LeaderID))
		set("kafka_quorum_leader_epoch", int64(q.LeaderEpoch))
		set("kafka_quorum_high_watermark", q.HighWatermark)
		set("kafka_quorum_voters", int64(len(q.CurrentVoters)))
		set("kafka_quorum_observers", int64(len(q.Observers)))
	}
	return c
}

func (p *pass) quorumTable() *table {
	q := p.quorum
	type member struct{ end, fetch, caught int64 }
	var members []member
	var rows [][]string
	seen, end := map[int32]bool{}, int64(unknown)
	for i := range q.CurrentVoters {
		if q.CurrentVoters[i].ReplicaID == q.LeaderID {
			end = q.CurrentVoters[i].LogEndOffset
		}
	}
	for i := range len(q.CurrentVoters) + len(q.Observers) {
		role, said := "voter", (*quorumReplica)(nil)
		if i < len(q.CurrentVoters) {
			said = &q.CurrentVoters[i]
		} else {
			role, said = "observer", &q.Observers[i-len(q.CurrentVoters)]
		}
		if seen[said.ReplicaID] || len(rows) == mostBrokers {
			continue
		}
		seen[said.ReplicaID] = true
		members = append(members, member{end: said.LogEndOffset,
			fetch: said.LastFetchTimestamp, caught: said.LastCaughtUpTimestamp})
		rows = append(rows, []string{number(int(said.ReplicaID)), role})
	}
	t := newTable("kafka_quorum_replica", rows, "replica", "role")
	ends := t.offsets("kafka_quorum_replica_log_end_offset")
	lags := t.ints("kafka_quorum_replica_lag")
	fetched := t.millis("kafka_quorum_replica_last_fetch_timestamp_seconds")
	caught := t.millis("kafka_quorum_replica_last_caught_up_timestamp_seconds")
	for i, m := range members {
		ends[i], lags[i], fetched[i], caught[i] = noValue, noValue, noValue, noValue
		if m.end >= 0 {
			ends[i] = m.end
			if end >= 0 {
				lags[i] = max(end-m.end, 0)
			}
		}
		if m.fetch >= 0 {
			fetched[i] = m.fetch
		}
		if m.caught >= 0 {
			caught[i] = m.caught
		}
	}
	return t
}

func (p *pass) brokerTables() []*table {
	var infos, rows, dirs [][]string
	for _, n := range p.nodes {
		id := number(int(n.id))
		rows = append(rows, []string{id})
		if n.address != "" {
			infos = append(infos, []string{id, n.address})
		}
		for _, d := range n.dirs {
			dirs = append(dirs, []string{id, d.path})
		}
	}
	info := newTable("kafka_broker_info", infos, "id", "address")
	for i, values := 0, info.ints("kafka_broker_info"); i < len(values); i++ {
		values[i] = 1
	}
	t := newTable("kafka_broker", rows, "broker")
	up, controller := t.ints("kafka_broker_up"), t.ints("kafka_controller")
	leaders, skew := t.ints("kafka_broker_leaders"), t.doubles("kafka_broker_leader_skew", "ratio")
	replicas := t.ints("kafka_broker_replicas")
	outOf, size := t.ints("kafka_broker_out_of_sync_replicas"),
		t.bytes("kafka_broker_log_size_bytes")
	d := newTable("kafka_broker_log_dir", dirs, "broker", "dir")
	dirUp, dirSize := d.ints("kafka_broker_log_dir_up"), d.bytes("kafka_broker_log_dir_size_bytes")
	total := d.bytes("kafka_broker_log_dir_total_bytes")
	usable := d.bytes("kafka_broker_log_dir_usable_bytes")
	led, j := int64(0), 0
	for _, n := range p.nodes {
		led += n.leaders
	}
	mean := float64(led) / float64(max(len(p.nodes), 1))
	for i, n := range p.nodes {
		up[i], controller[i] = truth(n.up), truth(n.id == p.controller)
		if p.controller == noController {
			controller[i] = noValue
		}
		leaders[i], replicas[i], outOf[i] = n.leaders, n.replicas, n.outOfISR
		if mean > 0 {
			skew[i] = float64(n.leaders)/mean - 1
		}
		if size[i] = n.size; !n.logs {
			size[i] = noValue
		}
		for _, dir := range n.dirs {
			dirUp[j], dirSize[j], total[j], usable[j] = truth(dir.up), dir.size, dir.total,
				dir.usable
			j++
		}
	}
	return []*table{info, t, d}
}

func (p *pass) groupTables() []*table {
	r := p.reader
	topics := 0
	for _, g := range p.groups {
		if g.stateRow == nil || g.stateRow[1] != g.state {
			g.stateRow = []string{g.name, g.state}
		}
		r.pinned.groups.add(g.row)
		r.pinned.states.add(g.stateRow)
		if !g.answered {
			continue
		}
		for _, of := range g.topics {
			if topics++; topics <= mostGroupTopics {
				r.pinned.groupTopics.add(of.row)
			}
		}
	}
	t := newTable("kafka_consumergroup", r.pinned.groups.rows(), "consumergroup")
	members, count := t.ints("kafka_consumergroup_members"), t.ints("kafka_consumergroup_topics")
	partitions := t.ints("kafka_consumergroup_partitions")
	gone := t.ints("kafka_consumergroup_gone_partitions")
	lag := t.ints("kafka_consumergroup_group_lag")
	ms := t.millis("kafka_consumergroup_group_lag_seconds")
	commit := t.millis("kafka_consumergroup_group_last_commit_timestamp_seconds")
	p.leftOut = t.ints("kafka_consumergroup_left_out_partitions")
	states := newTable("kafka_consumergroup_state", r.pinned.states.rows(), "consumergroup",
		"state")
	state := states.ints("kafka_consumergroup_state")

	s := newTable("kafka_consumergroup_topic", r.pinned.groupTopics.rows(), "consumergroup",
		"topic")
	lagSum := s.ints("kafka_consumergroup_lag_sum")
	topicMs := s.millis("kafka_consumergroup_lag_seconds")
	offsets := s.offsets("kafka_consumergroup_current_offset_sum")
	of := s.ints("kafka_consumergroup_topic_partitions")
	lagging := s.ints("kafka_consumergroup_lagging_partitions")
	beyond := s.ints("kafka_consumergroup_beyond_history_partitions")
	lost := s.ints("kafka_consumergroup_lost_partitions")
	ahead := s.ints("kafka_consumergroup_ahead_partitions")
	topicCommit := s.millis("kafka_consumergroup_last_commit_timestamp_seconds")
	at := 0
	for i, g := range p.groups {
		members[i], state[i] = g.members, 1
		if !g.answered {
			for _, column := range [][]int64{count, partitions, gone, lag, ms, commit, p.leftOut} {
				column[i] = noValue
			}
			continue
		}
		count[i], partitions[i], lag[i], ms[i] = int64(len(g.topics)), int64(g.partitions), g.lag,
			g.ms
		commit[i], gone[i] = g.commit, int64(g.gone)
		for _, o := range g.topics {
			if at == len(s.Rows) {
				break
			}
			lagSum[at], topicMs[at], offsets[at], of[at] = o.lag, o.ms, o.offsets, o.partitions
			lagging[at], beyond[at], lost[at] = o.lagging, o.beyond, o.lost
			ahead[at], topicCommit[at] = o.ahead, o.commit
			at++
		}
	}
	if topics > mostGroupTopics {
		p.missing.add("topics of groups are left out", number(topics-mostGroupTopics),
			errTooManyTopics)
	}
	return []*table{t, states, s}
}

func (p *pass) topicTable() *table {
	r := p.reader
	for _, of := range r.order {
		r.pinned.topics.add(of.row)
	}
	t := newTable("kafka_topic", r.pinned.topics.rows(), "topic")
	partitions, factor := t.ints("kafka_topic_partitions"), t.ints("kafka_topic_replication_factor")
	offline := t.ints("kafka_topic_offline_partitions")
	under := t.ints("kafka_topic_under_replicated_partitions")
	notPreferred := t.ints("kafka_topic_not_preferred_leader_partitions")
	ends, starts := t.offsets("kafka_topic_current_offset_sum"),
		t.offsets("kafka_topic_oldest_offset_sum")
	sizes := t.bytes("kafka_topic_log_size_bytes")
	sized := make([]bool, len(r.order))
	for _, n := range p.nodes {
		for i, size := range n.topicSizes {
			if size >= 0 {
				sizes[i] += size
				sized[i] = true
			}
		}
	}
	for i, of := range r.order {
		partitions[i], offline[i], under[i], notPreferred[i] = int64(of.partitions()), of.offline,
			of.under, of.notPreferred
		fewest := of.replicas[0]
		// A sum that lacks a partition would look like a log that was cut.
		for j, end := range of.end {
			fewest = min(fewest, of.replicas[j])
			ends[i] = plus(ends[i], end)
			starts[i] = plus(starts[i], of.oldest[j])
		}
		factor[i] = int64(fewest)
		if !sized[i] {
			sizes[i] = noValue
		}
	}
	return t
}

// plus adds an offset that may be unknown.
func plus(sum, offset int64) int64 {
	if sum == noValue || offset < 0 {
		return noValue
	}
	return sum + offset
}

func (p *pass) brokerTopicTable() *table {
	r := p.reader
	was := r.pinned.brokerTopic
	r.pinned.brokerTopic = make(map[[2]string][]string, len(was))
	var sizes []int64
	for _, n := range p.nodes {
		id := number(int(n.id))
		for i, size := range n.topicSizes {
			if size < 0 || len(sizes) == mostGroupTopics {
				continue
			}
			key := [2]string{id, r.order[i].name}
			row := was[key]
			if row == nil {
				row = []string{key[0], key[1]}
			}
			r.pinned.brokerTopic[key] = row
			r.pinned.brokerTopics.add(row)
			sizes = append(sizes, size)
		}
	}
	t := newTable("kafka_broker_topic", r.pinned.brokerTopics.rows(), "broker", "topic")
	copy(t.bytes("kafka_broker_topic_log_size_bytes"), sizes)
	return t
}

func (p *pass) partitionTable() *table {
	r := p.reader
	for _, of := range r.order {
		for _, row := range of.rows {
			r.pinned.partitions.add(row)
		}
	}
	t := newTable("kafka_topic_partition", r.pinned.partitions.rows(), "topic", "partition")
	end := t.offsets("kafka_topic_partition_current_offset")
	oldest := t.offsets("kafka_topic_partition_oldest_offset")
	leader := t.ints("kafka_topic_partition_leader")
	preferred := t.ints("kafka_topic_partition_leader_is_preferred")
	replicas := t.ints("kafka_topic_partition_replicas")
	inSync := t.ints("kafka_topic_partition_in_sync_replica")
	under := t.ints("kafka_topic_partition_under_replicated_partition")
	at := 0
	for _, of := range r.order {
		for i := range of.leader {
			if end[at] = of.end[i]; of.end[i] < 0 {
				end[at] = noValue
			}
			if oldest[at] = of.oldest[i]; of.oldest[i] < 0 {
				oldest[at] = noValue
			}
			if of.leader[i] < -1 { // the metadata did not say
				leader[at], preferred[at], replicas[at], inSync[at], under[at] = noValue, noValue,
					noValue, noValue, noValue
			} else {
				leader[at] = int64(of.leader[i])
				preferred[at] = truth(of.leader[i] >= 0 && of.leader[i] == of.preferred[i])
				replicas[at], inSync[at] = int64(of.replicas[i]), int64(of.inSync[i])
				under[at] = truth(of.inSync[i] < of.replicas[i])
			}
			at++
		}
	}
	return t
}

// groupPartitionTable has the rows of those groups that are kept, and says how many series are left
// out.
func (p *pass) groupPartitionTable() (t *table, left int) {
	r := p.reader
	for _, g := range p.groups {
		if g.rows == nil {
			if g.answered {
				left += g.partitions * partitionColumns
			}
			continue
		}
		g.eachTopic(func(of *groupTopic, partitions []int32, _ []int64) {
			for _, row := range of.partitionRows(partitions) {
				r.pinned.groupPartitions.add(row)
			}
		})
	}
	t = newTable("kafka_consumergroup_partition", r.pinned.groupPartitions.rows(), "consumergroup",
		"topic", "partition")
	offset := t.offsets("kafka_consumergroup_current_offset")
	lag := t.ints("kafka_consumergroup_lag")
	ms := t.millis("kafka_consumergroup_partition_lag_seconds")
	at := 0
	for _, g := range p.groups {
		if g.rows == nil {
			continue
		}
		g.eachTopic(func(of *groupTopic, partitions []int32, offsets []int64) {
			for i, partition := range partitions {
				offset[at] = offsets[i]
				lag[at], ms[at], _ = r.lag(of.topic, int(partition), offsets[i])
				at++
			}
		})
		g.rows = nil
	}
	return t, left
}

// eachTopic visits what the group has committed for each of its topics.
func (g *group) eachTopic(visit func(of *groupTopic, partitions []int32, offsets []int64)) {
	from := 0
	for _, ct := range g.rows.topics {
		for _, of := range g.topics {
			if of.topic == ct.topic {
				visit(of, g.rows.partitions[from:ct.until], g.rows.offsets[from:ct.until])
				break
			}
		}
		from = ct.until
	}
}
