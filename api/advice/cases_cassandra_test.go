package advice_test

// cassandraCases are of the alerts of rules/cassandra.yaml.
var cassandraCases = []speaking{
	{of: "CassandraAgentSilent/agent",
		series: `ringwatch_node_info{$n,address="10.0.0.1:7000"} 1x60
cassandra_peer_up{$2,peer="10.0.0.1:7000"} 1x60`,
		quiet: [2]string{`cassandra_peer_up{$2,peer="10.0.0.1:7000"} 1x60`,
			`cassandra_peer_up{$2,peer="10.0.0.1:7000"} 0x60`},
		says: "All other nodes (1) take it for up, so Cassandra runs, and only its agent or " +
			"the way to ingest fails. Run ringwatch doctor on the node, and look for " +
			"ringwatch-agent in its system.log."},
	{of: "CassandraNodeDown/down",
		series: `ringwatch_node_info{$n,address="10.0.0.1:7000"} 1x60
cassandra_peer_up{$2,peer="10.0.0.1:7000"} 0x60
ringwatch_node_last_seen_timestamp_seconds{$n} 3000x60`,
		quiet: [2]string{`cassandra_peer_up{$2,peer="10.0.0.1:7000"} 0x60`,
			`cassandra_peer_up{$2,peer="10.0.0.1:7000"} 1x60`},
		says: "Other nodes (1) take it for down too, and nothing has come from it for 10 " +
			"min. Start it again: after three hours hints for it are given up, and then it " +
			"needs a repair."},
	{of: "CassandraNodesDown/rack",
		alert: "cluster",
		series: `up{$n} 0x60
up{$c,datacenter="dc1",rack="r1",node="n3"} 0x60
up{$2} 1x60`,
		quiet: [2]string{`up{$2} 1`, `up{$2} 0`},
		says: "All 2 silent nodes are in rack r1 of datacenter dc1, so look at what they " +
			"share: its power, its switch, its zone. Where replicas are spread over racks, " +
			"quorums hold as long as no node of another rack fails."},
	{of: "CassandraNodesDown/racks",
		alert: "cluster",
		series: `up{$n} 0x60
up{$c,datacenter="dc1",rack="r1",node="n3"} 1x60
up{$2} 0x60`,
		quiet: [2]string{`up{$2} 0`, `up{$2} 1`},
		says: "2 of 3 nodes in 2 racks are silent, so some rows may have lost their quorum. " +
			"If they are most of all nodes, look at the network to ingest before the nodes."},
	{of: "CassandraNodeSlow/disk",
		series: `os_disk_io_seconds_total{$n,device="sda"} 0+54x60`,
		quiet:  [2]string{"0+54x60", "0+30x60"},
		says: "A disk of it is busy 90 % of the time, so it is slow or has too much to do. " +
			"Look for errors in dmesg, and at what its volume may do in a second."},
	{of: "CassandraNodeSlow/processors",
		series: `os_pressure_waiting_seconds_total{$n,resource="cpu"} 0+30x60`,
		quiet:  [2]string{"0+30x60", "0+6x60"},
		says: "Something on it waits for a processor 50 % of the time. Look for another " +
			"process on the machine, or for neighbours on its host."},
	{of: "CassandraNodeSlow/collections",
		series: `jvm_gc_collection_seconds_total{$n,gc="G1 Young Generation"} 0+6x60`,
		quiet:  [2]string{"0+6x60", "0+0.6x60"},
		says: "Collections stop it 10 % of the time. Look at the heap and at what was " +
			"read: large partitions and many tombstones fill it."},
	{of: "CassandraNotServing/disk",
		series: `cassandra_node_gossip_running{$n} 0x60
cassandra_node_native_transport_running{$n} 0x60
cassandra_node_operation_mode_info{$n,value="NORMAL"} 1x60
os_filesystem_available_bytes{$n,mount="/data"} 1x60
os_filesystem_size_bytes{$n,mount="/data"} 100x60`,
		quiet: [2]string{`} 0x`, `} 1x`},
		says: "Cassandra turned clients and gossip off at once, as it does when a disk fails " +
			"it, and /data is 99 % full. Free space there, and then restart the node."},
	{of: "CassandraNotServing/policy",
		series: `cassandra_node_gossip_running{$n} 0x60
cassandra_node_native_transport_running{$n} 0x60
cassandra_node_operation_mode_info{$n,value="NORMAL"} 1x60`,
		quiet: [2]string{`} 0x`, `} 1x`},
		says: "Cassandra turned clients and gossip off at once, as disk_failure_policy does " +
			"after an error of a disk or of a damaged file. Look for the error in its " +
			"system.log, mend it, and then restart the node."},
	{of: "CassandraNotServing/clients",
		series: `cassandra_node_gossip_running{$n} 1x60
cassandra_node_native_transport_running{$n} 0x60`,
		quiet: [2]string{`} 0x`, `} 1x`},
		says: "It gossips, so other nodes still send it reads and writes: only its own clients " +
			"are turned away. nodetool enablebinary lets them in, if nobody keeps them out on " +
			"purpose."},
	{of: "CassandraUnavailables/down",
		series: `cassandra_node_peers_down{$n} 2x60`,
		quiet:  [2]string{`2x`, `0x`},
		says: "This coordinator takes 2 nodes for down, and refuses what needs them. Bring " +
			"them back: no setting of this node helps."},
	{of: "CassandraUnavailables/replicas",
		series: `cassandra_node_peers_down{$n} 0x60`,
		quiet:  [2]string{`0x`, `1x`},
		says: "This coordinator takes no node for down, so what is asked needs more replicas " +
			"than there are. Look for a keyspace with one replica, or with none in the " +
			"datacenter of LOCAL_QUORUM."},
	{of: "CassandraTimeouts/pauses",
		series: `jvm_gc_collection_seconds_total{$n,gc="G1 Young"} 0+12x60`,
		quiet:  [2]string{`0+12`, `0+3`},
		says: "db-1 stands still for garbage collection 20 % of the time, and coordinators " +
			"that need it time out. Look at its heap; nodetool disablebinary there keeps " +
			"clients away meanwhile."},
	{of: "CassandraTimeouts/queue",
		series: `jvm_gc_collection_seconds_total{$n,gc="G1 Young"} 0+1x60
cassandra_thread_pool_pending_tasks{$2,pool="ReadStage"} 120x60`,
		quiet: [2]string{`120x`, `5x`},
		says: "120 tasks wait in ReadStage of db-2, the longest queue of the cluster. That " +
			"replica is most likely the slow one: look at its disk and at what it compacts."},
	{of: "CassandraTimeouts/statement",
		series: `jvm_gc_collection_seconds_total{$n,gc="G1 Young"} 0+1x60`,
		events: events{"slow_query": {Node: "n1",
			Labels: map[string]string{"keyspace": "shop", "table": "orders", "times": "12",
				"slowest_seconds": "3.2", "operation": "select"},
			Text: "SELECT * FROM shop.orders WHERE status = ? ALLOW FILTERING",
		}},
		quiet: [2]string{`0+1x`, `0+30x`},
		says: "The newest slow statement, on shop.orders 5 min ago, took up to 3.2 s: SELECT " +
			"* FROM shop.orders WHERE status = ? ALLOW FILTERING. If it is new, ask whose " +
			"it is; smaller pages and a partition key make it fast."},
	{of: "CassandraReadLatencyHigh/tombstones",
		alert: "consistency=ONE",
		series: `table:cassandra_table_read_latency_seconds:p99_5m{$c,$t} 1.5x60
table:cassandra_table_tombstones_scanned:p99_5m{$c,$t} 4000x60
table:cassandra_table_max_partition_size_bytes:max{$c,$t} 2e8x60`,
		quiet: [2]string{`4000x`, `40x`},
		says: "The slowest table is shop.orders, whose replicas take 1.5 s for one in a " +
			"hundred reads, over 4000 tombstones. Let the query begin after the deleted " +
			"rows, or run nodetool garbagecollect on that table."},
	{of: "CassandraReadLatencyHigh/partitions",
		alert: "consistency=ONE",
		series: `table:cassandra_table_read_latency_seconds:p99_5m{$c,$t} 1.5x60
table:cassandra_table_tombstones_scanned:p99_5m{$c,$t} 4x60
table:cassandra_table_max_partition_size_bytes:max{$c,$t} 2e8x60`,
		quiet: [2]string{`2e8`, `2e6`},
		says: "The slowest table is shop.orders, whose replicas take 1.5 s for one in a " +
			"hundred reads, and it has a partition of 191 MiB. Read less of a partition at " +
			"a time, and give the table a bucket in its partition key."},
	{of: "CassandraReadLatencyHigh/pauses",
		alert: "consistency=ONE",
		series: `table:cassandra_table_read_latency_seconds:p99_5m{$c,$t} 1.5x60
jvm_gc_collection_seconds_total{$n,gc="G1 Young"} 0+15x60`,
		quiet: [2]string{`0+15`, `0+1`},
		says: "db-1 stands still for garbage collection 25 % of the time, and reads that " +
			"need it wait. Look at its heap before the tables."},
	{of: "CassandraReadLatencyHigh/table",
		alert: "consistency=ONE",
		series: `table:cassandra_table_read_latency_seconds:p99_5m{$c,$t} 1.5x60
table:cassandra_table_read_latency_seconds:rate5m{$c,$t} 250x60`,
		quiet: [2]string{`1.5x`, `0.005x`},
		says: "The slowest table is shop.orders, read at 250/s: one in a hundred reads takes " +
			"its replicas 1.5 s. nodetool tablehistograms says how many SSTables one read " +
			"touches; many mean that compaction is behind."},
	{of: "CassandraWriteLatencyHigh/commit_log",
		alert:  "consistency=ONE",
		series: `cassandra_commit_log_pending_tasks{$2} 40x60`,
		quiet:  [2]string{`40x`, `0x`},
		says: "40 writes wait for the commit log of db-2, so its disk is slow or shared with " +
			"data. Slow compaction down there, and give the commit log a disk of its own."},
	{of: "CassandraWriteLatencyHigh/flushes",
		alert: "consistency=ONE",
		series: `cassandra_commit_log_pending_tasks{$2} 0x60
cassandra_memtable_pool_pending_flush_tasks{$n} 9x60`,
		quiet: [2]string{`9x`, `0x`},
		says: "9 flushes wait on db-1: its data disk takes less than is written. Slow " +
			"compaction down there (nodetool setcompactionthroughput) until they are done."},
	{of: "CassandraWriteLatencyHigh/pauses",
		alert:  "consistency=ONE",
		series: `jvm_gc_collection_seconds_total{$n,gc="G1 Young"} 0+12x60`,
		quiet:  [2]string{`0+12`, `0+3`},
		says: "db-1 stands still for garbage collection 20 % of the time, and writes that " +
			"need it wait. Look for large batches, and at its heap."},
	{of: "CassandraTombstonesScanned/statement",
		alert:  "cluster,keyspace=shop,table=orders",
		series: `table:cassandra_table_tombstones_scanned:p99_5m{$c,$t} 4000x60`,
		events: events{"tombstones": {Node: "n1",
			Labels: map[string]string{"keyspace": "shop", "table": "orders", "tombstones": "8123"},
			Text:   "SELECT id FROM shop.orders WHERE day = ? LIMIT ?",
		}},
		says: "db-1 met 8123 tombstones 5 min ago with the statement SELECT id FROM " +
			"shop.orders WHERE day = ? LIMIT ?. Let it begin after the deleted rows, or " +
			"let rows of a queue go into a table for each day."},
	{of: "CassandraTombstonesScanned/all",
		alert: "cluster,keyspace=shop,table=orders",
		series: `table:cassandra_table_tombstones_scanned:p99_5m{$c,$t} 4000x60
table:cassandra_table_read_latency_seconds:rate5m{$c,$t} 250x60`,
		quiet: [2]string{`250x`, `0x`},
		says: "The table is read at 250/s, and one in a hundred reads passes 4000 " +
			"tombstones; no statement was caught. Look for null that is written for unset " +
			"columns, and for queues; compaction takes tombstones away after " +
			"gc_grace_seconds."},
	{of: "CassandraPendingCompactions/large",
		series: `cassandra_task_remaining_seconds{$n,task="compaction",$t,slot="0"} 2400x60
cassandra_task_size_bytes{$n,task="compaction",$t,slot="0"} 80e9x60
cassandra_compaction_pending_tasks{$n} 100+2x60`,
		quiet: [2]string{`100+2x`, `400-2x`},
		says: "Waiting compactions grow by 2 a minute while one of 74.5 GiB of shop.orders " +
			"runs, which ends in 40 min. Wait for it if the disk has space, or let more " +
			"run beside it (nodetool setconcurrentcompactors)."},
	{of: "CassandraPendingCompactions/falling",
		series: `cassandra_compaction_pending_tasks{$n} 240-2x60`,
		quiet:  [2]string{`240-2x`, `240+2x`},
		says: "Waiting compactions already fall, and at this rate are done in 1 h. Nothing " +
			"has to be done but to leave the node alone meanwhile."},
	{of: "CassandraPendingCompactions/table",
		series: `cassandra_compaction_pending_tasks{$n} 240x60
cassandra_table_pending_compactions{$n,$t} 200x60
cassandra_compaction_compacted_bytes_total{$n} 0+600e6x60`,
		quiet: [2]string{` 200x`, ` 20x`},
		says: "200 of them are of shop.orders alone, and the node compacts 9.54 MiB/s. Check " +
			"that table's compaction strategy: leveled compaction does not keep up with " +
			"heavy writes."},
	{of: "CassandraPendingCompactions/limit",
		series: `cassandra_compaction_pending_tasks{$n} 240x60
cassandra_compaction_compacted_bytes_total{$n} 0+600e6x60
os_disk_io_seconds_total{$n,device="sdb"} 0+12x60`,
		quiet: [2]string{`0+12x`, `0+55x`},
		says: "The node compacts 9.54 MiB/s while its disks are busy 20 % of the time, so " +
			"the limit holds it back and not the disk. Raise it with nodetool " +
			"setcompactionthroughput, and set it back afterwards."},
	{of: "CassandraBlockedWriters/full",
		alert: "pool=CompactionExecutor",
		series: `os_filesystem_size_bytes{$n,device="sdb",mount="/data"} 100e9x60
os_filesystem_available_bytes{$n,device="sdb",mount="/data"} 3e9x60`,
		quiet: [2]string{` 3e9`, ` 30e9`},
		says: "/data is 97 % full, and what flushes or compacts needs space. Clear snapshots " +
			"first (nodetool listsnapshots)."},
	{of: "CassandraBlockedWriters/busy",
		alert: "pool=CompactionExecutor",
		series: `os_filesystem_size_bytes{$n,device="sdb",mount="/data"} 100e9x60
os_filesystem_available_bytes{$n,device="sdb",mount="/data"} 50e9x60
os_disk_io_seconds_total{$n,device="sdb"} 0+59x60
os_disk_written_bytes_total{$n,device="sdb"} 0+6e9x60`,
		quiet: [2]string{`0+59x`, `0+5x`},
		says: "Disk sdb is busy 98.3 % of the time, at 95.4 MiB/s of writes: it is at its " +
			"limit. Slow compaction and streams down until the pool is free."},
	{of: "CassandraPendingRequests/pauses",
		alert:  "pool=ReadStage",
		series: `jvm_gc_collection_seconds_total{$n,gc="G1 Young"} 0+12x60`,
		quiet:  [2]string{`0+12`, `0+3`},
		says: "The node stands still for garbage collection 20 % of the time, and tasks " +
			"queue meanwhile. Look at its heap before its load."},
	{of: "CassandraPendingRequests/alone",
		alert: "pool=ReadStage",
		series: `cassandra_thread_pool_pending_tasks{$n,pool="ReadStage"} 700x60
cassandra_thread_pool_pending_tasks{$2,pool="ReadStage"} 3x60`,
		quiet: [2]string{`3x60`, `300x60`},
		says: "700 tasks wait in ReadStage here, and 3 at most on any other node, so it is " +
			"this node and not the load. Look for a slow disk and for a partition that " +
			"everybody asks for (nodetool toppartitions)."},
	{of: "CassandraPendingRequests/load",
		alert: "pool=ReadStage",
		series: `cassandra_thread_pool_pending_tasks{$n,pool="ReadStage"} 700x60
cassandra_thread_pool_pending_tasks{$2,pool="ReadStage"} 600x60
os_cpu_seconds_total{$n,mode="idle"} 0+6x60
os_cpu_seconds_total{$n,mode="user"} 0+54x60
cassandra_client_request_latency_seconds_count{$n,request="Read"} 0+60000x60`,
		quiet: [2]string{`0+60000x`, `0x`},
		says: "Other nodes have queues too: the cluster serves requests at 1000/s, with its " +
			"processors 90 % busy. Find the client that asks more than before, and slow it " +
			"down."},
	{of: "CassandraDroppedMessages/pauses",
		series: `jvm_gc_collection_seconds_total{$n,gc="G1 Young"} 0+12x60`,
		quiet:  [2]string{`0+12`, `0+3`},
		says: "The node stands still for garbage collection 20 % of the time, and what waits " +
			"longer than its timeout is dropped. Look at its heap, and repair the node " +
			"afterwards."},
	{of: "CassandraDroppedMessages/queue",
		series: `cassandra_thread_pool_pending_tasks{$n,pool="MutationStage"} 120x60`,
		quiet:  [2]string{`120x`, `5x`},
		says: "120 tasks wait in MutationStage, which is more than the node gets done within " +
			"their timeout. Look at its disk and its compactions, and repair it within " +
			"gc_grace_seconds."},
	{of: "CassandraDroppedMessages/verb",
		series: `cassandra_thread_pool_pending_tasks{$n,pool="ReadStage"} 1x60`,
		events: events{"dropped": {Node: "n1",
			Labels: map[string]string{"verb": "MUTATION_REQ", "messages": "311"},
		}},
		quiet: [2]string{`1x60`, `90x60`},
		says: "The node dropped 311 messages of the kind MUTATION_REQ 5 min ago, without a " +
			"queue now: it was a burst. If they were mutations, repair the node within " +
			"gc_grace_seconds."},
	{of: "CassandraHints/down",
		series: `cassandra_peer_up{$n,peer="10.0.0.2:7000"} 0x60
cassandra_storage_hints_total{$n} 0+60x60`,
		quiet: [2]string{`} 0x`, `} 1x`},
		says: "The node takes 10.0.0.2:7000 for down and keeps its writes as hints, 300 " +
			"within five minutes. Bring it back within three hours; after that hints are " +
			"given up, and it needs a repair."},
	{of: "CassandraHints/slow",
		series: `cassandra_peer_up{$n,peer="10.0.0.2:7000"} 1x60
cassandra_dropped_message_dropped_total{$2,message="MUTATION_REQ"} 0+180x60`,
		quiet: [2]string{`0+180x`, `7x`},
		says: "No replica is down, and db-2 drops mutations at 3/s: it is the one that does " +
			"not take its writes. Look at its queues, its disk and its garbage collection."},
	{of: "CassandraCommitLogPending/disk",
		series: `os_disk_write_seconds_total{$n,device="sda"} 0+30x60
os_disk_writes_total{$n,device="sda"} 0+600x60`,
		quiet: [2]string{`0+30x`, `0+3x`},
		says: "A write of disk sda takes 50 ms, at 10/s: the disk is slow, or its operations " +
			"are limited. Slow compaction down, and give the commit log a disk of its own."},
	{of: "CassandraCommitLogPending/flushes",
		series: `cassandra_memtable_pool_pending_flush_tasks{$n} 9x60`,
		quiet:  [2]string{`9x`, `0x`},
		says: "9 flushes wait, so segments of the commit log are not freed and new ones are " +
			"waited for. Flushes are behind: look at the data disk."},
	{of: "CassandraStorageExceptions/full",
		series: `os_filesystem_size_bytes{$n,device="sdb",mount="/data"} 100e9x60
os_filesystem_available_bytes{$n,device="sdb",mount="/data"} 3e9x60`,
		quiet: [2]string{` 3e9`, ` 30e9`},
		says: "/data is 97 % full, which is the usual cause of exceptions in storage. Make " +
			"space first, then see in nodetool status whether the node still takes part."},
	{of: "CassandraStorageExceptions/error",
		series: `os_filesystem_size_bytes{$n,device="sdb",mount="/data"} 100e9x60
os_filesystem_available_bytes{$n,device="sdb",mount="/data"} 30e9x60`,
		events: events{"error": {Node: "n1",
			Text: "CorruptSSTableException: /data/shop/orders/nb-7-big-Data.db",
		}},
		quiet: [2]string{` 30e9`, ` 3e9`},
		says: "The newest error, 5 min ago, reads: CorruptSSTableException: " +
			"/data/shop/orders/nb-7-big-Data.db. The runbook says what to do for a damaged " +
			"SSTable and for a lack of memory."},
	{of: "CassandraAuthFailures/all",
		series: `cassandra_client_auth_failure_total{$n} 0+30x60
cassandra_client_auth_success_total{$n} 7x60`,
		quiet: [2]string{`7x`, `0+1x`},
		says: "No login succeeds, and 30 a minute fail, so it may be system_auth and not a " +
			"password. See that replicas of that keyspace are up, and that it has several."},
	{of: "CassandraAuthFailures/some",
		series: `cassandra_client_auth_failure_total{$n} 0+30x60
cassandra_client_auth_success_total{$n} 0+5x60`,
		quiet: [2]string{`0+5x`, `7x`},
		says: "30 logins a minute fail and 5 succeed: one client has an old password, or " +
			"somebody guesses. ringwatch clients names the addresses."},
	{of: "NodeDiskFull/snapshots",
		alert: "mount=/data",
		series: `os_filesystem_size_bytes{$n,device="sdb",mount="/data"} 100e9x60
os_filesystem_available_bytes{$n,device="sdb",mount="/data"} 10e9x60
cassandra_snapshot_size_bytes{$n,$t} 20e9x60
cassandra_snapshot_size_bytes{$n,$i} 70e9x60
cassandra_table_snapshots_size_bytes{$n,$i} 1e9x60`,
		quiet: [2]string{`20e9x60`, `_x60`},
		says: "Snapshots take 19.6 GiB of this node's disks, 18.6 GiB of them of " +
			"shop.orders. Ask who needs them and clear them: it is the quickest way to " +
			"space."},
	{of: "NodeDiskFull/backups",
		alert: "mount=/data",
		series: `os_filesystem_size_bytes{$n,device="sdb",mount="/data"} 100e9x60
os_filesystem_available_bytes{$n,device="sdb",mount="/data"} 10e9x60
cassandra_node_incremental_backups_enabled{$n} 1x60
cassandra_storage_load_bytes{$n} 30e9x60`,
		quiet: [2]string{`enabled{$n} 1`, `enabled{$n} 0`},
		says: "Incremental backups are on, and 55.9 GiB of the disks are not live data. " +
			"Remove what was copied from the directories backups; Cassandra never does."},
	{of: "NodeDiskFull/fills",
		alert: "mount=/data",
		series: `os_filesystem_size_bytes{$n,device="sdb",mount="/data"} 100e9x300
os_filesystem_available_bytes{$n,device="sdb",mount="/data"} 40e9-0.1e9x300`,
		quiet: [2]string{`40e9-0.1e9x300`, `10e9x300`},
		day:   true,
		says: "9.31 GiB are left, and as it went the last hours they are gone in 8 h 20 " +
			"min. Add nodes or disk in that time, since a compaction needs space to work " +
			"with."},
	{of: "NodeDiskFull/steady",
		alert: "mount=/data",
		series: `os_filesystem_size_bytes{$n,device="sdb",mount="/data"} 100e9x60
os_filesystem_available_bytes{$n,device="sdb",mount="/data"} 10e9x60
cassandra_table_live_disk_space_used_bytes{$n,$t} 60e9x60`,
		quiet: [2]string{`10e9x60`, `10e9-0.1e9x60`},
		says: "9.31 GiB are left and do not shrink; the largest table is shop.orders with " +
			"55.9 GiB. If nodes were added lately, nodetool cleanup frees what is no " +
			"longer this node's."},
	{of: "NodeFileDescriptors/limit",
		series: `jvm_max_file_descriptors{$n} 4096x60`,
		quiet:  [2]string{`4096`, `100000`},
		says: "The process may open 4096 files, and Cassandra asks for 100,000. Raise " +
			"LimitNOFILE and restart the node."},
	{of: "NodeFileDescriptors/sstables",
		series: `jvm_max_file_descriptors{$n} 100000x60
cassandra_table_live_sstables{$n,$t} 9000x60
cassandra_table_live_sstables{$n,$i} 40x60`,
		quiet: [2]string{`9000x`, `90x`},
		says: "The node has 9040 SSTables, 9000 of them of shop.orders. Compaction of that " +
			"table is behind: see what it waits for."},
	{of: "NodeFileDescriptors/connections",
		series: `jvm_max_file_descriptors{$n} 100000x60
cassandra_client_connected_native_clients{$n} 60000x60`,
		quiet: [2]string{`60000x`, `60x`},
		says: "60000 connections of clients are open. Some client opens a session for each " +
			"request: ringwatch clients leads to it."},
	{of: "NodeCPUBusy/other",
		series: `os_cpu_seconds_total{$n,mode="idle"} 0+10x60
os_cpu_seconds_total{$n,mode="user"} 0+230x60
jvm_process_cpu_seconds_total{$n} 0+48x60`,
		quiet: [2]string{`0+48x`, `0+200x`},
		says: "This process takes 20 % of the machine's processors, so most of the load is " +
			"something else's. Find it with top."},
	{of: "NodeCPUBusy/task",
		series: `os_cpu_seconds_total{$n,mode="idle"} 0+10x60
os_cpu_seconds_total{$n,mode="user"} 0+230x60
jvm_process_cpu_seconds_total{$n} 0+200x60
cassandra_tasks_running{$n,task="compaction"} 2x60
cassandra_task_size_bytes{$n,task="compaction",$t,slot="0"} 80e9x60`,
		quiet: [2]string{`} 2x`, `} 0x`},
		says: "2 tasks run beside requests, the largest a compaction of 74.5 GiB of " +
			"shop.orders. Slow them down (nodetool setcompactionthroughput) if latency " +
			"suffers."},
	{of: "NodeCPUBusy/requests",
		series: `cassandra_client_request_latency_seconds_count{$n,request="Read"} 0+60000x150 9060000+120000x150`,
		quiet:  [2]string{`0+60000x150 9060000`, `_x150 0`},
		day:    true,
		says: "The node coordinates requests at 400/s; a day before it was 200/s. If it is " +
			"more, ask the clients; if not, the cluster is too small for its load."},
	{of: "NodeGCTime/heap",
		series: `jvm_heap_used_bytes{$n} 15e9x60
jvm_heap_max_bytes{$n} 16e9x60`,
		quiet: [2]string{` 15e9`, ` 8e9`},
		says: "The heap was never less than 93.8 % full in five minutes, so collections free " +
			"little. Something holds it: large partitions, tombstones or batches; a " +
			"restart gives time."},
	{of: "NodeGCTime/tombstones",
		series: `table:cassandra_table_tombstones_scanned:p99_5m{$c,$t} 4000x60`,
		quiet:  [2]string{`4000x`, `40x`},
		says: "Reads of shop.orders pass 4000 tombstones, each of which takes heap. Look at " +
			"that table's queries first."},
	{of: "NodeGCTime/partitions",
		series: `table:cassandra_table_max_partition_size_bytes:max{$c,$t} 2e8x60`,
		quiet:  [2]string{`2e8`, `2e6`},
		says: "shop.orders has a partition of 191 MiB, and reading it takes heap. Look who " +
			"reads it, and in which pages."},
}
