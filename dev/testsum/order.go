package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// slow are the packages that take longest, longest first. Ring, which mostly waits, comes after
// agent, which keeps the processors busy: what is apart of cmd/ringwatch ends with the heaviest
// test, of the whole line with a browser, and what runs beside that then should wait.
var slow = []string{"cmd/ringwatch", "agent", "ring", "store", "api", "dev/engines",
	"ring/throttle",
	"stream", "rules", "rules/notify", "ingest", "dev/up", "recent", "query", "doctor",
	"query/index"}

// apart are tests that take half of their package's time, and run beside its others: it takes
// longer than all that runs beside it.
var apart = map[string]string{
	"cmd/ringwatch": "^(TestWholeLine|TestRulesLine|TestChaos|TestFaults)$",
}

// onlyFull are tests that take longer than what they show is worth in each run: --full has them.
var onlyFull = map[string]string{
	// TestDoing has a decommission, seen from outside, and TestVersions most events; Java's tests
	// hold the profiles against the real exporter in Cassandra 5.0.
	"agent": "^(TestDecommission|TestExporterOn41|TestNeighbours|TestSystemMetricsOff)$",
	// Nothing is released that could be upgraded from. A machine with much else to do makes nodes
	// silent that nobody has killed. What the line does when parts of it are killed TestFaults,
	// TestRulesLine and the roles' own tests show, each for itself.
	"cmd/ringwatch": "^(TestSafeRollingRestart|TestPreviousVersion|TestUpgradeOfLine|" +
		"TestKilledNode|TestSentProfiles)$|^TestChaos$/^Line$",
	distModule: "^TestDist$", // it builds everything twice
	// TestDatacenters has a node that joins and leaves; the driver encodes most types of keys.
	"ring": "^TestKeyTypes$|^TestFaults$/^Added$",
}

// distModule is a module of its own, whose libraries no other package needs.
const distModule = "dev/dist"

// part is what one go test command runs, one package after the other, in a folder: "" is here.
type part struct {
	flags, packages []string
	dir             string
}

// parts makes one of each slow package, two of those with tests apart, and as many as there are
// slots of all others. They begin in that order.
func parts(packages []string, slots int, full bool) (list []part) {
	others := make([]part, slots)
	for i, pkg := range packages {
		name := short(pkg)
		var long []string
		if tests := onlyFull[name]; tests != "" && !full {
			long = []string{tests}
		}
		alone, its := apart[name], skip(long...)
		if alone != "" {
			its = skip(append(long, alone)...)
		}
		if its != nil || slices.Contains(slow, name) {
			list = append(list, part{its, []string{pkg}, ""})
		} else {
			others[i%slots].packages = append(others[i%slots].packages, pkg)
		}
		if alone != "" {
			list = append(list, part{append([]string{"-run", alone}, skip(long...)...),
				[]string{pkg}, ""})
		}
	}
	return append(list,
		slices.DeleteFunc(others, func(p part) bool { return p.packages == nil })...)
}

// skip is the flag that leaves tests out.
func skip(tests ...string) []string {
	if len(tests) == 0 {
		return nil
	}
	return []string{"-skip", strings.Join(tests, "|")}
}

// slowShort are those of the tests that need no engines.
var slowShort = []string{"cmd/ringwatch", "query", "rules", "store/rows/files", "stream/files",
	"api",
	"store", "ingest", "window", "query/index", "bench/fleet", "frame", "ring", "api/report"}

// slowFirst sorts packages so that those that take longest begin first: go test takes them in this
// order, and a long one that begins last would have the machine for itself.
func slowFirst(packages, slow []string) []string {
	rank := func(pkg string) int {
		if at := slices.Index(slow, short(pkg)); at >= 0 {
			return at
		}
		return len(slow)
	}
	slices.SortStableFunc(packages, func(a, b string) int { return rank(a) - rank(b) })
	return packages
}

// allPackages returns the packages of the module, the slow ones first.
func allPackages(ctx context.Context, slow []string) []string {
	listed, err := exec.CommandContext(ctx, "go", "list", "./...").Output()
	if err != nil {
		return []string{"./..."} // go test says what is wrong
	}
	return slowFirst(strings.Fields(string(listed)), slow)
}

// perPackage is what a package's engines take of memory, up to five Cassandras of a GB.
const perPackage = 4 << 30

// atOnce is how many packages are tested at the same time: one more than there are processors,
// since some wait for an engine or a clock most of the time, as far as there is memory for their
// engines.
func atOnce(processors int, memory int64) int {
	if memory < int64(processors+1)*perPackage {
		return processors
	}
	return processors + 1
}

// memory is what the kernel calls available, in bytes; 0 where it does not say.
func memory() int64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, found := strings.CutPrefix(lines.Text(), "MemAvailable:"); found {
			var kB int64
			if _, err := fmt.Sscan(rest, &kB); err != nil {
				return 0
			}
			return kB << 10
		}
	}
	return 0
}
