package memory

import (
	"os"
	"runtime/debug"
)

// collectedPercent is how much memory may grow between two collections, in percent of what the
// earlier one left.
const collectedPercent = 50

// CollectOften sets Go's collector for a process most of whose memory stays. By itself Go lets what
// stays double between two collections. GOGC wins.
func CollectOften() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectedPercent)
	}
}
