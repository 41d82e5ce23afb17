// Command dist makes what people install of one version: the program for two processors, the
// agent's jar, archives, packages, an image, a chart, a bill of materials and checksums. make dist
// runs it.
//
// The same commit, Go and Java make the same bytes. It needs no network once the modules are there.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// release is one version as it is made.
type release struct {
	version string    // 1.2.3, or 1.2.3-rc.1
	commit  string    // its first twelve digits
	at      time.Time // of the commit; every file in every artefact has it
	root    string    // of the repository
	out     string    // where the artefacts go
	work    string    // what they are made of
}

// arches are the processors that the program is built for, as Go calls them.
var arches = []string{"amd64", "arm64"}

func main() {
	var r release
	flag.StringVar(&r.version, "version", "", "such as 1.2.3, or 1.2.3-rc.1")
	flag.StringVar(&r.root, "root", "../..", "the repository")
	flag.StringVar(&r.out, "out", "", "the folder for the artefacts; default: bin/dist")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := r.make(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// make makes all artefacts.
func (r *release) make(ctx context.Context) error {
	if err := r.prepare(ctx); err != nil {
		return err
	}
	p, err := r.build(ctx)
	if err != nil {
		return err
	}
	if err := r.pack(p); err != nil {
		return err
	}
	return os.RemoveAll(r.work)
}

var semver = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$`)

// prepare checks what it is asked for and finds the commit.
func (r *release) prepare(ctx context.Context) (err error) {
	if !semver.MatchString(r.version) {
		return fmt.Errorf("%q is no version: make dist VERSION=1.2.3", r.version)
	}
	if r.root, err = filepath.Abs(r.root); err != nil {
		return err
	}
	if r.out, err = filepath.Abs(cmp.Or(r.out, filepath.Join(r.root, "bin", "dist"))); err != nil {
		return err
	}
	r.work = filepath.Join(r.out, "work")
	text, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	if err := checkChangelog(string(text), r.version); err != nil {
		return err
	}
	if err := r.readCommit(ctx); err != nil {
		return err
	}
	// what an earlier version left would be in the checksums
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	return os.MkdirAll(r.work, 0o755)
}

// readCommit finds the commit and its time. SOURCE_DATE_EPOCH is the time where it is set, as for
// who builds from an archive that has no commits.
func (r *release) readCommit(ctx context.Context) error {
	said := ""
	if out, err := r.output(ctx, "git", "log", "-1", "--format=%H %ct"); err == nil {
		r.commit, said, _ = strings.Cut(strings.TrimSpace(out), " ")
		r.commit = r.commit[:12]
		if changed, err := r.output(ctx, "git", "status", "--porcelain", "-uno"); err != nil ||
			changed != "" {
			r.commit += "-changed" // what is built is not that commit
		}
	}
	seconds, err := strconv.ParseInt(cmp.Or(os.Getenv("SOURCE_DATE_EPOCH"), said), 10, 64)
	if err != nil {
		return fmt.Errorf("neither git nor SOURCE_DATE_EPOCH says of when this source is: %w", err)
	}
	r.at = time.Unix(seconds, 0).UTC()
	return nil
}

// output runs a command in the repository and returns what it prints.
func (r *release) output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = r.root
	out, err := cmd.Output()
	if err != nil {
		if ended, ok := err.(*exec.ExitError); ok {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(ended.Stderr)))
		}
		return "", fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return string(out), nil
}

// parts is what artefacts are made of.
type parts struct {
	programs map[string]string // by processor
	native   string            // the one that runs here
	jar      string
	bundled  *inventory
}

// build compiles the parts.
func (r *release) build(ctx context.Context) (*parts, error) {
	p := &parts{programs: map[string]string{}}
	for _, arch := range arches {
		fmt.Printf("building ringwatch for %s (the first time takes some minutes)\n", arch)
		file := filepath.Join(r.work, "ringwatch-"+arch)
		stamp := r.version + " " + cmp.Or(r.commit, "-") + " " + r.at.Format(time.RFC3339)
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
			"-ldflags=-s -X 'main.release="+stamp+"'", "-o", file, "./cmd/ringwatch")
		cmd.Dir = r.root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch,
			"GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
		}
		if err := isStatic(file); err != nil {
			return nil, err
		}
		p.programs[arch] = file
	}
	if p.native = p.programs[runtime.GOARCH]; p.native == "" {
		return nil, fmt.Errorf("the program runs on %v: make dist needs one of them to have it "+
			"write its man pages", arches)
	}
	fmt.Println("building ringwatch-agent.jar")
	// classes of sources that are gone would be in the jar
	target := filepath.Join(r.root, "agent", "target", "dist")
	if err := os.RemoveAll(target); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "mvn", "-B", "-q", "-Dstyle.color=never", "-Pdist",
		"-Drevision="+r.version,
		"-Dproject.build.outputTimestamp="+r.at.Format(time.RFC3339), "-Dmaven.test.skip=true",
		"package")
	cmd.Dir = filepath.Join(r.root, "agent")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	p.jar = filepath.Join(target, "ringwatch-agent.jar")
	var err error
	p.bundled, err = r.takeInventory(ctx)
	return p, err
}
