package advice_test

// ringwatchCases are of the alerts of rules/ringwatch.yaml about agents, processes and ingest.
var ringwatchCases = []speaking{
	{of: "RingwatchNodesStale/datacenter",
		alert: "cluster",
		series: `up{$n} 0x60
up{$c,datacenter="dc1",rack="r2",node="n3"} 0x60
up{$c,datacenter="dc2",rack="r1",node="n4"} 1x60`,
		quiet: [2]string{`"n4"} 1x`, `"n4"} 0x`},
		also:  [][2]string{{`$n} 0x`, `$n} 1x`}}, // one of its nodes is heard of
		says: "All 2 nodes of datacenter dc1 are silent, and all others are heard of. Look at " +
			"the network between that one and ingest, and at its power."},
	{of: "RingwatchNodesStale/agents",
		alert: "cluster",
		series: `up{$n} 0x60
up{$2} 1x60
up{$c,datacenter="dc1",rack="r3",node="n3"} 0x60
ringwatch_node_info{$c,datacenter="dc1",rack="r3",node="n3",address="10.0.0.3:7000"} 1x60
ringwatch_node_info{$n,address="10.0.0.1:7000"} 1x60
cassandra_peer_up{$2,peer="10.0.0.1:7000"} 1x60
cassandra_peer_up{$2,peer="10.0.0.3:7000"} 1x60`,
		also: [][2]string{{`peer="10.0.0.3:7000"} 1x`, `peer="10.0.0.3:7000"} 0x`}},
		quiet: [2]string{`7000"} 1x60
cassandra_peer_up{$2,peer="10.0.0.1:7000"} 1x`,
			`7000"} 1x60
cassandra_peer_up{$2,peer="10.0.0.1:7000"} 0x`},
		says: "Nodes that are heard of take 2 of the silent ones for up, so Cassandra runs " +
			"there and only agents do not get through. Look at the network to ingest and at " +
			"the agents' key; do not restart nodes."},
	{of: "RingwatchNodesStale/down",
		alert: "cluster",
		series: `up{$n} 0x60
up{$2} 1x60
ringwatch_node_info{$n,address="10.0.0.1:7000"} 1x60
cassandra_peer_up{$2,peer="10.0.0.1:7000"} 0x60`,
		quiet: [2]string{`7000"} 0x`, `7000"} 1x`},
		says: "Nodes that are heard of take 1 of the silent ones for down as well, so it is not " +
			"ingest. Look at what they share: power, a switch, a disk array, a change that " +
			"was rolled out."},
	{of: "RingwatchNodesStale/all",
		alert: "cluster",
		series: `up{$n} 0x60
up{$2} 0x60`,
		quiet: [2]string{`up{$2} 0x`, `up{$2} 1x`},
		says: "All 2 nodes fell silent together, so most likely they run and cannot send. Look " +
			"at ingest, the load balancer before it, and the agents' key and certificate."},
	{of: "RingwatchAgentDropsFrames/refused",
		series: `ringwatch_agent_frames_dropped_total{$n,reason="http_413"} 0+1x60`,
		quiet:  [2]string{`http_413`, `queue_full`},
		says: "Ingest refused 15 frames (http_413), and would refuse them again. Its log says " +
			"why: most often the node's clock (http_400), or a frame larger than ingest takes " +
			"(http_413)."},
	{of: "RingwatchAgentDropsFrames/full",
		series: `ringwatch_agent_frames_dropped_total{$n,reason="spool_full"} 0+3x60
ringwatch_agent_spool_bytes{$n} 268435456x60`,
		quiet: [2]string{`spool_full`, `key_lost`},
		says: "45 frames found no room (spool_full) beside the 256 MiB in its spool: ingest was " +
			"away for longer than the agent keeps frames. Bring ingest back, and give the " +
			"agent a larger spool.bytes for the next time."},
	{of: "RingwatchAgentDropsFrames/disk",
		series: `ringwatch_agent_frames_dropped_total{$n,reason="spool_damaged"} 0+1x60`,
		quiet:  [2]string{`0+1x`, `1x`},
		says: "15 frames could not be read back from the spool. Its disk fails, or another " +
			"program writes there."},
	{of: "RingwatchAgentSpoolOff/full",
		series: `os_filesystem_size_bytes{$n,device="sdb",mount="/var"} 100e9x60
os_filesystem_available_bytes{$n,device="sdb",mount="/var"} 1e9x60`,
		quiet: [2]string{` 1e9`, ` 50e9`},
		says: "/var is 99 % full, and the agent leaves 256 MiB of a disk free. Make room there, " +
			"if the spool is on it."},
	{of: "RingwatchAgentSpoolOff/several",
		series: `ringwatch_agent_spool_off{$n} 1x60
ringwatch_agent_spool_off{$2} 1x60`,
		quiet: [2]string{`{$2} 1x`, `{$2} 0x`},
		says: "Other nodes have no spool either (1), so it is what they share: the directory in " +
			"agent.yaml, or whom it belongs to. It must belong to Cassandra's user."},
	{of: "RingwatchAgentSpoolOff/alone",
		series: `ringwatch_agent_spool_off{$n} 1x60
ringwatch_agent_spool_off{$2} 0x60`,
		quiet: [2]string{`{$2} 0x`, `{$2} 1x`},
		says: "Other nodes have their spools (1), so it is this node's directory. See whom it " +
			"belongs to, and if another Cassandra of this machine has it."},
	{of: "RingwatchAgentSpoolFills/several",
		series: `ringwatch_agent_spool_frames{$n} 400x60
ringwatch_agent_spool_frames{$2} 300x60`,
		quiet: [2]string{`300x`, `0x`},
		says: "Frames wait on other nodes as well (1), so ingest is slow, away or refuses them. " +
			"Look there, and at Kafka behind it."},
	{of: "RingwatchAgentSpoolFills/fails",
		series: `ringwatch_agent_spool_frames{$n} 400x60
ringwatch_agent_send_errors_total{$n} 0+3x60`,
		quiet: [2]string{`0+3x`, `3x`},
		says: "Only this node's frames wait, and its attempts to send fail at 0.05/s. Its " +
			"network to ingest breaks off, or its clock or key is wrong: ringwatch doctor " +
			"tries the whole way."},
	{of: "RingwatchAgentSpoolFills/slow",
		series: `ringwatch_agent_spool_frames{$n} 400x60
ringwatch_agent_send_errors_total{$n} 0x60
ringwatch_agent_sent_bytes_total{$n} 0+60000x60`,
		quiet: [2]string{`0+60000x`, `0x`},
		says: "Only this node's frames wait, 400 of them, and it sends 1000 B/s without an " +
			"error: its line to ingest is too slow. Look at loss and limits on the way."},
	{of: "RingwatchProcessDown/others",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `process:ringwatch_process_up:timestamp{$p} 3000x60
process:ringwatch_process_up:timestamp{$o} 3590x60`,
		quiet: [2]string{`3590x`, `3000x`},
		says: "Other processes of store run (1) and do its work, so nothing stands still. Start " +
			"it again, or silence this if its machine is gone for good."},
	{of: "RingwatchProcessDown/alone",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `process:ringwatch_process_up:timestamp{$p} 3000x60
process:ringwatch_process_up:timestamp{$o} 1000x60`,
		quiet: [2]string{`1000x`, `3590x`},
		says: "No other process of store has reported, so its work has waited for 10 min. Start " +
			"it at once: nothing is lost meanwhile, as long as Kafka keeps it."},
	{of: "RingwatchProcessDown/missing",
		alert: "cluster,instance=rw-1:9472,role=rules",
		series: `process:ringwatch_process_up:timestamp{$c,instance="rw-1:9472",role="rules"} 3000x60
process:ringwatch_process_up:timestamp{$c,instance="rw-2:9472",role="rules"} 1000x60`,
		quiet: [2]string{`1000x`, `3590x`},
		says: "No other process of rules has reported, so its work has waited for 10 min. Start " +
			"it at once: what it does, such as alerts or readings of targets, is missing for " +
			"this time."},
	{of: "RingwatchMemoryShort/large",
		alert: "cluster,instance=rw-1:9472,role=store,budget=close",
		series: `ringwatch_memory_refused_total{$p,budget="close",reason="too_large"} 0+60x60
ringwatch_memory_refused_total{$p,budget="close",reason="busy"} 0+1x60
ringwatch_memory_budget_bytes{$p,budget="close"} 268435456x60
ringwatch_memory_leased_bytes{$p,budget="close"} 260000000x60`,
		quiet: [2]string{`0+60x60`, `0x60`},
		says: "Most ask for more than a piece of work may ever have of the 256 MiB, at 1/s, so " +
			"to wait does not help. The log names it: make it smaller, or give the process " +
			"more memory."},
	{of: "RingwatchMemoryShort/busy",
		alert: "cluster,instance=rw-1:9472,role=store,budget=close",
		series: `ringwatch_memory_budget_bytes{$p,budget="close"} 268435456x60
ringwatch_memory_leased_bytes{$p,budget="close"} 260000000x60`,
		quiet: [2]string{`260000000`, `100000000`},
		says: "96.9 % of the 256 MiB are in use, so there is too much work at once. Run another " +
			"process of this role, or give this one more memory (memory.limit_bytes)."},
	{of: "RingwatchMemoryShort/account",
		alert: "cluster,instance=rw-1:9472,role=store,budget=close",
		series: `ringwatch_memory_budget_bytes{$p,budget="close"} 268435456x60
ringwatch_memory_leased_bytes{$p,budget="close"} 140000000x60`,
		quiet: [2]string{`140000000`, `260000000`},
		says: "Only 52.2 % of the 256 MiB are in use, so most likely one account has the half " +
			"that it may have. ringwatch qps and the log name it."},
	{of: "RingwatchKeysUnread/several",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_account_keys_age_seconds{$p} 400x60
ringwatch_account_keys_age_seconds{$o} 400x60`,
		quiet: [2]string{`{$o} 400x`, `{$o} 5x`},
		says: "Other processes cannot read the keys either (1), so it is Cassandra. Bring that " +
			"back; known keys work meanwhile, and so do those that were revoked."},
	{of: "RingwatchKeysUnread/alone",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_account_keys_age_seconds{$p} 400x60
ringwatch_account_keys_age_seconds{$o} 5x60`,
		quiet: [2]string{`{$o} 5x`, `{$o} 400x`},
		says: "Other processes read the keys (1), so it is this one. Look at its network to " +
			"Cassandra, and at the rights of its user: ringwatch schema grants --for keys " +
			"prints them."},
	{of: "RingwatchIngestRefuses/kafka",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_ingest_frames_dropped_total{$p,reason="kafka"} 0+60x60
ringwatch_ingest_frames_dropped_total{$p,reason="malformed"} 0+1x60`,
		quiet: [2]string{`0+60x60`, `0x60`},
		also:  [][2]string{{`"kafka"`, `"kafka_limit"`}},
		says: "Most are refused since Kafka does not take them, at 1/s. Look at the brokers; " +
			"agents keep these frames and send them again."},
	{of: "RingwatchIngestRefuses/kafka_limit",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_ingest_frames_dropped_total{$p,reason="kafka_limit"} 0+60x60
ringwatch_ingest_frames_dropped_total{$p,reason="kafka"} 0+1x60`,
		quiet: [2]string{`0+60x60`, `0x60`},
		says: "Most are larger than Kafka takes, at 1/s, and agents drop them (413). Raise the " +
			"topic's max.message.bytes, or lower ingest.max_frame_bytes."},
	{of: "RingwatchIngestRefuses/key",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_ingest_frames_dropped_total{$p,reason="revoked_key"} 0+60x60
ringwatch_ingest_frames_dropped_total{$p,reason="malformed"} 0+1x60`,
		quiet: [2]string{`0+60x60`, `0x60`},
		says: "Most are refused for their key (revoked_key), at 1/s. Make one that fits with " +
			"ringwatch key create and put it into the nodes' key file; agents need no " +
			"restart."},
	{of: "RingwatchIngestRefuses/clock",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_ingest_frames_dropped_total{$p,reason="clock_ahead"} 0+60x60
ringwatch_ingest_frames_dropped_total{$p,reason="malformed"} 0+1x60`,
		quiet: [2]string{`0+60x60`, `0x60`},
		says: "Most are refused for their time (clock_ahead), at 1/s. Look at NTP on the nodes " +
			"that the log names, and on this machine."},
	{of: "RingwatchIngestRefuses/limit",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_ingest_frames_dropped_total{$p,reason="too_many_series"} 0+60x60
ringwatch_ingest_frames_dropped_total{$p,reason="malformed"} 0+1x60`,
		quiet: [2]string{`0+60x60`, `0x60`},
		says: "Most are refused for a limit (too_many_series), at 1/s. Raise it in section " +
			"ingest if the account may send so much, or find which of its nodes does."},
	{of: "RingwatchIngestRefuses/other",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_ingest_frames_dropped_total{$p,reason="kafka"} 0+1x60
ringwatch_ingest_frames_dropped_total{$p,reason="malformed"} 0+60x60`,
		quiet: [2]string{`0+60x60`, `0x60`},
		says: "Most are refused as malformed, at 1/s. The log of ingest names the nodes and " +
			"says what is wrong with their frames."},
	{of: "RingwatchIngestSilent/refused",
		alert:  "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_ingest_frames_dropped_total{$p,reason="wrong_key"} 0+60x60`,
		quiet:  [2]string{`0+60x60`, `60x60`},
		says: "Agents do reach it, and it refuses all, at 1/s. See what RingwatchIngestRefuses " +
			"and RingwatchKafkaAway say."},
	{of: "RingwatchIngestSilent/spare",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_ingest_frames_forwarded_total{$p} 0+3x60
ringwatch_ingest_own_frames_total{$p} 0+3x60
ringwatch_ingest_frames_forwarded_total{$o} 0+1200x60
ringwatch_ingest_own_frames_total{$o} 0+3x60`,
		quiet: [2]string{`0+1200x`, `0+3x`},
		says: "Other processes take frames, at 19.9/s, so agents are led past this one. If it " +
			"is a spare, silence this; else look at the load balancer."},
	{of: "RingwatchIngestSilent/all",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_ingest_frames_forwarded_total{$p} 0+3x60
ringwatch_ingest_own_frames_total{$p} 0+3x60
ringwatch_ingest_frames_forwarded_total{$o} 0+3x60
ringwatch_ingest_own_frames_total{$o} 0+3x60`,
		quiet: [2]string{`{$o} 0+3x60`, `{$o} 0+1200x60`},
		says: "No process of ingest gets frames of agents (2). Look at its name in DNS, the " +
			"load balancer, the firewall and the certificate; ringwatch doctor on a node " +
			"tries the whole way."},
	{of: "RingwatchIngestSlow/kafka",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_stream_publish_seconds{$p,producer="ingest"} $long
process_cpu_seconds_total{$p} 0+12x60`,
		quiet: [2]string{`$long`, `$quick`},
		says: "Kafka alone takes 91 s for one frame in ten. Look at its disks, its network, and " +
			"for a replica that lags."},
	{of: "RingwatchIngestSlow/process",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_stream_publish_seconds{$p,producer="ingest"} $quick
process_cpu_seconds_total{$p} 0+57x60`,
		quiet: [2]string{`0+57x60`, `_x60`},
		says: "Kafka has nine in ten frames within 90 ms, so it is this process, which takes 95 " +
			"% of a core. Give it more, or run another beside it."},
	{of: "RingwatchKafkaAway/several",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_stream_publish_dropped_total{$p,producer="ingest",reason="timeout"} 0+60x60
ringwatch_stream_publish_dropped_total{$o,producer="ingest",reason="timeout"} 0+60x60`,
		quiet: [2]string{`{$o,producer="ingest",reason="timeout"} 0+60x60`,
			`{$o,producer="ingest",reason="timeout"} 0x60`},
		says: "Other processes cannot write either (1), so it is Kafka. See that its brokers " +
			"are up with room on their disks, and that min.insync.replicas of them are in " +
			"sync."},
	{of: "RingwatchKafkaAway/alone",
		alert: "cluster,instance=rw-1:9472,role=store",
		series: `ringwatch_stream_publish_dropped_total{$p,producer="ingest",reason="timeout"} 0+60x60
ringwatch_stream_publish_dropped_total{$o,producer="ingest",reason="timeout"} 0x60`,
		quiet: [2]string{`} 0x60`, `} 0+60x60`},
		says: "Only this process cannot write: frames are dropped at 1/s, most with the reason " +
			"timeout. Look at its network, its certificate and its password for Kafka."},
}
