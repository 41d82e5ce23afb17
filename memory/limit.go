package memory

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// least is what a role can do its work in at all.
	least = 256 << 20
	// unlimited is what a process may have on a machine that says nothing: more would only be
	// needed by who says so.
	unlimited = 4 << 30
	// soft is how much of the limit Go's collector is told to keep to, garbage included.
	soft = 0.75
	// near is from how much of the limit on new work is refused: the collector could not keep to
	// its part, so that this is in use.
	near = 0.85
	// lookEvery is how old what Near knows may be.
	lookEvery = 50 * time.Millisecond
)

// Limit is how much memory a process may have.
type Limit struct {
	Bytes int64
	From  string // setting, GOMEMLIMIT, cgroup or machine

	mu     sync.Mutex
	looked time.Time
	has    int64
}

// Find returns how much memory this process may have: what its configuration says (bytes; 0:
// nothing), else GOMEMLIMIT, else what its cgroup allows, else three quarters of the machine's, but
// 4 GiB at most. It tells Go's collector to keep to three quarters of that, if GOMEMLIMIT does not
// say otherwise.
func Find(setting int64) *Limit {
	l := &Limit{Bytes: setting, From: "limit_bytes"}
	own := debug.SetMemoryLimit(-1)
	switch {
	case setting > 0:
	case own != math.MaxInt64:
		l.Bytes, l.From = own, "GOMEMLIMIT"
	default:
		if l.Bytes = cgroup("/proc/self/cgroup", "/sys/fs/cgroup"); l.Bytes > 0 {
			l.From = "cgroup"
			break
		}
		l.Bytes, l.From = unlimited, "machine"
		var info unix.Sysinfo_t
		if unix.Sysinfo(&info) == nil {
			l.Bytes = min(l.Bytes, int64(info.Totalram)*int64(info.Unit)/4*3)
		}
	}
	if own == math.MaxInt64 || setting > 0 {
		debug.SetMemoryLimit(int64(soft * float64(l.Bytes)))
	}
	return l
}

// cgroup returns what the process's control group and those above it allow, 0 for no bound.
func cgroup(self, root string) int64 {
	text, err := os.ReadFile(self)
	if err != nil {
		return 0
	}
	var lowest int64
	look := func(dir, file string) {
		for d := dir; ; d = filepath.Dir(d) {
			if b, err := os.ReadFile(filepath.Join(root, d, file)); err == nil {
				n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
				// version 1 says 2^63 less a page for no bound
				if err == nil && n > 0 && n < 1<<60 && (lowest == 0 || n < lowest) {
					lowest = n
				}
			}
			if d == "/" || d == "." {
				return
			}
		}
	}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(parts) != 3:
		case parts[1] == "":
			look(parts[2], "memory.max")
		case strings.Contains(","+parts[1]+",", ",memory,"):
			look(filepath.Join("/memory", parts[2]), "memory.limit_in_bytes")
		}
	}
	return lowest
}

// String says how much there is and where that was found.
func (l *Limit) String() string { return fmt.Sprintf("%s (%s)", mebibytes(l.Bytes), l.From) }

// samples are what the process has from the kernel.
var samples = []string{"/memory/classes/total:bytes", "/memory/classes/heap/released:bytes"}

// Has returns how many bytes the process has from the kernel, as Go knows it, some milliseconds
// old.
func (l *Limit) Has() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.looked) > lookEvery {
		l.looked = now
		s := []metrics.Sample{{Name: samples[0]}, {Name: samples[1]}}
		metrics.Read(s)
		l.has = int64(s[0].Value.Uint64() - s[1].Value.Uint64())
	}
	return l.has
}

// Near reports whether the process is so near its limit that it should refuse new work. A nil Limit
// is never near.
func (l *Limit) Near() bool { return l != nil && float64(l.Has()) > near*float64(l.Bytes) }
