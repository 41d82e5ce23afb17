package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ringwatch/ringwatch/dev/engines"
)

// TestRunning asks a real Cassandra's process where it has its things.
func TestRunning(t *testing.T) {
	node := engines.MustCassandra(t)
	r, ok := runningIn(fmt.Sprintf("/proc/%d", node.Pid()))
	if !ok || r.conf != node.Dir {
		t.Errorf("its cassandra.yaml is in %q, %t, not in %s", r.conf, ok, node.Dir)
	}
	if !exists(filepath.Join(r.java, "bin/java")) {
		t.Errorf("no Java in %q", r.java)
	}
	if want := filepath.Join(node.Dir, "data"); r.data != want {
		t.Errorf("its data is in %q, not %s", r.data, want)
	}
	if r, ok := runningIn(fmt.Sprintf("/proc/%d", os.Getpid())); ok {
		t.Errorf("this test is taken for a Cassandra: %+v", r)
	}
}
