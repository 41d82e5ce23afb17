package profile

import (
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// TestManagementAPI: a meter ends with _total, a counter does not; each has its registry's type.
func TestManagementAPI(t *testing.T) {
	number := func(entity, name string, own ...string) window.Series {
		return window.Series{Metric: &window.Metric{Type: entity, Name: name, Kind: frame.Counter},
			At: []int64{1}, Ints: []int64{7},
			Labels: labels.FromStrings(append([]string{labels.MetricName, name}, own...)...)}
	}
	shown, err := Named("management_api").Show(t.Context(), sampleNode(), []window.Series{
		number("messaging", "cassandra_messaging_timeouts_total"),
		number("client_request", "cassandra_client_request_timeouts_total", "request", "Read"),
		number("storage", "cassandra_storage_hints_total"),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for i := range shown.Series {
		got[shown.Series[i].Labels.Get(labels.MetricName)] = true
	}
	for _, want := range []string{"connection_total_timeouts_total",
		"client_request_timeouts_total", "storage_total_hints"} {
		if !got[managementPrefix+want] {
			t.Errorf("no %s in %v", want, got)
		}
	}
}
