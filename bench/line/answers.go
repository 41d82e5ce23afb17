package line

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Newest asks an API when a node's newest value was taken, in ms.
func Newest(ctx context.Context, api, key, node string) (int64, error) {
	answer, err := Get(ctx, Plain, api+"/v1/nodes/"+node+"/metrics?metrics=jvm_heap_used_bytes", key)
	if err != nil {
		return 0, err
	}
	var list []struct{ Payload []Payload }
	if err := json.Unmarshal(answer, &list); err != nil {
		return 0, err
	}
	if len(list) != 1 || len(list[0].Payload) != 1 || len(list[0].Payload[0].Values) != 1 {
		return 0, fmt.Errorf("no value, or several: %.200s", answer)
	}
	text, _ := list[0].Payload[0].Values[0]["time"].(string)
	at, err := time.Parse(time.RFC3339Nano, text)
	return at.UnixMilli(), err
}

// Figures are what /metrics says: of each name the sum.
func Figures(text []byte) map[string]float64 {
	found := map[string]float64{}
	for series, v := range Series(text) {
		name, _, _ := strings.Cut(series, "{")
		found[name] += v
	}
	return found
}

// Series are what /metrics says, by name and labels as they stand there, but for those with a
// space in a label.
func Series(text []byte) map[string]float64 {
	found := map[string]float64{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		series, value, _ := strings.Cut(lines.Text(), " ")
		var v float64
		if _, err := fmt.Sscan(value, &v); err == nil {
			found[series] = v
		}
	}
	return found
}
