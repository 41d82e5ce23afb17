package redis

import (
	"github.com/redis/rueidis"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/watch/reading"
)

// latencyBounds are those of LATENCY HISTOGRAM, in microseconds, so that Redis's own buckets are
// ours: 1,024 ns × 2^i, as the highest value that its HDR histogram of two digits does not tell
// apart from it. The last one holds a second, beyond which Redis does not count.
var latencyBounds = func() (b frame.Bounds) {
	for ns := int64(1024); ns < 1e9; ns *= 2 {
		b.Upper = append(b.Upper, (ns+ns/128-1)/1000)
	}
	b.Upper = append(b.Upper, 1_073_741)
	return b
}()

// latencies takes the answer of LATENCY HISTOGRAM, with the microseconds that INFO gave of each
// command.
func (s *sheet) latencies(m rueidis.RedisMessage, usecs map[string]int64) {
	commands, err := m.AsMap()
	if err != nil {
		return
	}
	for cmd, details := range commands {
		of, err := details.AsMap()
		if err != nil {
			continue
		}
		calls, buckets := of["calls"], of["histogram_usec"]
		total, err := calls.AsInt64()
		if err != nil || total < 0 {
			continue
		}
		numbers, err := buckets.AsIntSlice()
		if err != nil {
			continue
		}
		counts, ok := parted(numbers, total)
		if c, i := s.column("commands_latencies_usec", 0, []string{cmd}); ok && c != nil {
			c.Histograms[i] = reading.Histogram{Counts: counts, Sum: max(usecs[cmd], 0)}
		}
	}
}

// parted parts cumulative counts by their bounds into the buckets of latencyBounds.
func parted(numbers []int64, total int64) ([]int64, bool) {
	counts := make([]int64, len(latencyBounds.Upper)+1)
	at, before := 0, int64(0)
	for i := 0; i+1 < len(numbers); i += 2 {
		for at < len(latencyBounds.Upper) && latencyBounds.Upper[at] < numbers[i] {
			at++
		}
		if numbers[i+1] < before {
			return nil, false
		}
		counts[at] += numbers[i+1] - before
		before = numbers[i+1]
	}
	if total < before {
		return nil, false
	}
	counts[len(counts)-1] += total - before
	return counts, true
}

// spikes takes the answer of LATENCY LATEST.
func (s *sheet) spikes(m rueidis.RedisMessage) {
	events, err := m.ToArray()
	if err != nil {
		return
	}
	for _, event := range events {
		of, err := event.ToArray()
		if err != nil || len(of) < 3 {
			continue
		}
		name, err := of[0].ToString()
		if err != nil {
			continue
		}
		if at, err := of[1].AsInt64(); err == nil {
			s.int("latency_spike_last", 0, at, name)
		}
		if ms, err := of[2].AsInt64(); err == nil {
			s.int("latency_spike_duration_seconds", -3, ms, name)
		}
	}
}
