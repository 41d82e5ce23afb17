package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ringwatch/ringwatch/dev/engines"
)

// checkTools returns everything that is missing at once. dev/engines/prerequisites.sh, which make
// runs first, checks what is needed to get this far.
func checkTools(ctx context.Context, set settings, progress func(string)) error {
	var missing []error
	if err := engines.CanFetchJava(ctx); err != nil {
		missing = append(missing, err)
	}
	if _, err := exec.LookPath("mvn"); err != nil {
		missing = append(missing, errors.New("found no Maven (mvn): apt-get install maven"))
	}
	if set.Line {
		if err := engines.EnsureRedis(ctx, progress); err != nil {
			missing = append(missing, err)
		}
	}
	return errors.Join(missing...)
}

// fetch makes the engines ready to start.
func fetch(ctx context.Context, set settings, progress func(string)) error {
	if set.Line {
		return engines.Fetch(ctx, progress)
	}
	return engines.FetchCassandra(ctx, engines.CassandraVersion, progress)
}

// checkPorts returns nil when every port of the services that are to be started is free.
func checkPorts(starting []service) error {
	var taken []error
	for _, s := range starting {
		for _, p := range s.ports {
			err := engines.PortFree("127.0.0.1", p.number, p.need)
			switch {
			case errors.Is(err, engines.ErrPortTaken):
				taken = append(taken,
					fmt.Errorf("port %d is taken and %s needs it: stop what listens there, or "+
						"set %s to a free port",
						p.number, p.need, p.setting))
			case err != nil:
				taken = append(taken, err)
			}
		}
	}
	return errors.Join(taken...)
}

// checkMemory returns nil when what is to be started fits into the memory that is free.
func checkMemory(starting []service) error {
	var needed int64
	for _, s := range starting {
		needed += s.memory
	}
	available := availableMemory()
	if available >= needed {
		return nil
	}
	return fmt.Errorf("%.1f GiB of memory is free, and this needs about %.1f GiB: "+
		"stop something else, or lower Cassandra's heap with RINGWATCH_CASSANDRA_HEAP=512M",
		float64(available)/(1<<30), float64(needed)/(1<<30))
}

// availableMemory is what the machine, or this process's control group, has left in bytes;
// unknown counts as plenty.
func availableMemory() int64 {
	available := int64(math.MaxInt64)
	if f, err := os.Open("/proc/meminfo"); err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var kib int64
			if n, _ := fmt.Sscanf(lines.Text(), "MemAvailable: %d kB", &kib); n == 1 {
				available = kib << 10
			}
		}
	}
	group := controlGroup()
	limit, err1 := readInt(filepath.Join(group, "memory.max")) // "max" is no number: no limit
	used, err2 := readInt(filepath.Join(group, "memory.current"))
	if err1 == nil && err2 == nil {
		available = min(available, limit-used+reclaimable(group))
	}
	return available
}

// controlGroup returns the directory of this process's version 2 control group.
func controlGroup() string {
	text, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(text)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return filepath.Join("/sys/fs/cgroup", path)
		}
	}
	return "/sys/fs/cgroup"
}

// reclaimable is the part of a group's used memory that only caches files.
func reclaimable(group string) int64 {
	text, _ := os.ReadFile(filepath.Join(group, "memory.stat"))
	for line := range strings.Lines(string(text)) {
		var n int64
		if got, _ := fmt.Sscanf(line, "inactive_file %d", &n); got == 1 {
			return n
		}
	}
	return 0
}

func readInt(path string) (int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
}

// heapBytes reads a JVM size such as 512M; what it cannot read, the JVM will complain about.
func heapBytes(size string) int64 {
	number := strings.TrimRight(size, "kKmMgG")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0
	}
	switch strings.ToUpper(size[len(number):]) {
	case "K":
		return n << 10
	case "M":
		return n << 20
	case "G":
		return n << 30
	}
	return n
}
