package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Cassandra is what was learned of the one that keeps, or is to keep, Ringwatch's frames.
type Cassandra struct {
	Address  string
	Keyspace string
	Replicas int               // of the keyspace; 0: it is not there yet
	Sync     map[string]string // commitlog_sync by node
	// how acknowledged frames can be lost; "": not by the crash of one node
	Risk    string
	Remedy  string // of Risk
	Away    error  // why it does not answer at all
	Hidden  error  // why it does not tell its settings
	Section string // that of TLS, if the port speaks it and we did not
}

// ReportCassandra says what follows from it.
func ReportCassandra(c Cassandra) *Report {
	r := &Report{OK: true, noLine: true}
	say := func(name string, s Status, message, remedy string) {
		r.Results = append(r.Results, Result{Name: name, Status: s, Message: message,
			Remedy: remedy})
		r.OK = r.OK && s != Fail
	}
	if c.Away != nil {
		say("cassandra", Fail, fmt.Sprintf("%s does not answer: %s", c.Address,
			oneLine(c.Away.Error())),
			remedyFor(c.Section,
				"check the address, the port and the password (RINGWATCH_CASSANDRA_USERNAME, "+
					"RINGWATCH_CASSANDRA_PASSWORD)"))
		return r
	}
	say("cassandra", OK, c.Address+" answers", "")
	switch c.Replicas {
	case 0:
		say("replicas", OK,
			fmt.Sprintf("keyspace %s is not there yet; it gets cassandra.replication_factor "+
				"replicas, 1 by default", c.Keyspace), "")
	case 1:
		say("replicas", OK,
			fmt.Sprintf("keyspace %s has one: while its node is away frames wait in Kafka",
				c.Keyspace), "")
	default:
		say("replicas", OK, fmt.Sprintf("keyspace %s has %d", c.Keyspace, c.Replicas), "")
	}
	switch {
	case c.Hidden != nil:
		say("commitlog", Warn, "commitlog_sync cannot be seen: "+oneLine(c.Hidden.Error()),
			"name a user with SELECT on system_views, or look into cassandra.yaml: group or "+
				"batch, unless there are three replicas")
	case c.Risk != "":
		say("commitlog", Warn, c.Risk, c.Remedy)
	default:
		say("commitlog", OK,
			"commitlog_sync is "+strings.Join(slices.Compact(slices.Sorted(maps.Values(c.Sync))),
				" and "), "")
	}
	return r
}
