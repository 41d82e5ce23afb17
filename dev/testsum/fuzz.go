package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// fuzzFor is how long each fuzz target runs with --full.
const fuzzFor = "1m"

// target is one fuzz test.
type target struct{ pkg, name string }

// targets lists the fuzz tests of packages.
func targets(ctx context.Context, packages []string) ([]target, error) {
	out, err := exec.CommandContext(ctx, "go",
		append([]string{"test", "-run", "^$", "-list", "^Fuzz"}, packages...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("cannot list the fuzz tests: %w", err)
	}
	return listed(out), nil
}

// listed reads what go test -list prints: the names of a package's tests, then a line that begins
// with ok and names the package.
func listed(out []byte) (list []target) {
	var names []string
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		words := strings.Fields(lines.Text())
		switch {
		case len(words) == 1 && strings.HasPrefix(words[0], "Fuzz"):
			names = append(names, words[0])
		case len(words) > 1 && words[0] == "ok":
			for _, name := range names {
				list = append(list, target{words[1], name})
			}
			names = nil
		}
	}
	return list
}

// runFuzz looks for inputs that break what fuzz tests say, for a while each. What it finds it
// leaves in the package's testdata, where go test finds it from then on.
func runFuzz(ctx context.Context, o options, show *screen) (sum tally) {
	if len(o.Packages) == 0 {
		o.Packages = []string{"./..."}
	}
	list, err := targets(ctx, o.Packages)
	if err != nil {
		show.say("error: " + err.Error())
		return tally{failed: 1}
	}
	for _, t := range list {
		show.say(fmt.Sprintf("fuzzing %s %s for %s", short(t.pkg), t.name, fuzzFor))
		var tail []string
		err := stream(command(ctx, "go", "test", t.pkg, "-run", "^$", "-fuzz", "^"+t.name+"$",
			"-fuzztime", fuzzFor), func(out io.Reader) {
			for lines := bufio.NewScanner(out); lines.Scan(); {
				tail = append(tail[max(0, len(tail)-40):], lines.Text())
			}
			_, _ = io.Copy(io.Discard, out) // after a line too long to scan
		})
		if err != nil {
			show.fail(short(t.pkg)+" "+t.name, strings.Join(tail, "\n"),
				againGo("go test", t.pkg, t.name))
			sum.failed++
			continue
		}
		sum.passed++
		for _, line := range tail {
			if strings.HasPrefix(line, "fuzz: elapsed: "+fuzzFor) {
				show.say("  " + line)
				break
			}
		}
	}
	return sum
}
