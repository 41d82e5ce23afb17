package profile

import (
	"slices"
	"strings"
	"testing"
)

// TestLosses holds the orders that METRICS.md speaks of against what they lose.
func TestLosses(t *testing.T) {
	find := func(order []string, profile, name string) bool {
		t.Helper()
		losses, err := Losses(order)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(losses, func(l Loss) bool {
			return l.Profile == profile && slices.Contains(l.Names, name)
		})
	}
	for _, c := range []struct {
		order         string
		profile, name string
		lost          bool
	}{
		// a summary where the first has a histogram, and another value under the same label
		{"ringwatch instaclustr_exporter", "instaclustr_exporter",
			"cassandra_table_sstables_per_read", true},
		{"ringwatch instaclustr_exporter", "instaclustr_exporter", "cassandra_cache_entries", true},
		// the labels of both
		{"ringwatch instaclustr_exporter", "instaclustr_exporter", "cassandra_table_live_sstables",
			false},
		{"instaclustr_exporter ringwatch", "instaclustr_exporter", "cassandra_cache_entries",
			false},
		{"instaclustr_exporter ringwatch", "ringwatch", "cassandra_cache_entries", true},
		// the same
		{"jmx_exporter grafana_mixin", "grafana_mixin", "cassandra_table_readlatency_seconds_count",
			false},
		{"jmx_exporter criteo_exporter", "criteo_exporter", "cassandra_stats", false},
	} {
		if got := find(strings.Fields(c.order), c.profile, c.name); got != c.lost {
			t.Errorf("%s: %s of %s is lost: %t", c.order, c.name, c.profile, got)
		}
	}
	for _, p := range Names() {
		if losses, err := Losses([]string{p}); err != nil || len(losses) > 0 {
			t.Errorf("%s alone: %v %v", p, losses, err)
		}
	}
}
