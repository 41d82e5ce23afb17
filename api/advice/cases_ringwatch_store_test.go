package advice_test

// storeCases are of the alerts of rules/ringwatch.yaml about consumers, the store and the API.
var storeCases = []speaking{
	{of: "RingwatchConsumerLag/catches_up",
		alert: "cluster,instance=rw-1:9472,role=store,group=ringwatch-store",
		series: `ringwatch_stream_pending_age_seconds{$p,group="ringwatch-store"} 4000-60x60
ringwatch_stream_pending_age_seconds{$p,group="ringwatch-rules"} 9000-1x60`,
		quiet: [2]string{`4000-60x60`, `400x60`},
		says: "It catches up, and at this rate is done in 7 min. Wait: nothing is lost, since " +
			"Kafka keeps 24 hours."},
	{of: "RingwatchConsumerLag/fails",
		alert: "cluster,instance=rw-1:9472,role=store,group=ringwatch-store",
		series: `ringwatch_stream_pending_age_seconds{$p,group="ringwatch-store"} 0+60x60
ringwatch_stream_handle_retries_total{$p,group="ringwatch-store"} 0+6x60`,
		quiet: [2]string{`0+6x60`, `6x60`},
		also: [][2]string{{`ringwatch_stream_handle_retries_total{$p,group="ringwatch-store"`,
			`ringwatch_stream_handle_retries_total{$p,group="ringwatch-rules"`}},
		says: "It tries the same again, at 0.1/s, so what it writes to is away: Cassandra or " +
			"Redis. /-/ready says which."},
	{of: "RingwatchConsumerLag/busy",
		alert: "cluster,instance=rw-1:9472,role=store,group=ringwatch-store",
		series: `ringwatch_stream_pending_age_seconds{$p,group="ringwatch-store"} 0+6x60
ringwatch_stream_handled_total{$p,group="ringwatch-store"} 0+60000x60
process_cpu_seconds_total{$p} 0+57x60`,
		quiet: [2]string{`0+60000x60`, `60000x60`},
		also: [][2]string{{`ringwatch_stream_handled_total{$p,group="ringwatch-store"`,
			`ringwatch_stream_handled_total{$p,group="ringwatch-rules"`}},
		says: "It works, at 1000/s and 95 % of a core, and falls behind all the same. Run " +
			"another process of its role, up to one for each partition of the topic."},
	{of: "RingwatchConsumerLagGrows/partition",
		alert: "cluster,instance=rw-1:9472,role=store,group=ringwatch-store",
		series: `ringwatch_stream_lag_records{$p,group="ringwatch-store",partition="3"} 20000+100x60
ringwatch_stream_lag_records{$p,group="ringwatch-store",partition="4"} 100x60`,
		quiet: [2]string{`100x60
ringwatch_stream_lag_records{$p,group="ringwatch-store",partition="4"} 100x60`,
			`100x60
ringwatch_stream_lag_records{$p,group="ringwatch-store",partition="4"} 20000+100x60`},
		says: "26000 of the frames are in partition 3, one of 2 that it reads: one very large " +
			"cluster. That needs a faster process; more of them do not help."},
	{of: "RingwatchConsumerLagGrows/fails",
		alert: "cluster,instance=rw-1:9472,role=store,group=ringwatch-store",
		series: `ringwatch_stream_lag_records{$p,group="ringwatch-store",partition="3"} 20000+100x60
ringwatch_stream_handle_retries_total{$p,group="ringwatch-store"} 0+6x60`,
		quiet: [2]string{`0+6x60`, `6x60`},
		also: [][2]string{{`ringwatch_stream_handle_retries_total{$p,group="ringwatch-store"`,
			`ringwatch_stream_handle_retries_total{$p,group="ringwatch-rules"`}},
		says: "It tries the same again, at 0.1/s, so what it writes to is away or too slow. " +
			"Look at Cassandra or Redis before you add processes."},
	{of: "RingwatchConsumerLagGrows/busy",
		alert: "cluster,instance=rw-1:9472,role=store,group=ringwatch-store",
		series: `ringwatch_stream_lag_records{$p,group="ringwatch-store",partition="3"} 20000+120x60
ringwatch_stream_handled_total{$p,group="ringwatch-store"} 0+60000x60
process_cpu_seconds_total{$p} 0+57x60`,
		quiet: [2]string{`20000+120x60`, `20000x60`},
		says: "It reads at 1000/s, and what waits grows by 2/s; it takes 95 % of a core. Run " +
			"more processes of the role, up to one for each partition of the topic."},
	{of: "RingwatchConsumerFails/writes",
		alert:  "cluster,instance=rw-1:9472,role=store,group=ringwatch-store",
		series: `ringwatch_stream_handle_retries_total{$p,group="ringwatch-store"} 0+6x60`,
		quiet:  [2]string{`0+6x60`, `6x60`},
		also: [][2]string{{`ringwatch_stream_handle_retries_total{$p,group="ringwatch-store"`,
			`ringwatch_stream_handle_retries_total{$p,group="ringwatch-rules"`}},
		says: "What it does with frames fails, at 0.1/s: Cassandra or Redis does not take them. " +
			"The log has the error once a minute."},
	{of: "RingwatchConsumerFails/kafka",
		alert: "cluster,instance=rw-1:9472,role=store,group=ringwatch-store",
		series: `ringwatch_stream_handle_retries_total{$p,group="ringwatch-store"} 0x60
ringwatch_stream_fetch_errors_total{$p,group="ringwatch-store"} 0+6x60
ringwatch_stream_commit_errors_total{$p,group="ringwatch-store"} 0x60`,
		quiet: [2]string{`0+6x60`, `6x60`},
		also: [][2]string{{`ringwatch_stream_fetch_errors_total{$p,group="ringwatch-store"`,
			`ringwatch_stream_fetch_errors_total{$p,group="ringwatch-rules"`}},
		says: "Reading or committing fails, at 0.1/s: it is Kafka, or rights on the topic and " +
			"the group. The log has the error once a minute."},
	{of: "RingwatchFramesDropped/large",
		alert:  "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_store_frames_dropped_total{$p,reason="too_large"} 0+1x60`,
		quiet:  [2]string{`0+1x60`, `1x60`},
		says: "15 frames are larger than Cassandra takes. The log names their node: leave " +
			"tables out with its agent's filters, or raise max_mutation_size."},
	{of: "RingwatchFramesDropped/corrupt",
		alert:  "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_store_frames_dropped_total{$p,reason="corrupt"} 0+1x60`,
		quiet:  [2]string{`0+1x60`, `1x60`},
		says: "15 frames are damaged, so something other than an agent sends them, or this is a " +
			"fault of Ringwatch. Keep the log, and report it if no other program sends " +
			"frames."},
	{of: "RingwatchFramesLost/key",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_store_lost_frames_total{$p,reason="missing_key"} 0+2x60
ringwatch_store_lost_frames_total{$p,reason="memory"} 0+1x60`,
		quiet: [2]string{`0+2x60`, `0x60`},
		says: "The key frame of 30 frames never came, so an agent dropped it. See what " +
			"RingwatchAgentDropsFrames says."},
	{of: "RingwatchFramesLost/memory",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_store_lost_frames_total{$p,reason="missing_key"} 0x60
ringwatch_store_lost_frames_total{$p,reason="memory"} 0+1x60`,
		quiet: [2]string{`0+1x60`, `1x60`},
		says: "15 frames were of windows with more series than one may hold (memory). Leave " +
			"tables of that node out with its agent's filters, or give the store more memory."},
	{of: "RingwatchFramesLost/corrupt",
		alert:  "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_store_lost_frames_total{$p,reason="corrupt"} 0+1x60`,
		quiet:  [2]string{`0+1x60`, `1x60`},
		says: "15 stored frames cannot be read. The log names the node and the window: keep it " +
			"and report it."},
	{of: "RingwatchClosingBehind/falling",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_store_windows_open{$p} 1200x60
ringwatch_store_closing_age_seconds{$p} 900-10x60`,
		quiet: [2]string{`900-10x60`, `400x60`},
		says: "The oldest windows are closed first, and their age already falls; 1200 are open. " +
			"Wait."},
	{of: "RingwatchClosingBehind/cassandra",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_store_window_close_seconds{$p} $long
ringwatch_store_windows_open{$p} 1200x60`,
		quiet: [2]string{`$long`, `$quick`},
		says: "One window in a hundred takes 99.1 s to close, so Cassandra is slow. Look at its " +
			"pending compactions, its disk and its garbage collection."},
	{of: "RingwatchClosingBehind/process",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_store_window_close_seconds{$p} $quick
ringwatch_store_windows_open{$p} 1200x60
process_cpu_seconds_total{$p} 0+57x60`,
		quiet: [2]string{`1200x60`, `_x60`},
		says: "Closing is quick, 99 ms for all but one in a hundred, so 1200 open windows are " +
			"too many for this process with 95 % of a core. Run another store."},
	{of: "RingwatchHoursBehind/falling",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_store_spans_owed{$p} 80x60
ringwatch_store_hour_age_seconds{$p} 9000-60x60`,
		quiet: [2]string{`9000-60x60`, `3000x60`},
		says: "The oldest hours come first, and their age already falls; 80 are left to be " +
			"made. Wait."},
	{of: "RingwatchHoursBehind/fails",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_store_hour_age_seconds{$p} 0+60x60
ringwatch_store_retries_total{$p} 0+120x60`,
		quiet: [2]string{`0+120x60`, `120x60`},
		says: "Calls to Cassandra are tried again, at 2/s. Bring it back first: hours are made " +
			"by themselves then."},
	{of: "RingwatchHoursBehind/cassandra",
		alert:  "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_store_hour_make_seconds{$p} $long`,
		quiet:  [2]string{`$long`, `$quick`},
		says: "One hour in a hundred takes 99.1 s to make, so Cassandra is slow. Look at its " +
			"pending compactions and its disk."},
	{of: "RingwatchHoursBehind/throttled",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_store_hour_make_seconds{$p} $quick
ringwatch_store_spans_owed{$p} 80x60`,
		quiet: [2]string{`80x60`, `_x60`},
		says: "All but one hour in a hundred are made within 99 ms, and 80 wait. If ringwatch " +
			"qps shows bulk work as throttled give it more, or stop other bulk work; else run " +
			"another store."},
	{of: "RingwatchWindowsSetAside/memory",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_store_windows_set_aside{$p} 3x60
ringwatch_memory_limit_bytes{$p} 1073741824x60`,
		quiet: [2]string{`3x60`, `_x60`},
		says: "3 windows do not fit into what an account may have of 1 GiB. Give the store more " +
			"memory within the hour, and it closes them; /-/ready names their nodes."},
	{of: "RingwatchStoreDamaged/several",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_store_damaged_blobs_total{$p} 0+1x60
ringwatch_store_damaged_blobs_total{$o} 0+1x60`,
		quiet: [2]string{`{$o} 0+1x60`, `{$o} 0x60`},
		says: "Other processes found damage as well (1), so it is what is stored. Scrub and " +
			"repair the store's keyspace; ringwatch store --from 24h writes again what Kafka " +
			"still has."},
	{of: "RingwatchStoreDamaged/alone",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_store_damaged_blobs_total{$p} 0+1x60
ringwatch_store_damaged_blobs_total{$o} 0x60`,
		quiet: [2]string{`0+1x60`, `1x60`},
		says: "Only this process found damage, 15 values within 15 minutes. See if it has the " +
			"version of the others: an old one may not know what a new one wrote."},
	{of: "RingwatchCassandraAway/down",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_ring_hosts{$p,state="down"} 2x60
ringwatch_ring_hosts{$p,state="up"} 1x60`,
		quiet: [2]string{` 2x`, ` 0x`},
		says: "It takes 2 nodes of Cassandra for down and 1 for up. Bring them back: the store " +
			"then catches up by itself."},
	{of: "RingwatchCassandraAway/several",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_store_retries_total{$p} 0+600x60
ringwatch_store_retries_total{$o} 0+600x60`,
		quiet: [2]string{`{$o} 0+600x60`, `{$o} 0x60`},
		says: "No node of Cassandra is down, and other processes cannot write either (1): it is " +
			"overloaded, or has no room. Look at its timeouts and its disks."},
	{of: "RingwatchCassandraAway/alone",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_store_retries_total{$p} 0+600x60
ringwatch_store_retries_total{$o} 0x60`,
		quiet: [2]string{`0+600x60`, `0x60`},
		says: "No node of Cassandra is down, and only this process fails, at 10/s. Look at its " +
			"network, its password and its rights (ringwatch schema grants)."},
	{of: "RingwatchRedisAway/full",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_recent_dropped_total{$p,reason="refused"} 0+600x60
ringwatch_recent_dropped_total{$p,reason="away"} 0x60
ringwatch_recent_redis_memory_bytes{$p} 990e6x60
ringwatch_recent_redis_memory_max_bytes{$p} 1000e6x60`,
		quiet: [2]string{`0+600x60`, `0x60`},
		says: "Redis answers and refuses 10/s, with 99 % of its memory in use. Raise its " +
			"maxmemory if it is full; else see if it loads or is a replica."},
	{of: "RingwatchRedisAway/away",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_recent_dropped_total{$p,reason="refused"} 0x60
ringwatch_recent_dropped_total{$p,reason="away"} 0+600x60`,
		quiet: [2]string{`0+600x60`, `0x60`},
		says: "Redis does not answer, so frames pass it by at 10/s. Start it, or look at its " +
			"network: it may start empty, and is filled again within minutes."},
	{of: "RingwatchRedisUnread/several",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_recent_reads_total{$p,call="latest",result="error"} 0+60x60
ringwatch_recent_reads_total{$o,call="latest",result="error"} 0+60x60`,
		quiet: [2]string{`{$o,call="latest",result="error"} 0+60x60`,
			`{$o,call="latest",result="error"} 0x60`},
		says: "Reads of other processes fail as well (1), so it is Redis. See what " +
			"RingwatchRedisAway says; answers are right meanwhile."},
	{of: "RingwatchRedisUnread/alone",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_recent_reads_total{$p,call="latest",result="error"} 0+60x60
ringwatch_recent_reads_total{$o,call="latest",result="error"} 0x60`,
		quiet: [2]string{`0+60x60`, `0x60`},
		says: "Only this process cannot read: reads fail at 1/s. Look at its network, its " +
			"password and its certificate for Redis."},
	{of: "RingwatchAPIErrors/memory",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_memory_refused_total{$p,budget="query",reason="busy"} 0+60x60
ringwatch_api_requests_total{$p,route="/api/v1/query",code="503"} 0+60x60`,
		quiet: [2]string{`0+60x60`, `0x60`},
		says: "The process refuses work for want of memory, at 1/s (budget query). Find who " +
			"asks for so much (ringwatch qps), or give it more memory."},
	{of: "RingwatchAPIErrors/route",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_api_requests_total{$p,route="/api/v1/query",code="503"} 0+60x60
ringwatch_api_requests_total{$p,route="/v1/nodes",code="500"} 0+6x60`,
		quiet: [2]string{`0+60x60
ringwatch_api_requests_total{$p,route="/v1/nodes",code="500"} 0+6x60`,
			`0x60`},
		says: "Most are 503 on /api/v1/query, at 1/s. The log has the cause under the " +
			"X-Request-Id of the answer, and /-/ready says what cannot be read."},
	{of: "RingwatchAPIPartial/damaged",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_store_damaged_blobs_total{$o} 0+1x60
ringwatch_api_read_failures_total{$p} 0x60`,
		quiet: [2]string{`0+1x60`, `1x60`},
		says: "15 stored values could not be decoded within 15 minutes. See what " +
			"RingwatchStoreDamaged says."},
	{of: "RingwatchAPIPartial/fails",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_store_damaged_blobs_total{$o} 0x60
ringwatch_api_read_failures_total{$p} 0+60x60`,
		quiet: [2]string{`0+60x60`, `60x60`},
		says: "Reads fail, at 1/s, so Cassandra is away or too slow. Answers are whole again " +
			"when it is back."},
	{of: "RingwatchAPIPartial/behind",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_api_read_failures_total{$p} 0x60
ringwatch_stream_pending_age_seconds{$o,group="ringwatch-store"} 400x60`,
		quiet: [2]string{`400x60`, `4x60`},
		says: "No read fails, and a consumer is 7 min behind, so what is asked for is not " +
			"stored yet. Answers are whole again when it has caught up."},
	{of: "RingwatchSeriesStale/fails",
		alert:  "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_series_refresh_failures_total{$p} 0+1x60`,
		quiet:  [2]string{`0+1x60`, `1x60`},
		says: "15 refreshes failed within 15 minutes, so Cassandra cannot be read or is too " +
			"slow. Values are right meanwhile; only new nodes and tables are missing."},
	{of: "RingwatchSeriesStale/pending",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_series_refresh_failures_total{$p} 0x60
ringwatch_series_nodes_pending{$p} 240x60`,
		quiet: [2]string{`240x60`, `0x60`},
		says: "It still loads the series of 240 nodes, as after a start. Wait, and look at " +
			"Cassandra if the number does not fall."},
}
