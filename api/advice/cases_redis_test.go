package advice_test

// redisCases are of the alerts of rules/redis.yaml.
var redisCases = []speaking{
	{of: "RedisMemoryNearMax/clients",
		series: `redis_mem_clients_normal{$n} 3e9x60
redis_memory_used_bytes{$n} 9e9x60
redis_connected_clients{$n} 240x60`,
		quiet: [2]string{` 3e9x`, ` 1e8x`},
		says: "Buffers of 240 clients take 2.79 GiB of it: one reads too slowly, or asks for " +
			"too much at once. CLIENT LIST shows whose omem is large; end that one first."},
	{of: "RedisMemoryNearMax/expiry",
		series: `redis_db_keys{$n,db="db0"} 100000+60x60
redis_db_keys_expiring{$n,db="db0"} 20000x60`,
		quiet: [2]string{`100000+60x60`, `100000x60`},
		says: "60 keys without an expiry are added a minute, and 83600 are there already. Find " +
			"who writes them and give them an expiry, or raise maxmemory if they must stay."},
	{of: "RedisMemoryNearMax/full",
		series: `redis_memory_used_bytes{$n} 9.5e9+10e6x60
redis_memory_max_bytes{$n} 10e9x60
redis_instance_info{$n,maxmemory_policy="noeviction"} 1x60`,
		quiet: [2]string{`9.5e9+10e6x60`, `8.4e9+10e6x60`},
		also:  [][2]string{{` 10e9x60`, ` 0x60`}},
		says: "It is full with 9.41 GiB, and refuses writes or evicts: the policy is noeviction. " +
			"Raise maxmemory with CONFIG SET at once, if the machine has a third to spare for " +
			"snapshots."},
	{of: "RedisMemoryNearMax/fills",
		series: `redis_memory_used_bytes{$n} 8.4e9+10e6x60
redis_memory_max_bytes{$n} 10e9x60
redis_instance_info{$n,maxmemory_policy="noeviction"} 1x60`,
		quiet: [2]string{`8.4e9+10e6x60`, `9e9x60`},
		also:  [][2]string{{`8.4e9+10e6x60`, `9.5e9+10e6x60`}}, // no time is left
		says: "As it went the last quarter of an hour all 9.31 GiB are taken in 1 h 40 min, and " +
			"the policy is noeviction. Raise maxmemory with CONFIG SET in that time, if the " +
			"machine has a third to spare for snapshots."},
	{of: "RedisMemoryNearMax/steady",
		series: `redis_memory_used_bytes{$n} 9e9x60
redis_memory_used_dataset_bytes{$n} 8.1e9x60`,
		quiet: [2]string{`} 9e9x60`, `} 8e9+1e6x60`},
		says: "Memory does not grow, and data are 90 % of it. There is time: find large keys " +
			"with redis-cli --bigkeys on a replica, or raise maxmemory."},
	{of: "RedisEvictions/small",
		series: `redis_keyspace_hits_total{$n} 0+6000x60
redis_keyspace_misses_total{$n} 0+4000x60
redis_evicted_keys_total{$n} 0+1500x60`,
		quiet: [2]string{`0+4000`, `0+400`},
		says: "40 % of the reads find nothing while keys go at 25/s, so this is too small for a " +
			"cache. Raise maxmemory, or spread the keys over more masters."},
	{of: "RedisEvictions/expiring",
		series: `redis_instance_info{$n,maxmemory_policy="volatile-lru"} 1x60
redis_evicted_keys_total{$n} 0+1500x60`,
		quiet: [2]string{`volatile-lru`, `allkeys-lru`},
		says: "The policy is volatile-lru, so keys go before their time, at 25/s. If somebody " +
			"counts on them raise maxmemory; if it is a cache set maxmemory-policy " +
			"allkeys-lru."},
	{of: "RedisEvictions/cache",
		series: `redis_keyspace_hits_total{$n} 0+9500x60
redis_keyspace_misses_total{$n} 0+500x60
redis_evicted_keys_total{$n} 0+1500x60`,
		quiet: [2]string{`0+9500`, `0+500`},
		says: "Only 5 % of the reads find nothing while keys go at 25/s: the cache is large " +
			"enough. Nothing has to be done, unless data that must stay are in it."},
	{of: "RedisRejectedConnections/opened",
		series: `redis_connections_received_total{$n} 0+6000x60
redis_commands_processed_total{$n} 0+18000x60
redis_connected_clients{$n} 10000x60`,
		quiet: [2]string{`0+6000`, `0+60`},
		says: "Clients open connections at 100/s, one for a few commands each, and 10000 are " +
			"open. Some client has no pool or does not close: CLIENT LIST has its address."},
	{of: "RedisRejectedConnections/idle",
		series: `redis_connections_received_total{$n} 0+6x60
redis_commands_processed_total{$n} 0+30000x60
redis_connected_clients{$n} 10000x60`,
		quiet: [2]string{`0+30000`, `0+3000000`},
		says: "10000 connections are open, and one sends commands at 0.05/s: most are idle. Set " +
			"timeout and tcp-keepalive, which close them, and look for a pool that is too " +
			"large."},
	{of: "RedisRejectedConnections/busy",
		series: `redis_commands_processed_total{$n} 0+3000000x60
redis_connected_clients{$n} 10000x60
redis_max_clients{$n} 10000x60`,
		quiet: [2]string{`0+3000000`, `0+30000`},
		says: "10000 of 10000 connections are open, and they are in use: one sends commands at " +
			"5/s. Raise maxclients, and the limit of open files (LimitNOFILE) with it."},
	{of: "RedisBlockedClients/replica",
		series: `redis_connected_slave_lag_seconds{$n,$s} 40x60
redis_commands_total{$n,cmd="wait"} 0+60x60`,
		quiet: [2]string{` 40x`, ` 1x`},
		says: "Replica 10.0.0.2:6379 has not acknowledged for 40 s, and clients wait for it in " +
			"WAIT. Look at that replica."},
	{of: "RedisBlockedClients/queue",
		series: `redis_connected_clients{$n} 300x60
redis_commands_total{$n,cmd="brpop"} 0+600x60
redis_commands_total{$n,cmd="get"} 0+60000x60`,
		quiet: [2]string{`brpop`, `rpush`},
		says: "Most of the 300 clients wait in brpop, which is called at 10/s: a queue that " +
			"little is written to. Look at who writes to it; if all is well, run fewer " +
			"workers."},
	{of: "RedisSlowLogGrowing/swapped",
		series: `redis_mem_fragmentation_ratio{$n} 0.6x60
redis_memory_used_bytes{$n} 9e9x60`,
		quiet: [2]string{` 0.6x`, ` 1.1x`},
		says: "Only 60 % of its 8.38 GiB are in memory, and the rest is swapped out: any " +
			"command may wait for the disk. Give the machine memory, or Redis a smaller " +
			"maxmemory."},
	{of: "RedisSlowLogGrowing/command",
		series: `redis_commands_duration_seconds_total{$n,cmd="keys"} 0+3x60
redis_commands_total{$n,cmd="keys"} 0+60x60
redis_commands_duration_seconds_total{$n,cmd="get"} 0+6x60
redis_commands_total{$n,cmd="get"} 0+600000x60`,
		quiet: [2]string{`0+3x`, `0+0.03x`},
		says: "keys takes 50 ms on average, the most of all commands, and all clients wait " +
			"meanwhile. Let it fetch less at once, with SCAN in place of KEYS and UNLINK in " +
			"place of DEL; SLOWLOG GET has the keys."},
	{of: "RedisSlowLogGrowing/newest",
		series: `redis_last_slow_execution_duration_seconds{$n} 0.03x60
redis_slowlog_last_timestamp_seconds{$n} 3480x60
redis_cpu_user_seconds_total{$n} 0+12x60
redis_cpu_sys_seconds_total{$n} 0+6x60`,
		quiet: [2]string{`0.03x60`, `_x60`},
		says: "The newest one took 30 ms 2 min ago, no command is slow on average, and Redis " +
			"takes 30 % of a core. SLOWLOG GET names the keys: a few of them are large."},
	{of: "RedisReplicationBroken/sync",
		alert:  "instance=r1:6379,job=redis,master_host=10.0.0.2,master_port=6379",
		series: `redis_master_sync_in_progress{$n,master_host="10.0.0.2",master_port="6379"} 1x60`,
		quiet:  [2]string{` 1x`, ` 0x`},
		says: "It fetches all data of its master just now, and has no link until that is done. " +
			"Wait; if it begins again and again raise client-output-buffer-limit replica and " +
			"repl-backlog-size on the master."},
	{of: "RedisReplicationBroken/down",
		alert: "instance=r1:6379,job=redis,master_host=10.0.0.2,master_port=6379",
		series: `redis_master_sync_in_progress{$n,master_host="10.0.0.2",master_port="6379"} 0x60
up{$2,job="redis",instance="10.0.0.2:6379"} 0x60`,
		quiet: [2]string{`"} 0x60
up{$2,job="redis",instance="10.0.0.2:6379"} 0x`,
			`"} 0x60
up{$2,job="redis",instance="10.0.0.2:6379"} 1x`},
		says: "Its master 10.0.0.2:6379 does not answer Ringwatch either, so it is down. Start " +
			"it, or make a replica master if it does not come back."},
	{of: "RedisReplicationBroken/several",
		alert: "instance=r1:6379,job=redis,master_host=10.0.0.2,master_port=6379",
		series: `redis_master_link_up{$n,master_host="10.0.0.2",master_port="6379"} 0x60
redis_master_link_up{$2,master_host="10.0.0.2",master_port="6379"} 0x60`,
		quiet: [2]string{` 0x60`, ` 1x60`},
		says: "2 replicas of 10.0.0.2:6379 lost it, so it is that master or the way to it. See " +
			"if it runs, and if masterauth fits its password."},
	{of: "RedisReplicationBroken/alone",
		alert: "instance=r1:6379,job=redis,master_host=10.0.0.2,master_port=6379",
		series: `redis_master_link_up{$n,master_host="10.0.0.2",master_port="6379"} 0x60
redis_master_link_up{$2,master_host="10.0.0.2",master_port="6379"} 1x60`,
		quiet: [2]string{` 1x60`, ` 0x60`},
		says: "Other replicas of that master have their link (1), so it is this one. Its log " +
			"says if it is the network, or NOAUTH and WRONGPASS, which masterauth and " +
			"masteruser cure."},
	{of: "RedisReplicaLost/down",
		alert: "instance=r1:6379,job=redis",
		series: `up{$n,job="redis",instance="r1:6379"} 1x60
up{$2,job="redis",instance="r2:6379"} 0x60
redis_connected_slaves{$n} 1x60`,
		quiet: [2]string{` 0x`, ` 1x`},
		says: "r2:6379 of the same job does not answer, so most likely it is the replica that " +
			"left (connected: 1). Start it, and do not restart this master before."},
	{of: "RedisReplicaLost/syncs",
		alert: "instance=r1:6379,job=redis",
		series: `up{$n,job="redis",instance="r1:6379"} 1x60
redis_replica_resyncs_full{$n} 0x50 1 2 3x10
redis_replication_backlog_bytes{$n} 1048576x60`,
		quiet: [2]string{`1 2 3x10`, `0x12`},
		says: "All servers of the job answer, and replicas fetched all data 3 times in 15 " +
			"minutes: they lose the link and cannot go on from 1 MiB of backlog. Raise " +
			"repl-backlog-size and client-output-buffer-limit replica."},
	{of: "RedisReplicaLost/follows",
		alert: "instance=r1:6379,job=redis",
		series: `up{$n,job="redis",instance="r1:6379"} 1x60
redis_connected_slaves{$n} 1x60
redis_up{$n} 1x60
redis_up{$2} 1x60
redis_instance_info{$n,role="master"} 1x60
redis_instance_info{$2,role="master"} 1x60`,
		quiet: [2]string{`redis_connected_slaves{$n} 1x`, `redis_connected_slaves{$n} _x`},
		says: "All servers of the job answer (replicas connected here: 1, servers that say that " +
			"they are master: 2). After a failover that is expected; else the replica's log " +
			"says why it lost this one."},
	{of: "RedisReplicaBehind/sync",
		alert:  "instance=r1:6379,job=redis,slave_ip=10.0.0.2,slave_port=6379,slave_state=online",
		series: `redis_connected_slave_offset_bytes{$n,$s,slave_state="send_bulk"} 5x60`,
		quiet:  [2]string{`send_bulk`, `online`},
		says: "The replica is in state send_bulk, so it fetches all data just now. Wait, and do " +
			"not fail over to it until it is online."},
	{of: "RedisReplicaBehind/catches_up",
		alert: "instance=r1:6379,job=redis,slave_ip=10.0.0.2,slave_port=6379,slave_state=online",
		series: `redis_master_repl_offset{$n} 90e9+60e6x60
redis_connected_slave_offset_bytes{$n,$s,slave_state="online"} 85e9+120e6x60`,
		quiet: [2]string{`85e9+120e6`, `85e9+30e6`},
		says: "The replica takes more than is written, and at this rate has all in 23 min. " +
			"Wait, and do not fail over to it until then."},
	{of: "RedisReplicaBehind/backlog",
		alert: "instance=r1:6379,job=redis,slave_ip=10.0.0.2,slave_port=6379,slave_state=online",
		series: `redis_master_repl_offset{$n} 90e9+60e6x60
redis_connected_slave_offset_bytes{$n,$s,slave_state="online"} 89e9+60e6x60
redis_replication_backlog_bytes{$n} 1048576x60`,
		quiet: [2]string{`1048576x`, `9e9x`},
		says: "It lacks 954 MiB and the backlog holds 1 MiB, so a short interruption makes it " +
			"fetch all data anew. Raise repl-backlog-size above what it lacks, then find why " +
			"it is slow."},
	{of: "RedisReplicaBehind/written",
		alert: "instance=r1:6379,job=redis,slave_ip=10.0.0.2,slave_port=6379,slave_state=online",
		series: `redis_net_repl_output_bytes_total{$n} 0+6e9x60
redis_connected_slaves{$n} 2x60`,
		quiet: [2]string{`0+6e9x`, `_x`},
		says: "This master sends 95.4 MiB/s to its replicas (2), and this one does not take its " +
			"part. Look at the network between the two, and for slow reads on the replica."},
	{of: "RedisReplicaSilent/loads",
		alert:  "instance=r1:6379,job=redis,slave_ip=10.0.0.2,slave_port=6379,slave_state=online",
		series: `redis_loading_dump_file{$2,instance="r2:6379"} 1x60`,
		quiet:  [2]string{` 1x`, ` 0x`},
		says: "r2:6379 of the cluster loads its data and acknowledges nothing until it is done. " +
			"If that is this replica, wait."},
	{of: "RedisReplicaSilent/down",
		alert: "instance=r1:6379,job=redis,slave_ip=10.0.0.2,slave_port=6379,slave_state=online",
		series: `redis_loading_dump_file{$n,instance="r1:6379"} 0x60
up{$2,job="redis",instance="10.0.0.2:6379"} 0x60`,
		quiet: [2]string{`"10.0.0.2:6379"} 0x`, `"10.0.0.2:6379"} 1x`},
		says: "The replica does not answer Ringwatch either, so it hangs or its machine is cut " +
			"off. Look there, before the master closes the link after repl-timeout."},
	{of: "RedisReplicaSilent/network",
		alert: "instance=r1:6379,job=redis,slave_ip=10.0.0.2,slave_port=6379,slave_state=online",
		series: `redis_connected_slave_lag_seconds{$n,$s} 40x60
up{$2,job="redis",instance="10.0.0.2:6379"} 1x60`,
		quiet: [2]string{` 1x`, ` 0x`},
		says: "The replica answers Ringwatch, and has not acknowledged to this master for 40 s: " +
			"it is the way between the two, or a long script. Look at loss there, at " +
			"firewalls that forget connections, and at the replica's SLOWLOG."},
	{of: "RedisSaveFailed/refused",
		alert: "instance=r1:6379,job=redis",
		series: `redis_errors_total{$n,err="MISCONF"} 0+40x60
redis_rdb_last_save_timestamp_seconds{$n} 1200x60`,
		quiet: [2]string{`0+40x`, `40x`},
		says: "Redis refused 200 writes in five minutes with MISCONF, and its last good " +
			"snapshot is 40 min old. Make room in its dir, or set vm.overcommit_memory=1 if " +
			"its log says that it could not fork; then run BGSAVE."},
	{of: "RedisSaveFailed/only",
		alert: "instance=r1:6379,job=redis",
		series: `redis_rdb_changes_since_last_save{$n} 120000x60
redis_rdb_last_save_timestamp_seconds{$n} 1200x60
redis_aof_enabled{$n} 0x60`,
		quiet: [2]string{` 0x60`, ` 1x60`},
		says: "There is no AOF, so a crash now loses 120000 changes of 40 min. Its log says if " +
			"the disk is full or the fork failed: cure that, then run BGSAVE."},
	{of: "RedisSaveFailed/aof",
		alert: "instance=r1:6379,job=redis",
		series: `redis_aof_enabled{$n} 1x60
redis_aof_last_write_status{$n} 1x60
redis_rdb_last_save_timestamp_seconds{$n} 1200x60`,
		quiet: [2]string{` 1x60`, ` 0x60`},
		says: "The AOF has what changed since the last snapshot, 40 min ago, so a crash loses " +
			"next to nothing. Still cure what its log says, a full disk or a fork that " +
			"failed, and run BGSAVE."},
	{of: "RedisAOFFailed/write",
		alert: "instance=r1:6379,job=redis",
		series: `redis_aof_last_write_status{$n} 0x60
redis_aof_current_size_bytes{$n} 20e9x60`,
		quiet: [2]string{` 0x`, ` 1x`},
		says: "It cannot append to the AOF of 18.6 GiB, and refuses writes of clients until it " +
			"can. Make room on that disk: it tries again each second by itself."},
	{of: "RedisAOFFailed/grown",
		alert: "instance=r1:6379,job=redis",
		series: `redis_aof_last_write_status{$n} 1x60
redis_aof_current_size_bytes{$n} 20e9x60
redis_aof_base_size_bytes{$n} 4e9x60`,
		quiet: [2]string{` 4e9`, ` 19e9`},
		says: "The AOF has 18.6 GiB, 5 times what the last rewrite left, and a start reads all " +
			"of it. Make room on the disk and memory for the fork, then run BGREWRITEAOF."},
	{of: "RedisAOFFailed/small",
		alert: "instance=r1:6379,job=redis",
		series: `redis_aof_last_write_status{$n} 1x60
redis_aof_current_size_bytes{$n} 20e9x60
redis_aof_base_size_bytes{$n} 19e9x60`,
		quiet: [2]string{` 1x`, ` 0x`},
		says: "Changes are still appended, and the AOF of 18.6 GiB is little larger than after " +
			"its last rewrite, so there is time. Its log says why the rewrite failed: the " +
			"disk, or memory for the fork."},
	{of: "RedisSlowFork/slow",
		alert: "instance=r1:6379,job=redis",
		series: `redis_latest_fork_seconds{$n} 2x60
redis_memory_used_rss_bytes{$n} 8e9x60
redis_rdb_saves_total{$n} 0+0.2x60`,
		quiet: [2]string{` 2x60`, ` 0.2x60`},
		also:  [][2]string{{` 8e9`, ` 80e9`}},
		says: "A fork takes 250 ms for each gigabyte, and 10 to 20 ms are usual; it has 7.45 " +
			"GiB. Switch transparent huge pages off (madvise or never), and use another kind " +
			"of machine if that is not it."},
	{of: "RedisSlowFork/large",
		alert: "instance=r1:6379,job=redis",
		series: `redis_latest_fork_seconds{$n} 2x60
redis_memory_used_rss_bytes{$n} 80e9x60
redis_rdb_saves_total{$n} 0+0.2x60`,
		quiet: [2]string{` 80e9`, ` 8e9`},
		also:  [][2]string{{` 80e9`, ` 50e9`}},
		says: "A fork of 2 s is usual for 74.5 GiB, and 3 snapshots were written in 15 minutes. " +
			"Spread the keys over smaller processes, or let replicas write the snapshots."},
	{of: "RedisLoading/replica",
		alert: "instance=r1:6379,job=redis",
		series: `redis_master_sync_in_progress{$n,master_host="10.0.0.2",master_port="6379"} 1x60
redis_uptime_in_seconds{$n} 99999+60x60`,
		quiet: [2]string{` 1x`, ` 0x`},
		says: "It is a replica that fetched all data of its master and loads them now. Let " +
			"clients ask another one until it is done."},
	{of: "RedisLoading/restarts",
		alert:  "instance=r1:6379,job=redis",
		series: `redis_uptime_in_seconds{$n} 0+60x19 0+60x19 0+60x19`,
		quiet:  [2]string{`0+60x19 0+60x19 0+60x19`, `0+60x60`},
		says: "It started 2 times within an hour, so it does not come to the end of loading. " +
			"Look in dmesg and in its log for who ends it: often memory that does not " +
			"suffice."},
	{of: "RedisLoading/once",
		alert: "instance=r1:6379,job=redis",
		series: `redis_uptime_in_seconds{$n} _x49 0+60x11
redis_aof_enabled{$n} 1x60
redis_aof_current_size_bytes{$n} 0x60`,
		quiet: [2]string{` 1x60`, ` 0x60`},
		says: "It started 11 min ago and reads its AOF. loading_eta_seconds in INFO " +
			"says how long " +
			"that takes: wait, and do not restart it."},
	{of: "RedisLoading/snapshot",
		alert: "instance=r1:6379,job=redis",
		series: `redis_uptime_in_seconds{$n} _x49 0+60x11
redis_aof_enabled{$n} 0x60`,
		quiet: [2]string{`_x49 0+60x11`, `_x60`},
		also:  [][2]string{{` 0x60`, ` 1x60`}},
		says: "It started 11 min ago and reads its snapshot. loading_eta_seconds in INFO says " +
			"how long that takes: wait, and do not restart it."},
	{of: "RedisClusterBroken/alone",
		alert: "instance=r1:6379,job=redis",
		series: `redis_cluster_state{$n} 0x60
redis_cluster_state{$2} 1x60`,
		quiet: [2]string{` 1x`, ` 0x`},
		says: "Other nodes say that all slots are served (1), so this one is cut off from the " +
			"majority. Look at the cluster's bus to it: the port plus 10,000."},
	{of: "RedisClusterBroken/unassigned",
		alert: "instance=r1:6379,job=redis",
		series: `redis_cluster_state{$n} 0x60
redis_cluster_slots_assigned{$n} 16000x60`,
		quiet: [2]string{`16000`, `16384`},
		says: "384 slots belong to no node. redis-cli --cluster check finds them, and fix " +
			"assigns them; their keys are lost if no node has them."},
	{of: "RedisClusterBroken/down",
		alert: "instance=r1:6379,job=redis",
		series: `redis_cluster_slots_assigned{$n} 16384x60
redis_cluster_slots_fail{$n} 5461x60
redis_cluster_slots_pfail{$n} 0x60
redis_cluster_known_nodes{$n} 6x60
up{$2,job="redis",instance="r2:6379"} 0x60`,
		quiet: [2]string{`"r2:6379"} 0x`, `"r2:6379"} 1x`},
		says: "The masters of 5461 slots do not answer, and r2:6379 does not answer Ringwatch " +
			"either. Start it: no replica of it could take over."},
	{of: "RedisClusterBroken/failed",
		alert: "instance=r1:6379,job=redis",
		series: `redis_cluster_slots_assigned{$n} 16384x60
redis_cluster_slots_fail{$n} 5461x60
redis_cluster_slots_pfail{$n} 0x60
redis_cluster_known_nodes{$n} 6x60`,
		quiet: [2]string{`5461x`, `0x`},
		says: "The masters of 5461 slots do not answer this node, though all servers answer " +
			"Ringwatch; it knows 6 nodes. Look at the bus between them, the port plus 10,000, " +
			"or start a master that Ringwatch does not read."},
	{of: "RedisSentinelMasterDown/alone",
		alert: "instance=s1:26379,job=redis,master_name=mymaster,master_address=10.0.0.2:6379",
		series: `redis_sentinel_master_status{$n,$m,master_status="s_down"} 0x60
redis_sentinel_master_status{$2,$m,master_status="ok"} 1x60`,
		quiet: [2]string{` 1x`, ` 0x`},
		says: "Other sentinels say that the master is well (1), so this one is cut off. Look at " +
			"its network, before you do anything to the master."},
	{of: "RedisSentinelMasterDown/quorum",
		alert: "instance=s1:26379,job=redis,master_name=mymaster,master_address=10.0.0.2:6379",
		series: `redis_sentinel_master_ok_sentinels{$n,$m} 1x60
redis_sentinel_master_sentinels{$n,$m} 3x60
redis_sentinel_master_setting_ckquorum{$n,$m} 2x60`,
		quiet: [2]string{` 1x`, ` 2x`},
		says: "1 of 3 sentinels are up, where a majority and at least 2 must agree, so nothing " +
			"can take over. Start the master or the sentinels that are down, whichever is " +
			"quicker."},
	{of: "RedisSentinelMasterDown/quorum",
		alert: "instance=s1:26379,job=redis,master_name=mymaster,master_address=10.0.0.2:6379",
		series: `redis_sentinel_master_ok_sentinels{$n,$m} 2x60
redis_sentinel_master_sentinels{$n,$m} 5x60
redis_sentinel_master_setting_ckquorum{$n,$m} 2x60`, // the quorum, and no majority
		quiet: [2]string{` 2x`, ` 3x`},
		says: "2 of 5 sentinels are up, where a majority and at least 2 must agree, so nothing " +
			"can take over. Start the master or the sentinels that are down, whichever is " +
			"quicker."},
	{of: "RedisSentinelMasterDown/replicas",
		alert: "instance=s1:26379,job=redis,master_name=mymaster,master_address=10.0.0.2:6379",
		series: `redis_sentinel_master_ok_slaves{$n,$m} 0x60
redis_sentinel_master_slaves{$n,$m} 2x60`,
		quiet: [2]string{` 0x`, ` 1x`},
		says: "None of its 2 replicas is up, so nothing can take over. Start the master at " +
			"10.0.0.2:6379, or a replica."},
	{of: "RedisSentinelMasterDown/fit",
		alert: "instance=s1:26379,job=redis,master_name=mymaster,master_address=10.0.0.2:6379",
		series: `redis_sentinel_master_ok_slaves{$n,$m} 2x60
redis_sentinel_master_slaves{$n,$m} 2x60
redis_sentinel_master_ok_sentinels{$n,$m} 3x60
redis_sentinel_master_sentinels{$n,$m} 5x60
redis_sentinel_master_setting_ckquorum{$n,$m} 2x60`,
		quiet: [2]string{` 2x`, ` 0x`},
		also:  [][2]string{{` 3x60`, ` 2x60`}},
		says: "Replicas are up (2), enough sentinels too, and none takes over: their links were " +
			"down for too long, or replica-priority is 0. Start the master, or force one with " +
			"SENTINEL FAILOVER mymaster."},
	{of: "RedisSentinelNoQuorum/setting",
		alert: "instance=s1:26379,job=redis,master_name=mymaster,master_address=10.0.0.2:6379",
		series: `redis_sentinel_master_sentinels{$n,$m} 2x60
redis_sentinel_master_setting_ckquorum{$n,$m} 3x60`,
		quiet: [2]string{` 3x`, ` 2x`},
		says: "3 sentinels must agree, and there are only 2. Add sentinels, or run SENTINEL SET " +
			"mymaster quorum with a lower number on each."},
	{of: "RedisSentinelNoQuorum/down",
		alert: "instance=s1:26379,job=redis,master_name=mymaster,master_address=10.0.0.2:6379",
		series: `redis_sentinel_master_ok_sentinels{$n,$m} 1x60
redis_sentinel_master_sentinels{$n,$m} 3x60
redis_sentinel_master_setting_ckquorum{$n,$m} 2x60`,
		quiet: [2]string{` 1x`, ` 3x`},
		says: "1 of 3 sentinels are up, where a majority and at least 2 must agree. Start the " +
			"others; if they are gone for good run SENTINEL RESET mymaster on each that is " +
			"left, one after the other."},
}
