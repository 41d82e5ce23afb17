package events

// Kinds are those that the agents of this version send, as docs/EVENTS.md tells them. An agent of a
// later one may send others.
var Kinds = []string{"start", "stop", "settings", "schema", "node_up", "node_down", "node_joined",
	"node_left", "node_moved", "repair", "gc_pause", "dropped", "slow_query", "large_partition",
	"tombstones", "batch", "warning", "error"}
