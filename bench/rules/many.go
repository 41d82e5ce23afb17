package main

import (
	"fmt"
	"strings"

	"github.com/ringwatch/ringwatch/bench/fleet"
)

// tablesIn is of how many tables that rules name a cluster has one: each cluster has its own.
const tablesIn = 20

// manyRules are alert rules of one shape, a hundred in a group, as who has a limit for each table
// writes them. Of twenty one is about a table that each cluster has; the others are about tables of
// other clusters, so they select nothing here.
func manyRules(s *fleet.Shape, n int) []byte {
	rows := s.Rows("table")
	var b strings.Builder
	b.WriteString("groups:\n")
	for i := range n {
		if i%100 == 0 {
			fmt.Fprintf(&b, "- name: tables%d\n  interval: 1m\n  rules:\n", i/100)
		}
		keyspace, table := "shop", fmt.Sprint("t", i)
		if i%tablesIn == 0 {
			row := rows[i/tablesIn%len(rows)]
			keyspace, table = row["keyspace"], row["table"]
		}
		fmt.Fprintf(&b, "  - alert: Reads%d\n"+
			"    expr: cassandra_table_live_disk_space_used_bytes{keyspace=%q,table=%q} > %d\n"+
			"    for: 5m\n    labels: {severity: warning}\n"+
			"    annotations: {summary: '{{ $labels.table }} has {{ $value }} bytes'}\n",
			i, keyspace, table, 1_000_000_000+i)
	}
	return []byte(b.String())
}
