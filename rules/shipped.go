package rules

import "embed"

// Shipped holds the rule files that Ringwatch ships, cassandra.yaml and ringwatch.yaml, and their
// unit tests for promtool beside them, cassandra_test.yaml and ringwatch_test.yaml.
//
// A node's name comes into annotations by a template's query, not into labels by a join: that would
// lose the alert where ringwatch_node_info is missing, and begin it anew when the address changes.
//
//go:embed cassandra.yaml ringwatch.yaml cassandra_test.yaml ringwatch_test.yaml
var Shipped embed.FS

// ShippedFiles are the names of the rule files in Shipped.
var ShippedFiles = []string{"cassandra.yaml", "ringwatch.yaml"}
