package rules

import "embed"

// Shipped holds the rule files that Ringwatch ships, cassandra.yaml and ringwatch.yaml, and their
// unit tests for promtool beside them, cassandra_test.yaml and ringwatch_test.yaml.
//
//go:embed cassandra.yaml ringwatch.yaml cassandra_test.yaml ringwatch_test.yaml
var Shipped embed.FS

// ShippedFiles are the names of the rule files in Shipped.
var ShippedFiles = []string{"cassandra.yaml", "ringwatch.yaml"}
