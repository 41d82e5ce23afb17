package alerts

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
)

// TestPastOfSlowGroups: an alert that is recorded once a minute, as by a group that is evaluated so
// often, fired without a pause, whatever was asked.
func TestPastOfSlowGroups(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 7, 19, 0, time.UTC)
	var recorded []int64 // in seconds
	for ago := 8; ago > 2; ago-- {
		recorded = append(recorded, now.Add(-time.Duration(ago)*time.Minute).Unix())
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/query_range" {
			fmt.Fprint(w, `{"status":"success","data":{"alerts":[]}}`)
			return
		}
		of := func(name string) int64 {
			n, _ := strconv.ParseInt(r.FormValue(name), 10, 64) // ours
			return n
		}
		values := [][2]any{}
		for end := of("start"); end <= of("end"); end += of("step") {
			var found []int64
			for _, at := range recorded {
				if at > end-of("step") && at <= end {
					found = append(found, at)
				}
			}
			if len(found) == 0 {
				continue
			}
			one := found[0]
			if strings.Contains(r.FormValue("query"), "ts_of_last") {
				one = found[len(found)-1]
			}
			values = append(values, [2]any{end, strconv.FormatInt(one, 10)})
		}
		json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": map[string]any{
			"result": []any{map[string]any{"values": values, "metric": map[string]string{
				"alertname": "NodeDiskFull", "alertstate": "firing"}}}}})
	}))
	defer server.Close()
	flags := client.Flags{API: server.URL, Key: "rw_test"}
	api, err := flags.Client()
	if err != nil {
		t.Fatal(err)
	}
	list, err := askPast(t.Context(), api, "", now, time.Hour, stepOf(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 || list[0].From.Unix() != recorded[0] ||
		list[0].To.Unix() != recorded[len(recorded)-1] {
		t.Errorf("it fired in %v", list)
	}
}
