package rules

import "embed"

// Shipped holds the rule files that Ringwatch ships, and their unit tests for promtool beside them:
// those of cassandra.yaml are cassandra_test.yaml.
//
// A node's name comes into annotations by a template's query, not into labels by a join: that would
// lose the alert where ringwatch_node_info is missing, and begin it anew when the address changes.
//
//go:embed cassandra.yaml activity.yaml kafka.yaml redis.yaml targets.yaml ringwatch.yaml
//go:embed cassandra_test.yaml activity_test.yaml kafka_test.yaml redis_test.yaml targets_test.yaml
//go:embed ringwatch_test.yaml
var Shipped embed.FS

// ShippedFiles are the names of the rule files in Shipped.
var ShippedFiles = []string{"cassandra.yaml", "activity.yaml", "targets.yaml", "kafka.yaml",
	"redis.yaml", "ringwatch.yaml"}
