package node

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Lines of a real log of Java 17.
const gcLog = `[0.003s] Using G1
[1.213s] GC(0) Pause Young (Concurrent Start) (Metadata GC Threshold) 64M->11M(2048M) 25.814ms
[1.213s] GC(1) Concurrent Mark Cycle
[1.227s] GC(1) Pause Remark 12M->12M(2048M) 3.205ms
[1.271s] GC(1) Concurrent Mark Cycle 58.501ms
[6.471s] GC(2) Pause Young (Normal) (G1 Evacuation Pause) 103M->13M(2048M) 9.511ms
`

func TestCollections(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gc.log")
	if err := os.WriteFile(file, []byte(gcLog), 0o600); err != nil {
		t.Fatal(err)
	}
	all, lines, err := Collections(file, 0)
	if err != nil || lines != 6 || all.Pauses != 3 || all.Pause != 38530*time.Microsecond ||
		all.Allocated != (1+91)<<20 {
		t.Errorf("the whole log: %+v, %d lines, %v", all, lines, err)
	}
	late, _, err := Collections(file, 4)
	if err != nil || late.Pauses != 1 || late.Allocated != 91<<20 {
		t.Errorf("its end: %+v, %v", late, err)
	}
}
