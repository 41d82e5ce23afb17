package nodes

import "github.com/ringwatch/ringwatch/frame"

// reasons are what a node that does not serve says of it, in sentences.
var reasons = map[string]string{
	frame.Starting: "It is starting.",
	frame.Joining: "It is joining the ring: it streams its share of the data, and answers no " +
		"reads yet.",
	frame.JoiningFailed: "It could not join the ring: it lacks data of its share, and answers no " +
		"reads. nodetool bootstrap resume goes on.",
	frame.Leaving: "It is leaving the ring: it streams its data to the nodes that take over its " +
		"share.",
	frame.Drained: "It was drained: no client and no other node reaches it until Cassandra is " +
		"started again.",
	frame.NoGossip: "Its gossip is off: other nodes take it for down, and send it neither reads " +
		"nor writes. nodetool enablegossip ends that.",
	frame.NoClients: "Its native transport is off: no client can connect. nodetool enablebinary " +
		"ends that.",
	frame.NoGossip + "," + frame.NoClients: "Its gossip and its native transport are off: " +
		"neither clients nor other nodes reach it. Cassandra does so after a disk error " +
		"(disk_failure_policy: stop); its system.log says why.",
}

// why returns the sentence for the words of frame.FactNotServing.
func why(words string) string {
	if text, known := reasons[words]; known {
		return text
	}
	return "It does not serve, and calls that " + words + "."
}
