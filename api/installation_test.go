package api_test

import (
	"reflect"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/apitest"
	"github.com/ringwatch/ringwatch/query/read"
)

// TestInstallation: it says when Ringwatch itself was away, so that nobody blames a node for it.
func TestInstallation(t *testing.T) {
	type away struct{ From, To string }
	for _, c := range []struct {
		spans []read.Span
		want  []away
	}{
		{nil, []away{}},
		{[]read.Span{{From: 1_800_000_000_000, To: 1_800_000_060_000}, {From: 1_800_000_120_000}},
			[]away{{"2027-01-15T08:00:00.000Z", "2027-01-15T08:01:00.000Z"},
				{"2027-01-15T08:02:00.000Z", ""}}},
	} {
		f := &fixture{T: t, store: &apitest.Store{}, metrics: prometheus.NewRegistry()}
		f.start(inMemory, f.store.Sources(), api.Deps{StoreReady: f.store.Ready,
			Away: func() []read.Span { return c.spans }})
		var answer struct {
			Stream string
			Away   []away
		}
		f.get("/v1/installation", nil, &answer)
		if answer.Stream != "directory" || !reflect.DeepEqual(answer.Away, c.want) {
			t.Errorf("%+v, want %v", answer, c.want)
		}
	}
}
