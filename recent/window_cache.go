package recent

import (
	"maps"

	"github.com/maypok86/otter/v2"
	"github.com/redis/rueidis"
)

// A node adds a frame to its newest window every few seconds, and nothing to those before it,
// while every question about the last minutes asks for all of them. So a redisBackend caches the
// windows that it has fetched, and asks Redis first whether anything was written to them since.
//
// Each window has a version: a number drawn when it began, and how often it was written to. If
// both are the same, so are the frames.

// windowCache are windows as they were fetched, in so many bytes; nil remembers none.
type windowCache struct {
	of *otter.Cache[windowID, *cachedWindow]
}

type cachedWindow struct {
	version string
	frames  map[int64][]byte // by time, ms
}

// What a window and a frame take beside the frame's bytes.
const (
	windowCost = 300
	frameCost  = 80
)

func newWindowCache(bytes int64) *windowCache {
	if bytes <= 0 {
		return nil
	}
	return &windowCache{otter.Must(
		&otter.Options[windowID, *cachedWindow]{MaximumWeight: uint64(bytes),
			Weigher: func(_ windowID, w *cachedWindow) uint32 {
				n := windowCost
				for _, b := range w.frames {
					n += frameCost + len(b)
				}
				return uint32(min(int64(n), 1<<31))
			}})}
}

func (k *windowCache) get(w windowID) *cachedWindow {
	if k == nil {
		return nil
	}
	known, _ := k.of.GetIfPresent(w)
	return known
}

// put caches a window. One without a version is of a writer that gave none.
func (k *windowCache) put(w windowID, edition string, frames map[int64][]byte) {
	if k != nil && edition != "" {
		k.of.Set(w, &cachedWindow{edition, frames})
	}
}

// unchanged takes those of some windows that are known and have not been written to since, and
// returns the others.
func (k *windowCache) unchanged(windows []windowID, answers []rueidis.RedisResult,
	known []*cachedWindow,
	frames map[int64][]byte) (rest []windowID, err error) {
	for i, w := range windows {
		edition, err := versionOf(answers[i])
		if err != nil {
			return nil, err
		}
		if edition == "" || edition != known[i].version {
			rest = append(rest, w)
			continue
		}
		maps.Copy(frames, known[i].frames)
	}
	return rest, nil
}

// The fields of a window's hash that make its version.
const (
	drawnField  = "drawn"
	writesField = "writes"
)

// versionOf reads the answer for both fields; empty if they are not there.
func versionOf(answer rueidis.RedisResult) (string, error) {
	fields, err := answer.ToArray()
	if err != nil || len(fields) != 2 || fields[0].IsNil() || fields[1].IsNil() {
		return "", err
	}
	drawn, err := fields[0].ToString()
	if err != nil {
		return "", err
	}
	writes, err := fields[1].ToString()
	return drawn + "/" + writes, err
}
