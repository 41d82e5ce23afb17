package advice_test

// activityCases are of the alerts of rules/activity.yaml.
var activityCases = []speaking{
	{of: "CassandraTaskStandsStill/full",
		alert: "task=compaction,keyspace=shop,table=orders",
		series: `os_filesystem_size_bytes{$n,device="sdb",mount="/data"} 100e9x60
os_filesystem_available_bytes{$n,device="sdb",mount="/data"} 3e9x60
cassandra_task_done_ratio{$n,task="compaction",$t,slot="0"} 0.4x60`,
		quiet: [2]string{` 3e9`, ` 30e9`},
		says: "/data is 97 % full, and a task waits until there is space for what it writes. " +
			"Clear snapshots first."},
	{of: "CassandraTaskStandsStill/alone",
		alert: "task=compaction,keyspace=shop,table=orders",
		series: `cassandra_task_done_ratio{$n,task="compaction",$t,slot="0"} 0.4x60
cassandra_task_done_ratio{$n,task="compaction",$i,slot="0"} 0.1+0.01x60`,
		quiet: [2]string{`0.1+0.01x`, `0.1x`},
		says: "Other tasks of the node go on (1), so it is this one. Stop it with nodetool " +
			"stop -id and let Cassandra begin it again; if it stops at the same place, " +
			"scrub the table."},
	{of: "CassandraTaskStandsStill/all",
		alert: "task=compaction,keyspace=shop,table=orders",
		series: `cassandra_task_done_ratio{$n,task="compaction",$t,slot="0"} 0.4x60
cassandra_task_done_ratio{$n,task="compaction",$i,slot="0"} 0.1x60`,
		quiet: [2]string{`0.1x60`, `0.1+0.01x60`},
		says: "None of the node's 2 tasks goes on, so it is the node: its disk, or the limit " +
			"of throughput. Look at dmesg, then drain the node and restart it."},
	{of: "CassandraStreamStandsStill/peer",
		alert:  "operation=bootstrap",
		series: `cassandra_peer_up{$n,peer="10.0.0.2:7000"} 0x60`,
		quiet:  [2]string{`} 0x`, `} 1x`},
		says: "The node takes 10.0.0.2:7000 for down, and what streams from there cannot go " +
			"on. Bring it back, then start the bootstrap again, or resume it."},
	{of: "CassandraStreamStandsStill/builds",
		alert: "operation=bootstrap",
		series: `cassandra_peer_up{$n,peer="10.0.0.2:7000"} 1x60
cassandra_task_done_ratio{$n,task="index_build",$t,slot="0"} 0.4x60`,
		quiet: [2]string{`index_build`, `compaction`},
		says: "Indexes or views (1) are built from what has come, and streams wait for that. " +
			"Leave the node alone as long as these go on."},
	{of: "CassandraRepairDueSoon/running",
		alert: "cluster,keyspace=shop",
		series: `cassandra_repair_due_timestamp_seconds{$n,$t} 90000x60
cassandra_repair_session_done_ratio{$n,$t,slot="0"} 0.4x60`,
		quiet: [2]string{`$t,slot`,
			`keyspace="users",table="all",slot`},
		says: "A repair of shop.orders runs on db-1 and is 40 % done. See that it ends in " +
			"time, and let nothing stop it."},
	{of: "CassandraRepairDueSoon/failed",
		alert: "cluster,keyspace=shop",
		series: `cassandra_repair_due_timestamp_seconds{$n,$t} 90000x60
cassandra_repair_gc_grace_seconds{$n,$t} 864000x60
cassandra_repair_last_full_success_timestamp_seconds{$n,$t} 9x60
cassandra_repair_due_timestamp_seconds{$n,$i} 10000x60
cassandra_repair_gc_grace_seconds{$n,$i} 864000x60
cassandra_repair_failures_total{$n} 0x30 3x30`,
		quiet: [2]string{`0x30 3x30`, `3x60`},
		also: [][2]string{{`$t} 864000x60`, `$t} 3600x60`},
			{`$t} 9x60`, `$t} _x60`}},
		says: "Repairs of the cluster failed within a day (3), and orders has 1 d left. See " +
			"why they fail before you start another."},
	{of: "CassandraRepairDueSoon/table",
		alert: "cluster,keyspace=shop",
		series: `cassandra_repair_due_timestamp_seconds{$n,$t} 90000x60
cassandra_repair_gc_grace_seconds{$n,$t} 864000x60
cassandra_repair_last_full_success_timestamp_seconds{$n,$t} 9x60
cassandra_repair_due_timestamp_seconds{$n,$i} 10000x60
cassandra_repair_gc_grace_seconds{$n,$i} 864000x60
cassandra_repair_failures_total{$n} 3x60`,
		quiet: [2]string{`3x60`, `0x30 3x30`},
		also: [][2]string{{`$t} 864000x60`, `$t} 3600x60`},
			{`$t} 9x60`, `$t} _x60`}},
		says: "orders has the least time, 1 d, and no repair of it runs. Look why the " +
			"schedule has not begun one, or run nodetool repair -full -pr shop on each " +
			"node."},
	{of: "CassandraRepairOverdue/running",
		alert: "cluster,keyspace=shop",
		series: `cassandra_repair_due_timestamp_seconds{$n,$t} -90000x60
cassandra_repair_session_done_ratio{$n,$t,slot="0"} 0.4x60`,
		quiet: [2]string{`$t,slot`,
			`keyspace="users",table="all",slot`},
		says: "A repair of shop.orders runs on db-1 and is 40 % done. Wait for it: the alert " +
			"ends when all ranges are repaired."},
	{of: "CassandraRepairOverdue/missed",
		alert: "cluster,keyspace=shop",
		series: `cassandra_repair_due_timestamp_seconds{$n,$t} -90000x60
cassandra_hints_peer_not_stored_total{$2,peer="10.0.0.1:7000"} 0x30 4000x30`,
		quiet: [2]string{`0x30 4000x30`, `4000x60`},
		says: "4000 writes for 10.0.0.1:7000 were not kept as hints within a day, so it may " +
			"have missed deletes. Repair soon, and if it was away for longer than " +
			"gc_grace_seconds, rebuild it rather than repair from it."},
	{of: "CassandraRepairOverdue/table",
		alert: "cluster,keyspace=shop",
		series: `cassandra_repair_due_timestamp_seconds{$n,$t} -90000x60
cassandra_repair_gc_grace_seconds{$n,$t} 864000x60
cassandra_repair_last_full_success_timestamp_seconds{$n,$t} 9x60
cassandra_repair_due_timestamp_seconds{$n,$i} -190000x60
cassandra_repair_gc_grace_seconds{$n,$i} 3600x60
cassandra_repair_last_full_success_timestamp_seconds{$n,$i} 9x60
cassandra_hints_peer_not_stored_total{$2,peer="10.0.0.1:7000"} 4000x60`,
		quiet: [2]string{` 4000x60`, ` 0x30 4000x30`},
		also: [][2]string{{`$t} 864000x60`, `$t} 3600x60`},
			{`$t} 9x60`, `$t} _x60`}},
		says: "orders is the latest, by 1 d 2 h, and no hints were given up within a day, so " +
			"replicas most likely agree. Repair the keyspace now, one node after the other."},
	{of: "CassandraNeverRepaired/left_out",
		alert: "cluster,keyspace=shop",
		series: `cassandra_repair_gc_grace_seconds{$n,$t} 864000x60
cassandra_repair_gc_grace_seconds{$n,$i} 864000x60
cassandra_repair_last_full_success_timestamp_seconds{$n,$i} 9x60`,
		quiet: [2]string{`9x60`, `_x60`},
		says: "orders is left out while other tables of the keyspace (1) are repaired; its " +
			"gc_grace_seconds are 10 d. Add it to the schedule, best by naming the " +
			"keyspace."},
	{of: "CassandraNeverRepaired/tombstones",
		alert: "cluster,keyspace=shop",
		series: `cassandra_repair_gc_grace_seconds{$n,$t} 864000x60
table:cassandra_table_tombstones_scanned:p99_5m{$c,$t} 30x60`,
		quiet: [2]string{`30x60`, `0.5x60`},
		says: "Reads of orders meet up to 30 tombstones, by deletes or by rows that expired. " +
			"If rows are deleted repair the keyspace; if they only expire nothing has to " +
			"be done."},
	{of: "CassandraRepairFailed/down",
		series: `cassandra_peer_up{$n,peer="10.0.0.2:7000"} 0x60`,
		quiet:  [2]string{`} 0x`, `} 1x`},
		says: "The node takes 10.0.0.2:7000 for down, and a repair needs all replicas of its " +
			"ranges. Bring it back, then start the repair again."},
	{of: "CassandraRepairFailed/releases",
		series: `cassandra_peer_up{$n,peer="10.0.0.2:7000"} 1x60
cassandra_node_version_info{$n,value="5.0.6"} 1x60
cassandra_node_version_info{$2,value="4.1.3"} 1x60`,
		quiet: [2]string{`4.1.3`, `5.0.2`},
		says: "Nodes run 2 releases, and releases do not stream to each other. End the " +
			"upgrade before the next repair."},
	{of: "CassandraRepairFailed/said",
		series: `cassandra_peer_up{$n,peer="10.0.0.2:7000"} 1x60`,
		events: events{"repair": {Node: "n1",
			Text: "Repair session failed: validation of shop.orders on /10.0.0.2",
		}},
		quiet: [2]string{` 1x`, ` 0x`},
		says: "The newest that the node says of repairs, 5 min ago, reads: Repair session " +
			"failed: validation of shop.orders on /10.0.0.2. Look at the same time into " +
			"system.log of the replica that it names."},
	{of: "CassandraSnapshotsOld/largest",
		alert: "cluster,keyspace=shop",
		series: `cassandra_snapshot_oldest_timestamp_seconds{$n,$t} -4000000x60
cassandra_snapshot_size_bytes{$n,$t} 20e9x60
cassandra_snapshots{$n,$t} 2x60
cassandra_snapshots{$2,$t} 2x60`,
		quiet: [2]string{`-4000000x60`, `_x60`},
		says: "The keyspace's snapshots take 18.6 GiB (nodes: 2), and the oldest, of orders, " +
			"is 46 d 8 h old. Ask who needs it, and clear it on all of them."},
	{of: "CassandraSnapshotsLarge/largest",
		series: `os_filesystem_size_bytes{$n,device="sdb",mount="/data"} 100e9x60
os_filesystem_available_bytes{$n,device="sdb",mount="/data"} 10e9x60
cassandra_snapshot_size_bytes{$n,$t} 20e9x60
cassandra_snapshot_size_bytes{$n,$i} 5e9x60`,
		quiet: [2]string{`10e9x60`, `_x60`},
		says: "Snapshots take 23.3 GiB here while 9.31 GiB are free, 18.6 GiB of them of " +
			"shop.orders. nodetool listsnapshots has their names: clear those that nobody " +
			"needs."},
	{of: "CassandraBackupsGrow/fills",
		series: `os_filesystem_size_bytes{$n,device="sdb",mount="/data"} 100e9x300
os_filesystem_available_bytes{$n,device="sdb",mount="/data"} 40e9-0.1e9x300`,
		quiet: [2]string{`40e9-0.1e9x300`, `40e9x300`},
		day:   true,
		says: "As it went the last six hours a disk of the node is full in 8 h 20 min. " +
			"Remove what was copied from the directories backups, or turn them off with " +
			"nodetool disablebackup."},
	{of: "CassandraBackupsGrow/steady",
		series: `os_filesystem_size_bytes{$n,device="sdb",mount="/data"} 100e9x60
os_filesystem_available_bytes{$n,device="sdb",mount="/data"} 10e9x60
cassandra_node_incremental_backups_enabled{$n} 1x60`,
		quiet: [2]string{`10e9x60`, `10e9-0.1e9x60`},
		says: "9.31 GiB are free and do not shrink much; incremental backups are on in the " +
			"cluster (nodes: 1). Look whether the tool that copies them also removes them."},
	{of: "CassandraErrorsLogged/newest",
		series: `ringwatch_events_total{$n,kind="error",severity="error"} 0+12x60`,
		events: events{"error": {Node: "n1",
			Text: "CorruptSSTableException: /data/shop/orders/nb-7-big-Data.db",
		}},
		quiet: [2]string{`0+12x60`, `_x60`},
		says: "The newest of 120 errors in ten minutes, 5 min ago, reads: " +
			"CorruptSSTableException: /data/shop/orders/nb-7-big-Data.db. Most are of one " +
			"kind when there are so many: take away what it names."},
	{of: "CassandraSlowQueries/statement",
		series: `table:cassandra_table_read_latency_seconds:p99_5m{$c,$t} 1.5x60`,
		events: events{"slow_query": {Node: "n1",
			Labels: map[string]string{"keyspace": "shop", "table": "orders", "times": "12",
				"slowest_seconds": "3.2", "operation": "select"},
			Text: "SELECT * FROM shop.orders WHERE status = ? ALLOW FILTERING",
		}},
		says: "The newest, of shop.orders, was slow 12 times in a minute and took up to 3.2 " +
			"s: SELECT * FROM shop.orders WHERE status = ? ALLOW FILTERING. If it has no " +
			"partition key, or ALLOW FILTERING, give it a table of its own."},
	{of: "CassandraSlowQueries/table",
		series: `table:cassandra_table_read_latency_seconds:p99_5m{$c,$t} 1.5x60`,
		quiet:  [2]string{`1.5x`, `_x`},
		says: "The slowest table is shop.orders, with 1.5 s for one in a hundred reads. " +
			"ringwatch slow-queries has the statements."},
	{of: "CassandraLargePartitions/partition",
		alert:  "cluster",
		series: `table:cassandra_table_max_partition_size_bytes:max{$c,$t} 2e8x60`,
		events: events{"large_partition": {Node: "n1",
			Labels: map[string]string{"keyspace": "shop", "table": "orders",
				"partition":  "customer-7",
				"size_bytes": "214748364"},
		}},
		says: "The newest, written 5 min ago on db-1, is customer-7 of shop.orders, with 205 " +
			"MiB. Ask whose data it is, and give the table a bucket in its partition key."},
	{of: "CassandraLargePartitions/table",
		alert:  "cluster",
		series: `table:cassandra_table_max_partition_size_bytes:max{$c,$t} 2e8x60`,
		quiet:  [2]string{`2e8`, `2e6`},
		says: "The largest partition is of shop.orders, with 191 MiB. Give the table a " +
			"bucket in its partition key, such as the day."},
	{of: "RingwatchAgentDropsEvents/kind",
		series: `ringwatch_events_total{$n,kind="slow_query",severity="warning"} 0+40x60`,
		quiet:  [2]string{`0+40x60`, `7x60`},
		says: "Most of what the node says is of the kind slow_query, 600 events in 15 " +
			"minutes. Take its cause away, or raise its logger's level if it means nothing " +
			"to you."},
}
