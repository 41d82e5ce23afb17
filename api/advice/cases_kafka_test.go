package advice_test

// kafkaCases are of the alerts of rules/kafka.yaml.
var kafkaCases = []speaking{
	{of: "KafkaGroupStandsStill/rebalances",
		alert: "consumergroup=billing,topic=orders",
		series: `kafka_consumergroup_state{$n,consumergroup="billing",state="PreparingRebalance"} 1x60
kafka_consumergroup_members{$n,consumergroup="billing"} 3x60`,
		quiet: [2]string{`PreparingRebalance`, `Stable`},
		says: "The group is in state PreparingRebalance, so its members (3) share out " +
			"partitions instead of reading. If that does not end, one takes longer for a " +
			"batch than max.poll.interval.ms: give it smaller ones (max.poll.records)."},
	{of: "KafkaGroupStandsStill/several",
		alert: "consumergroup=billing,topic=orders",
		series: `kafka_consumergroup_lag_sum{$n,consumergroup="mail",topic="orders"} 100+5x60
kafka_consumergroup_current_offset_sum{$n,consumergroup="mail",topic="orders"} 500x60
kafka_topic_current_offset_sum{$n,topic="orders"} 600+5x60
kafka_consumergroup_members{$n,consumergroup="mail"} 2x60`,
		quiet: [2]string{`500x60`, `500+5x60`},
		says: "Other groups with members stand still as well (1), so it is what they share: a " +
			"database, a service, a network. Look there before their consumers."},
	{of: "KafkaGroupStandsStill/others",
		alert: "consumergroup=billing,topic=orders",
		series: `kafka_consumergroup_current_offset_sum{$n,consumergroup="billing",topic="orders"} 500x60
kafka_consumergroup_current_offset_sum{$n,consumergroup="billing",topic="refunds"} 70+3x60`,
		quiet: [2]string{`70+3x60`, `70x60`},
		says: "The group goes on with other topics (1), so its consumers run, and only what " +
			"reads orders hangs. Look in their log for a record that fails again and again, " +
			"and restart that member."},
	{of: "KafkaGroupStandsStill/partition",
		alert: "consumergroup=billing,topic=orders",
		series: `kafka_consumergroup_lagging_partitions{$n,consumergroup="billing",topic="orders"} 1x60
kafka_consumergroup_topic_partitions{$n,consumergroup="billing",topic="orders"} 12x60`,
		quiet: [2]string{` 1x60`, ` 12x60`},
		says: "Records wait on 1 of 12 partitions alone, so most likely one member hangs on one " +
			"record. kafka-consumer-groups.sh --describe names it: restart that one."},
	{of: "KafkaGroupStandsStill/all",
		alert: "consumergroup=billing,topic=orders",
		series: `kafka_consumergroup_lagging_partitions{$n,consumergroup="billing",topic="orders"} 12x60
kafka_consumergroup_topic_partitions{$n,consumergroup="billing",topic="orders"} 12x60
kafka_consumergroup_members{$n,consumergroup="billing"} 3x60
kafka_consumergroup_last_commit_timestamp_seconds{$n,consumergroup="billing",topic="orders"} 1200x60`,
		quiet: [2]string{`3x60`, `0x60`},
		says: "All its members (3) are there, and none has committed for 40 min. They wait for " +
			"something outside, such as a database: a dump of one's threads says for what."},
	{of: "KafkaGroupBehind/gone",
		alert: "consumergroup=billing,topic=orders",
		series: `kafka_consumergroup_members{$n,consumergroup="billing"} 0x60
kafka_consumergroup_current_offset_sum{$n,consumergroup="billing",topic="orders"} 500x60
kafka_consumergroup_lag_sum{$n,consumergroup="billing",topic="orders"} 4100x60`,
		quiet: [2]string{`500x60`, `500+5x60`},
		says: "The group has no members, so nobody reads the 4100 records of orders that wait. " +
			"Start its consumers, or delete the group if nobody needs it any more."},
	{of: "KafkaGroupBehind/left",
		alert:  "consumergroup=billing,topic=orders",
		series: `kafka_consumergroup_members{$n,consumergroup="billing"} 4x40 1x20`,
		quiet:  [2]string{`4x40 1x20`, `1x60`},
		says: "Members left: 1 read now, and within the last hour there were 4. Start what " +
			"ended, and see in its log why it did."},
	{of: "KafkaGroupBehind/catches_up",
		alert: "consumergroup=billing,topic=orders",
		series: `kafka_consumergroup_members{$n,consumergroup="billing"} 3x60
kafka_consumergroup_current_offset_sum{$n,consumergroup="billing",topic="orders"} 500+9000x60
kafka_topic_current_offset_sum{$n,topic="orders"} 999999+3000x60
kafka_consumergroup_lag_sum{$n,consumergroup="billing",topic="orders"} 120000x60`,
		quiet: [2]string{`500+9000x60`, `500+2000x60`},
		also:  [][2]string{{`120000x60`, `9000000x60`}}, // after more than a day
		says: "The group already reads faster than is written, by 100/s, and at this rate has " +
			"read all in 20 min. Nothing has to be done but to wait."},
	{of: "KafkaGroupBehind/still",
		alert: "consumergroup=billing,topic=orders",
		series: `kafka_consumergroup_members{$n,consumergroup="billing"} 3x60
kafka_consumergroup_current_offset_sum{$n,consumergroup="billing",topic="orders"} 500x60
kafka_topic_current_offset_sum{$n,topic="orders"} 999999+3000x60`,
		quiet: [2]string{`500x60`, `500+20x60`},
		says: "The group has members (3) and committed nothing of orders in five minutes, so it " +
			"hangs and is not slow. Look in its consumers' log for what they wait for, or for " +
			"a record that fails again and again."},
	{of: "KafkaGroupBehind/hot",
		alert: "consumergroup=billing,topic=orders",
		series: `kafka_consumergroup_members{$n,consumergroup="billing"} 3x60
kafka_consumergroup_current_offset_sum{$n,consumergroup="billing",topic="orders"} 500+2000x60
kafka_topic_current_offset_sum{$n,topic="orders"} 999999+3000x60
kafka_consumergroup_lag{$n,consumergroup="billing",topic="orders",partition="7"} 110000x60
kafka_consumergroup_lag{$n,consumergroup="billing",topic="orders",partition="8"} 10000x60
kafka_consumergroup_lag_sum{$n,consumergroup="billing",topic="orders"} 120000x60
kafka_topic_partitions{$n,topic="orders"} 12x60`,
		quiet: [2]string{`110000x60`, `60000x60`},
		says: "110000 of the records that wait are in partition 7, one of 12. One key has most " +
			"records, or the member that reads it is slow: more members do not help."},
	{of: "KafkaGroupBehind/members",
		alert: "consumergroup=billing,topic=orders",
		series: `kafka_consumergroup_members{$n,consumergroup="billing"} 12x60
kafka_consumergroup_current_offset_sum{$n,consumergroup="billing",topic="orders"} 500+2000x60
kafka_topic_current_offset_sum{$n,topic="orders"} 999999+3000x60
kafka_topic_partitions{$n,topic="orders"} 12x60`,
		quiet: [2]string{`12x60`, `3x60`},
		says: "The group has 12 members for 12 partitions, and more than one for each cannot " +
			"read. Make each record cheaper, or give the topic more partitions."},
	{of: "KafkaGroupBehind/slow",
		alert: "consumergroup=billing,topic=orders",
		series: `kafka_consumergroup_members{$n,consumergroup="billing"} 3x60
kafka_consumergroup_current_offset_sum{$n,consumergroup="billing",topic="orders"} 500+2400x60
kafka_topic_current_offset_sum{$n,topic="orders"} 999999+3000x60
kafka_topic_partitions{$n,topic="orders"} 12x60`,
		quiet: [2]string{`999999+3000x60`, `999999x60`},
		says: "The group reads at 40/s, and records are written at 50/s. Add members: there are " +
			"3 for 12 partitions, and each may have one."},
	{of: "KafkaGroupWithoutMembers/lost",
		alert: "consumergroup=billing",
		series: `kafka_consumergroup_lost_partitions{$n,consumergroup="billing",topic="orders"} 4x60
kafka_consumergroup_lost_partitions{$n,consumergroup="billing",topic="refunds"} 1x60
kafka_consumergroup_members{$n,consumergroup="billing"} 3x30 0x30
kafka_consumergroup_group_lag{$n,consumergroup="billing"} 100+60x60`,
		quiet: [2]string{`4x60
kafka_consumergroup_lost_partitions{$n,consumergroup="billing",topic="refunds"} 1x60`,
			`0x60`},
		says: "Retention already deletes what the group has not read, on 5 partitions, most of " +
			"them of orders. Lengthen retention.ms of its topics first, then start its " +
			"consumers."},
	{of: "KafkaGroupWithoutMembers/left",
		alert: "consumergroup=billing",
		series: `kafka_consumergroup_members{$n,consumergroup="billing"} 3x30 0x30
kafka_consumergroup_group_lag{$n,consumergroup="billing"} 100+60x60`,
		quiet: [2]string{`3x30 0x30`, `0x60`},
		says: "Within six hours the group had 3 members, so its consumers ended or cannot come " +
			"back; 60 records more wait each minute. Start them, and read their log for a " +
			"broker or a right that they lack."},
	{of: "KafkaGroupWithoutMembers/given_up",
		alert: "consumergroup=billing",
		series: `kafka_consumergroup_members{$n,consumergroup="billing"} 0x60
kafka_consumergroup_group_last_commit_timestamp_seconds{$n,consumergroup="billing"} -1000000x60
kafka_consumergroup_group_lag{$n,consumergroup="billing"} 100+60x60`,
		quiet: [2]string{`-1000000x60`, `-9000x60`},
		says: "The group committed last 11 d 14 h ago, so it was most likely given up; 60 " +
			"records more wait each minute. Ask who had it, then delete it or leave it out " +
			"with groups.exclude."},
	{of: "KafkaGroupWithoutMembers/none",
		alert: "consumergroup=billing",
		series: `kafka_consumergroup_members{$n,consumergroup="billing"} 0x60
kafka_consumergroup_group_lag{$n,consumergroup="billing"} 100+60x60`,
		quiet: [2]string{`100+60x60`, `100x60`},
		says: "Since it is watched, at most six hours, nobody has read for the group: 3700 " +
			"records wait, and 60 more each minute. Ask whose it is: start its consumers or " +
			"delete it before retention decides."},
	{of: "KafkaGroupLostRecords/emptied",
		alert: "consumergroup=billing,topic=orders",
		series: `kafka_topic_current_offset_sum{$n,topic="orders"} 90000x60
kafka_topic_oldest_offset_sum{$n,topic="orders"} 90000x60`,
		quiet: [2]string{`90000x60`, `95000x60`},
		says: "The topic has no record left: it was emptied, or all was older than its " +
			"retention. If that was on purpose nothing has to be done."},
	{of: "KafkaGroupLostRecords/slower",
		alert: "consumergroup=billing,topic=orders",
		series: `kafka_topic_current_offset_sum{$n,topic="orders"} 90000+3000x60
kafka_topic_oldest_offset_sum{$n,topic="orders"} 50000x60
kafka_consumergroup_current_offset_sum{$n,consumergroup="billing",topic="orders"} 40000+1200x60`,
		quiet: [2]string{`40000+1200x60`, `40000+4200x60`},
		says: "Records are written at 50/s and the group reads at 20/s, so it loses more and " +
			"more. Lengthen retention.ms and retention.bytes of the topic at once, then make " +
			"the group faster."},
	{of: "KafkaGroupLostRecords/faster",
		alert: "consumergroup=billing,topic=orders",
		series: `kafka_topic_current_offset_sum{$n,topic="orders"} 900000+3000x60
kafka_topic_oldest_offset_sum{$n,topic="orders"} 50000x55 600000x5
kafka_consumergroup_current_offset_sum{$n,consumergroup="billing",topic="orders"} 40000+4200x60`,
		quiet: [2]string{`40000+4200x60`, `40000+1200x60`},
		also:  [][2]string{{`40000+4200x60`, `40000+3000x60`}},
		says: "The group reads at 70/s and records are written at 50/s, so it gets ahead again. " +
			"What was deleted before it is gone: see if it can be sent once more."},
	{of: "KafkaGroupBeyondEnd/members",
		alert:  "consumergroup=billing,topic=orders",
		series: `kafka_consumergroup_members{$n,consumergroup="billing"} 3x60`,
		quiet:  [2]string{`3x60`, `0x60`},
		says: "The group has 3 members, which run where the log has nothing for them yet. Stop " +
			"them, reset the group's offsets of this topic, and start them again."},
	{of: "KafkaGroupBeyondEnd/asleep",
		alert:  "consumergroup=billing,topic=orders",
		series: `kafka_consumergroup_members{$n,consumergroup="billing"} 0x60`,
		quiet:  [2]string{`0x60`, `3x60`},
		says: "The group has no members, so nothing is skipped yet. Reset its offsets of this " +
			"topic before its consumers start, or delete the group."},
	{of: "KafkaOfflinePartitions/controller",
		series: `kafka_cluster_controllers{$n} 0x60
kafka_topic_offline_partitions{$n,topic="orders"} 6x60
kafka_broker_up{$n,broker="2"} 0x60`,
		quiet: [2]string{`0x60`, `1x60`},
		says: "The cluster has no controller, and nobody else can give a partition another " +
			"leader: orders alone has 6 without one. See first that a majority of the " +
			"controllers runs, or of ZooKeeper, where it still has one."},
	{of: "KafkaOfflinePartitions/brokers",
		series: `kafka_cluster_controllers{$n} 1x60
kafka_topic_offline_partitions{$n,topic="orders"} 6x60
kafka_topic_offline_partitions{$n,topic="mail"} 1x60
kafka_broker_up{$n,broker="1"} 1x60
kafka_broker_up{$n,broker="2"} 0x60
kafka_broker_up{$n,broker="3"} 0x60`,
		quiet: [2]string{`0x60
kafka_broker_up{$n,broker="3"} 0x60`,
			`1x60`},
		says: "Brokers are away (2), broker 2 among them, and orders has 6 partitions without a " +
			"leader. Start all of them: the last one that was in sync must come back."},
	{of: "KafkaOfflinePartitions/disk",
		series: `kafka_topic_offline_partitions{$n,topic="orders"} 6x60
kafka_broker_up{$n,broker="2"} 1x60
kafka_broker_log_dir_up{$n,broker="2",dir="/data/b"} 0x60`,
		quiet: [2]string{` 0x60`, ` 1x60`},
		says: "All brokers answer, but broker 2 cannot use /data/b, where the last replica in " +
			"sync of orders may be. Try to save that disk's data before you replace it."},
	{of: "KafkaOfflinePartitions/topic",
		series: `kafka_topic_offline_partitions{$n,topic="orders"} 6x60
kafka_topic_offline_partitions{$n,topic="mail"} 1x60
kafka_broker_up{$n,broker="1"} 1x60
kafka_broker_up{$n,broker="2"} 1x60`,
		quiet: [2]string{`6x60
kafka_topic_offline_partitions{$n,topic="mail"} 1x60`,
			`0x60`},
		says: "All brokers that are known answer (2), and orders has most of these partitions, " +
			"6. kafka-topics.sh --describe --unavailable-partitions names their replicas: one " +
			"of these was taken away, or lost its data."},
	{of: "KafkaUnderReplicated/broker",
		series: `kafka_broker_up{$n,broker="1"} 1x60
kafka_broker_up{$n,broker="2"} 0x60
kafka_broker_out_of_sync_replicas{$n,broker="2"} 340x60`,
		quiet: [2]string{`"2"} 0x60`, `"2"} 1x60`},
		says: "Broker 2 does not answer, and 340 replicas of the cluster are out of sync. Start " +
			"it: it catches up by itself, and the alert ends then."},
	{of: "KafkaUnderReplicated/disk",
		series: `kafka_broker_up{$n,broker="2"} 1x60
kafka_broker_log_dir_up{$n,broker="2",dir="/data/b"} 0x60`,
		quiet: [2]string{` 0x60`, ` 1x60`},
		says: "All brokers answer, but broker 2 cannot use /data/b, so the replicas in it are " +
			"gone. Replace that disk and restart the broker."},
	{of: "KafkaUnderReplicated/falling",
		series: `kafka_broker_up{$n,broker="2"} 1x60
kafka_cluster_under_replicated_partitions{$n} 900-10x60`,
		quiet: [2]string{`900-10x60`, `300x60`},
		also:  [][2]string{{`900-10x60`, `900-0.1x60`}}, // for days
		says: "All brokers answer, and the 300 partitions become 10 fewer a minute: a broker " +
			"catches up, or partitions are being moved. Wait, and restart no broker " +
			"meanwhile."},
	{of: "KafkaUnderReplicated/slow",
		series: `kafka_broker_up{$n,broker="2"} 1x60
kafka_cluster_under_replicated_partitions{$n} 310x60
kafka_broker_out_of_sync_replicas{$n,broker="1"} 10x60
kafka_broker_out_of_sync_replicas{$n,broker="2"} 300x60`,
		quiet: [2]string{`"1"} 10x60`, `"1"} 250x60`},
		says: "All brokers answer, and 300 of the 310 replicas that lag are broker 2's: it is " +
			"the slow one. Look at its disk, its network and its garbage collection."},
	{of: "KafkaUnderReplicated/written",
		series: `kafka_broker_up{$n,broker="2"} 1x60
kafka_cluster_under_replicated_partitions{$n} 310x60
kafka_broker_out_of_sync_replicas{$n,broker="1"} 150x60
kafka_broker_out_of_sync_replicas{$n,broker="2"} 160x60
kafka_topic_current_offset_sum{$n,topic="orders"} 90000+3000000x60`,
		quiet: [2]string{`150x60`, `0x60`},
		says: "Replicas lag on 2 brokers alike while records are written at 50000/s: more than " +
			"replication takes. Raise num.replica.fetchers, or throttle the producer that " +
			"writes most."},
	{of: "KafkaNoController/elections",
		series: `kafka_quorum_leader_epoch{$n} 7x50 8 9 10 11 12 13 14 15 16 17`,
		quiet:  [2]string{`8 9 10 11 12 13 14 15 16 17`, `7x10`},
		says: "There were 10 elections in 15 minutes, so controllers run and none stays leader. " +
			"Look at the disks of the controllers first, then for loss in the network between " +
			"them."},
	{of: "KafkaNoController/brokers",
		series: `kafka_broker_up{$n,broker="1"} 1x60
kafka_broker_up{$n,broker="2"} 0x60
kafka_broker_up{$n,broker="3"} 0x60`,
		quiet: [2]string{`0x60
kafka_broker_up{$n,broker="3"} 0x60`,
			`1x60`},
		says: "Brokers are away as well (2, with 1 left), broker 2 among them: where they are " +
			"controllers too, the majority is gone. Start them, and do not delete any " +
			"metadata directory."},
	{of: "KafkaNoController/alone",
		series: `kafka_broker_up{$n,broker="1"} 1x60
kafka_broker_up{$n,broker="2"} 1x60`,
		quiet: [2]string{`1x60`, `0x60`},
		says: "All brokers go on (2), so it is the controllers alone. See that a majority of " +
			"their processes runs, or of ZooKeeper, where it still has one, and that they reach " +
			"each other."},
	{of: "KafkaQuorumVoterBehind/silent",
		alert: "replica=3,role=voter",
		series: `kafka_quorum_voters{$n} 3x60
kafka_quorum_replica_last_fetch_timestamp_seconds{$n,replica="1",role="voter"} 3600x60
kafka_quorum_replica_last_fetch_timestamp_seconds{$n,replica="3",role="voter"} 3000x60
kafka_quorum_replica_last_fetch_timestamp_seconds{$n,replica="3",role="observer"} 3600x60`,
		quiet: [2]string{`3000x60`, `3598x60`},
		says: "Controller 3, one of 3 voters, has not asked the leader for anything for 10 min: " +
			"it is down or does not reach it. Start it, or take it out of the voters if " +
			"another one took its place."},
	{of: "KafkaQuorumVoterBehind/slow",
		alert: "replica=3,role=voter",
		series: `kafka_quorum_voters{$n} 3x60
kafka_quorum_replica_last_fetch_timestamp_seconds{$n,replica="1",role="voter"} 3600x60
kafka_quorum_replica_last_fetch_timestamp_seconds{$n,replica="3",role="voter"} 3599x60
kafka_quorum_replica_lag{$n,replica="3",role="voter"} 5200x60
kafka_quorum_replica_lag{$n,replica="3",role="observer"} 9000x60`,
		quiet: [2]string{`5200x60`, `0x60`},
		says: "Controller 3 asks the leader and still lacks 5200 records of the metadata. Its " +
			"disk is slow, or something else on the machine takes its time."},
	{of: "KafkaLeaderSkew/down",
		alert: "broker=2",
		series: `kafka_broker_up{$n,broker="1"} 0x60
kafka_broker_leaders{$n,broker="2"} 700x60`,
		quiet: [2]string{` 0x60`, ` 1x60`},
		says: "Broker 1 does not answer, so others lead what it led; broker 2 leads 700 " +
			"partitions. Bring that one back first."},
	{of: "KafkaLeaderSkew/preferred",
		alert: "broker=2",
		series: `kafka_broker_up{$n,broker="1"} 1x60
kafka_broker_leaders{$n,broker="2"} 700x60
kafka_cluster_not_preferred_leader_partitions{$n} 350x60`,
		quiet: [2]string{`350x60`, `0x60`},
		says: "Broker 2 leads 700 partitions, and 350 of the cluster are led by another replica " +
			"than the preferred one, as after a restart. kafka-leader-election.sh with " +
			"--election-type preferred --all-topic-partitions puts that right and moves no " +
			"data."},
	{of: "KafkaLeaderSkew/replicas",
		alert: "broker=2",
		series: `kafka_cluster_not_preferred_leader_partitions{$n} 0x60
kafka_broker_replicas{$n,broker="1"} 500x60
kafka_broker_replicas{$n,broker="2"} 1500x60`,
		quiet: [2]string{`1500x60`, `500x60`},
		says: "All partitions have their preferred leaders, and broker 2 has 1500 replicas " +
			"where the mean is 1000. Spread them with kafka-reassign-partitions.sh, as after " +
			"a broker was added."},
	{of: "KafkaBrokerDown/named",
		alert:  "broker=2",
		series: `kafka_broker_info{$n,id="2",address="kafka-2:9093"} 1x60`,
		quiet:  [2]string{`"2"`, `"1"`},
		says: "The other brokers name it as alive at kafka-2:9093, and there it does not answer " +
			"Ringwatch. See if the role watch reaches that address; if it does, its request " +
			"threads are busy."},
	{of: "KafkaBrokerDown/offline",
		alert: "broker=2",
		series: `kafka_broker_info{$n,id="1",address="kafka-1:9093"} 1x60
kafka_cluster_offline_partitions{$n} 12x60`,
		quiet: [2]string{`12x60`, `0x60`},
		says: "No other broker has a replica in sync of 12 partitions, so nobody can read or " +
			"write them. Start this broker before anything else."},
	{of: "KafkaBrokerDown/full",
		alert: "broker=2",
		series: `kafka_cluster_offline_partitions{$n} 0x60
kafka_broker_log_dir_usable_bytes{$n,broker="2",dir="/data"} 1e9x55 _x5
kafka_broker_log_dir_total_bytes{$n,broker="2",dir="/data"} 100e9x55 _x5`,
		quiet: [2]string{` 1e9x55`, ` 30e9x55`},
		says: "Its /data was 99 % full when it last answered, and a broker whose disk is full " +
			"stops. Make room there before you start it."},
	{of: "KafkaBrokerDown/replicas",
		alert: "broker=2",
		series: `kafka_broker_up{$n,broker="1"} 1x60
kafka_broker_up{$n,broker="2"} 0x60
kafka_broker_up{$n,broker="3"} 1x60
kafka_cluster_under_replicated_partitions{$n} 310x60`,
		quiet: [2]string{`310x60`, `0x60`},
		says: "The 2 other brokers do its work, and 310 partitions lack a replica until it is " +
			"back. Read the end of its server.log and dmesg, then start it."},
	{of: "KafkaLogDirFailed/offline",
		alert:  "broker=2,dir=/data/b",
		series: `kafka_cluster_offline_partitions{$n} 12x60`,
		quiet:  [2]string{`12x60`, `0x60`},
		says: "12 partitions have no leader, most likely since their only replica in sync was " +
			"on that disk. Try to save its data before you replace it."},
	{of: "KafkaLogDirFailed/others",
		alert: "broker=2,dir=/data/b",
		series: `kafka_cluster_offline_partitions{$n} 0x60
kafka_broker_log_dir_up{$n,broker="2",dir="/data/a"} 1x60
kafka_broker_log_dir_up{$n,broker="2",dir="/data/b"} 0x60
kafka_broker_out_of_sync_replicas{$n,broker="2"} 160x60`,
		quiet: [2]string{` 1x60`, ` 0x60`},
		says: "Other directories of the broker work (1), so it is this disk; 160 of its " +
			"replicas are out of sync. Replace it, mount an empty one at the same place, and " +
			"restart the broker: it fetches them again."},
	{of: "KafkaLogDirFull/other",
		alert: "broker=2,dir=/data/b",
		series: `kafka_broker_log_dir_total_bytes{$n,broker="2",dir="/data/b"} 1e12x60
kafka_broker_log_dir_usable_bytes{$n,broker="2",dir="/data/b"} 0.1e12x60
kafka_broker_log_dir_size_bytes{$n,broker="2",dir="/data/b"} 0.4e12x60`,
		quiet: [2]string{`0.4e12`, `0.85e12`},
		says: "466 GiB of the volume are not logs in this directory, so something else fills " +
			"it. Find that with du before you shorten any retention."},
	{of: "KafkaLogDirFull/uneven",
		alert: "broker=2,dir=/data/b",
		series: `kafka_broker_log_dir_total_bytes{$n,broker="1",dir="/data/b"} 1e12x60
kafka_broker_log_dir_usable_bytes{$n,broker="1",dir="/data/b"} 0.5e12x60
kafka_broker_topic_log_size_bytes{$n,broker="2",topic="orders"} 0.6e12x60
kafka_broker_topic_log_size_bytes{$n,broker="2",topic="mail"} 0.1e12x60`,
		quiet: [2]string{`0.5e12`, `0.1e12`},
		says: "No other broker is more than 50 % full, so replicas are uneven; the largest " +
			"topic here is orders with 559 GiB. Move replicas to the others with " +
			"kafka-reassign-partitions.sh."},
	{of: "KafkaLogDirFull/fills",
		alert: "broker=2,dir=/data/b",
		series: `kafka_broker_log_dir_usable_bytes{$n,broker="2",dir="/data/b"} 130e9-0.5e9x60
kafka_broker_topic_log_size_bytes{$n,broker="2",topic="orders"} 0.6e12x60`,
		quiet: [2]string{`130e9-0.5e9x60`, `100e9x60`},
		says: "93.1 GiB are left, and as it went the last six hours they are gone in 3 h 20 " +
			"min. Shorten retention.ms of the largest topic, orders with 559 GiB, or add disk " +
			"in that time."},
	{of: "KafkaLogDirFull/slowly",
		alert: "broker=2,dir=/data/b",
		series: `kafka_broker_log_dir_usable_bytes{$n,broker="2",dir="/data/b"} 100.3e9-5e6x60
kafka_broker_topic_log_size_bytes{$n,broker="2",topic="orders"} 0.6e12x60`,
		quiet: [2]string{`100.3e9-5e6x60`, `100e9x60`},
		also:  [][2]string{{`100.3e9-5e6x60`, `130e9-0.5e9x60`}},
		says: "93.1 GiB are left, which last 13 d 21 h as it went the last six hours; the " +
			"largest topic is orders with 559 GiB. Plan for a shorter retention or a larger " +
			"disk."},
	{of: "KafkaLogDirFull/steady",
		alert: "broker=2,dir=/data/b",
		series: `kafka_broker_log_dir_usable_bytes{$n,broker="2",dir="/data/b"} 100e9x60
kafka_broker_topic_log_size_bytes{$n,broker="2",topic="orders"} 0.6e12x60`,
		quiet: [2]string{`100e9x60`, `130e9-0.5e9x60`},
		also:  [][2]string{{`100e9x60`, `100.3e9-5e6x60`}},
		says: "93.1 GiB are left and do not shrink, so retention keeps up; the largest topic is " +
			"orders with 559 GiB. Make its retention shorter or the disk larger before more " +
			"is written."},
}
