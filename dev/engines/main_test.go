package engines

import (
	"net"
	"os"
	"strings"
	"testing"
)

func TestMain(m *testing.M) { Main(m) }

// oneSentence fails unless err is a single line that holds every part.
func oneSentence(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("got no error")
	}
	t.Log(err)
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("the error has several lines")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q", part)
		}
	}
}

// gone fails unless the process of e has left the process table.
func gone(t *testing.T, pid int) {
	t.Helper()
	if _, err := os.Stat("/proc/" + itoa(pid)); err == nil {
		t.Errorf("process %d is still there", pid)
	}
}

// occupied returns a port that another listener holds.
func occupied(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().(*net.TCPAddr).Port
}
