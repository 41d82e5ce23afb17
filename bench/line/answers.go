package line

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Newest returns when the one value in an answer of /v1/nodes/{id}/metrics was taken, in ms.
func Newest(answer []byte) (int64, error) {
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
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		series, value, _ := strings.Cut(lines.Text(), " ")
		name, _, _ := strings.Cut(series, "{")
		var v float64
		if _, err := fmt.Sscan(value, &v); err == nil {
			found[name] += v
		}
	}
	return found
}
