package memory

import (
	"runtime/debug"
	"testing"
)

func TestCollectOften(t *testing.T) {
	was := debug.SetGCPercent(70)
	defer debug.SetGCPercent(was)
	t.Setenv("GOGC", "70")
	CollectOften()
	if is := debug.SetGCPercent(70); is != 70 {
		t.Errorf("the collector runs at %d %%, GOGC says 70", is)
	}
	t.Setenv("GOGC", "")
	CollectOften()
	if is := debug.SetGCPercent(70); is != collectedPercent {
		t.Errorf("the collector runs at %d %%, want %d", is, collectedPercent)
	}
}
