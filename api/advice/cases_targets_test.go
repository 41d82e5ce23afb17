package advice_test

// targetsCases are of the alerts of rules/targets.yaml.
var targetsCases = []speaking{
	{of: "TargetDown/port",
		alert:  "instance=r1:6379,job=redis",
		series: `ringwatch_target_error_info{$n,job="redis",error="dial tcp 10.0.0.1:6379: connect: connection refused"} 1x60`,
		quiet:  [2]string{`connection refused`, `broken pipe`},
		says: "The machine answers and refuses the connection, so nothing listens on that port. " +
			"Start the process, and read the end of its log."},
	{of: "TargetDown/login",
		alert:  "instance=r1:6379,job=redis",
		series: `ringwatch_target_error_info{$n,job="redis",error="redis r1:6379 wants a password; set username and password or password_file"} 1x60`,
		quiet: [2]string{`wants a password; set username and password or password_file`,
			`broke off at the greeting: EOF; see its log`},
		also: [][2]string{
			{`redis r1:6379 wants a password; set username and password or password_file`,
				`redis auth-sasl-db:4031 broke off at INFO: EOF; see its log`}, // a host's name
			{`redis r1:6379 wants a password; set username and password or password_file`,
				`The target answered 503 Service Unavailable.`},
		},
		says: "It answers and turns the role watch away, so most likely nothing is down: redis " +
			"r1:6379 wants a password; set username and password or password_file. Correct the " +
			"login or the certificate in the section watch."},
	{of: "TargetDown/login",
		alert:  "instance=k1:9092,job=kafka",
		series: `ringwatch_target_error_info{$n,job="kafka",error="SASL_AUTHENTICATION_FAILED: SASL Authentication failed.: check sasl"} 1x60`,
		quiet: [2]string{`SASL_AUTHENTICATION_FAILED: SASL Authentication failed.: check sasl`,
			`no answer within 30s: check that the broker runs, that this machine reaches the address that it gives to clients (advertised.listeners), and tls and sasl`},
		says: "It answers and turns the role watch away, so most likely nothing is down: " +
			"SASL_AUTHENTICATION_FAILED: SASL Authentication failed.: check sasl. Correct the " +
			"login or the certificate in the section watch."},
	{of: "TargetDown/login",
		alert:  "instance=a1:8080,job=app",
		series: `ringwatch_target_error_info{$n,job="app",error="The target answered 401 Unauthorized"} 1x60`,
		quiet:  [2]string{`401 Unauthorized`, `404 Not Found`},
		says: "It answers and turns the role watch away, so most likely nothing is down: The " +
			"target answered 401 Unauthorized. Correct the login or the certificate in the " +
			"section watch."},
	{of: "TargetDown/login",
		alert:  "instance=r1:6379,job=redis",
		series: `ringwatch_target_error_info{$n,job="redis",error="redis r1:6379 has trouble with TLS: r1:6379's certificate expired on 2026-11-01; renew it"} 1x60`,
		quiet:  [2]string{`r1:6379's certificate expired on 2026-11-01; renew it`, `EOF`},
		says: "It answers and turns the role watch away, so most likely nothing is down: redis " +
			"r1:6379 has trouble with TLS: r1:6379's certificate expired on 2026-11-01; renew " +
			"it. Correct the login or the certificate in the section watch."},
	{of: "TargetDown/silent",
		alert: "instance=r1:6379,job=redis",
		series: `ringwatch_target_error_info{$n,job="redis",error="it did not answer within 5s."} 1x60
up{$n,job="redis",instance="r1:6379"} 0x60
up{$2,job="redis",instance="r2:6379"} 1x60`,
		quiet: [2]string{` 1x60
up{$n,job="redis",instance="r1:6379"} 0x60
up{$2,job="redis",instance="r2:6379"} 1x`,
			` 1x60
up{$n,job="redis",instance="r1:6379"} 0x60
up{$2,job="redis",instance="r2:6379"} 0x`},
		says: "Nothing comes back in time from it, while others of its job answer (1): it " +
			"hangs, its machine is off, or a firewall drops packets. Try its address from the " +
			"machine of the role watch."},
	{of: "TargetDown/network",
		alert: "instance=r1:6379,job=redis",
		series: `ringwatch_target_error_info{$n,job="redis",error="it did not answer within 5s."} 1x60
up{$n,job="redis",instance="r1:6379"} 0x60
up{$2,job="redis",instance="r2:6379"} 0x60`,
		quiet: [2]string{`did not answer within 5s`, `broke off`},
		also: [][2]string{{`
up{$2,job="redis",instance="r2:6379"} 0x60`, ``}},
		says: "Nothing comes back in time, and no target of its job answers (2): look at the " +
			"network between the role watch and them. Try one address from the role's " +
			"machine."},
	{of: "TargetDown/alone",
		alert: "instance=k1:9092,job=kafka",
		series: `ringwatch_target_error_info{$n,job="kafka",error="no answer within 30s: check that the broker runs, that this machine reaches the address that it gives to clients (advertised.listeners), and tls and sasl"} 1x60
up{$n,job="kafka",instance="k1:9092"} 0x60
up{$2,job="redis",instance="r2:6379"} 0x60`,
		quiet: [2]string{`"} 1x60`, `"} _x60`},
		also:  [][2]string{{`$2,job="redis"`, `$2,job="kafka"`}},
		says: "Nothing comes back in time, and its job has no other target: it hangs, its " +
			"machine is off, or a firewall drops packets. Try its address from the machine of " +
			"the role watch."},
	{of: "TargetDown/name",
		alert:  "instance=r1:6379,job=redis",
		series: `ringwatch_target_error_info{$n,job="redis",error="lookup r1: no such host"} 1x60`,
		quiet:  [2]string{`no such host`, `broken pipe`},
		says: "Its name is not found in DNS, as the role watch asks it: lookup r1: no such " +
			"host. Correct the address in the section watch, or the name server of that " +
			"machine."},
	{of: "TargetsDown/login",
		alert: "cluster,job=kafka",
		series: `ringwatch_target_error_info{$n,job="kafka",error="SASL_AUTHENTICATION_FAILED: SASL Authentication failed.: check sasl"} 1x60
up{$2,job="node",instance="r1:9100"} 1x60`,
		quiet: [2]string{`SASL_AUTHENTICATION_FAILED: SASL Authentication failed.: check sasl`,
			`no answer within 30s: check that the broker runs, that this machine reaches the address that it gives to clients (advertised.listeners), and tls and sasl`},
		also: [][2]string{{`SASL_AUTHENTICATION_FAILED: SASL Authentication failed.: check sasl`,
			`k1:9093 refuses the handshake (tls: handshake timeout)`}},
		says: "They answer and turn the role watch away, so most likely nothing is down: " +
			"SASL_AUTHENTICATION_FAILED: SASL Authentication failed.: check sasl. Somebody " +
			"changed the password, or a certificate ran out: correct the section watch."},
	{of: "TargetsDown/others",
		alert: "cluster,job=redis",
		series: `ringwatch_target_error_info{$n,job="redis",error="connection refused"} 1x60
up{$n,job="redis",instance="r1:6379"} 0x60
up{$2,job="node",instance="r1:9100"} 1x60`,
		quiet: [2]string{`"r1:9100"} 1x`, `"r1:9100"} 0x`},
		also:  [][2]string{{`$2,job="node",instance="r1:9100"`, `$2`}}, // an agent's
		says: "Others of the cluster answer (1), so it is this software and not the network. " +
			"Look at its processes and at the end of their logs."},
	{of: "TargetsDown/said",
		alert: "cluster,job=redis",
		series: `ringwatch_target_error_info{$n,job="redis",error="it did not answer within 5s."} 1x60
up{$n,job="redis",instance="r1:6379"} 0x60`,
		quiet: [2]string{`1x60`, `_x60`},
		says: "Nothing else that is read of the cluster answers either, and the reader says: " +
			"it did not answer within 5s. Look at the machines' network and power, and try one " +
			"address from the machine of the role watch."},
	{of: "TargetNotRead/alone",
		series: `ringwatch_node_last_seen_timestamp_seconds{$n} 1200x60
ringwatch_node_last_seen_timestamp_seconds{$2} 3590x60
ringwatch_node_info{$n,job="redis"} 1x60
ringwatch_node_info{$2,job="redis"} 1x60`,
		quiet: [2]string{`3590x`, `1200x`},
		says: "Other targets of the cluster are read (1), so this one is in no configuration of " +
			"the role watch any more, or its discovery does not find it. If you took it out, " +
			"run ringwatch node forget for it; else compare the configurations of all " +
			"processes."},
	{of: "TargetNotRead/all",
		series: `ringwatch_node_last_seen_timestamp_seconds{$n} 1200x60
ringwatch_node_last_seen_timestamp_seconds{$2} 1200x60
ringwatch_node_info{$n,job="redis"} 1x60
ringwatch_node_info{$2,job="redis"} 1x60`,
		quiet: [2]string{`{$2} 1200x`, `{$2} 3590x`},
		says: "No target of the cluster is read (2), so it is the role watch and not the " +
			"target. See that its processes run and reach ingest: their log says which it is."},
	{of: "TargetReadInPart/brokers",
		alert: "instance=k1:9092,job=kafka",
		series: `kafka_cluster_unanswered_brokers{$n} 1x60
kafka_brokers{$n} 3x60`,
		quiet: [2]string{` 1x`, ` 0x`},
		says: "Brokers did not answer (1), and 3 are named as alive. What is missing is theirs: " +
			"do what KafkaBrokerDown says, or let the role watch reach their addresses."},
	{of: "TargetReadInPart/series",
		alert: "instance=k1:9092,job=kafka",
		series: `kafka_cluster_unanswered_brokers{$n} 0x60
kafka_brokers{$n} 3x60
kafka_cluster_left_out_series{$n} 24000x60`,
		quiet: [2]string{`24000x`, `0x`},
		says: "24000 series were left out for max_series, and all brokers answered. Leave out " +
			"what nobody looks at (topics.exclude, groups.exclude), or raise max_series."},
	{of: "TargetReadInPart/said",
		alert: "instance=k1:9092,job=kafka",
		series: `ringwatch_target_error_info{$n,job="kafka",error="allow the login DESCRIBE on the cluster"} 1x60
scrape_samples_scraped{$n} 812x60`,
		quiet: [2]string{` 1x`, ` _x`},
		says: "812 series are read of it all the same, and the reader says of the rest: allow " +
			"the login DESCRIBE on the cluster. Its sentence names what to do, most often a " +
			"right that the login lacks."},
}
