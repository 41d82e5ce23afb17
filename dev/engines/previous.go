package engines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// baseline is the commit that stands for the version before while there is no tag. Until the first
// release frames and what is stored may change: name the first commit that has such a change then.
const baseline = "b99672445c39bd68b3814bfebe05950078c64369"

// Previous is the version before this one: that of the newest tag below this commit, or baseline's.
// Tests build it from the repository's history, once for each commit. A shallow clone and the files
// of an archive have only themselves: there this version stands for the one before.
type Previous struct {
	Version  string // 1.2.3; 0.0.0 of baseline
	revision string // empty: this version itself
	root     string // of the repository
	cache    string
}

// MustPrevious finds the version before this one.
func MustPrevious(tb testing.TB) *Previous {
	tb.Helper()
	Needed(tb, "the version before, which is built from its commit")
	p, err := findPrevious(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	if p.revision == "" {
		tb.Log("this checkout lacks the version before (git fetch --unshallow --tags has it): " +
			"this version stands for it")
	}
	return p
}

// MustProgram returns the path of its program.
func (p *Previous) MustProgram(tb testing.TB) string {
	tb.Helper()
	return p.must(tb, "bin/ringwatch", "ringwatch", "cmd/ringwatch", "go", "build",
		"-buildvcs=false",
		"-ldflags=-s -X 'main.release="+p.Version+" "+p.revision+"'", "-o", "ringwatch", ".")
}

// MustAgent returns the path of its agent's jar.
func (p *Previous) MustAgent(tb testing.TB) string {
	tb.Helper()
	const jar = "target/ringwatch-agent.jar"
	return p.must(tb, "agent/"+jar, jar, "agent", "mvn", "-B", "-q", "-Dstyle.color=never",
		"-Dmaven.test.skip=true", "package")
}

// must returns what a command makes in a folder of that version; here is where make build has it.
func (p *Previous) must(tb testing.TB, here, made, folder, name string, args ...string) string {
	tb.Helper()
	if p.revision == "" {
		return filepath.Join(p.root, here)
	}
	path, err := p.build(tb.Context(), func(line string) { tb.Log(line) }, made, folder, name,
		args...)
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// findPrevious finds it for the repository that this is.
func findPrevious(ctx context.Context) (*Previous, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return nil, fmt.Errorf("go list does not find this module: %w", err)
	}
	return previousOf(ctx, strings.TrimSpace(string(root)))
}

// previousOf looks for the newest tag. One of this commit is this version's own.
func previousOf(ctx context.Context, root string) (*Previous, error) {
	p := &Previous{Version: "0.0.0", root: root}
	var err error
	if p.cache, err = CacheDir(); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(root, ".git")); errors.Is(err, os.ErrNotExist) {
		return p, nil // files of an archive, maybe in a folder that is in another repository
	}
	p.revision = baseline
	tags, err := git(ctx, p.root, "tag", "--list", "v*", "--sort=-version:refname", "--merged",
		"HEAD", "--no-contains", "HEAD")
	if tag := newestTag(string(tags)); err == nil && tag != "" {
		p.Version, p.revision = strings.TrimPrefix(tag, "v"), tag
	}
	full, err := git(ctx, p.root, "rev-parse", "--verify", "--quiet", p.revision+"^{commit}")
	if err != nil {
		shallow, failed := git(ctx, p.root, "rev-parse", "--is-shallow-repository")
		if failed != nil || strings.TrimSpace(string(shallow)) != "true" {
			return nil,
				fmt.Errorf("this repository lacks the version before, %s: git fetch --tags "+
					"from where that is (%w)", p.revision, errors.Join(err, failed))
		}
		p.revision = ""
		return p, nil
	}
	p.revision = strings.TrimSpace(string(full))[:12]
	return p, nil
}

var releaseTag = regexp.MustCompile(`^v\d+\.\d+\.\d+$`)

// newestTag is the first one of a release.
func newestTag(tags string) string {
	for tag := range strings.Lines(tags) {
		if tag = strings.TrimSpace(tag); releaseTag.MatchString(tag) {
			return tag
		}
	}
	return ""
}

func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err,
			strings.TrimSpace(said.String()))
	}
	return out, err
}

// build runs a command in a folder of the commit's files, unless the cache has what it makes.
func (p *Previous) build(ctx context.Context, progress func(string), made, folder, name string,
	args ...string) (string, error) {
	if err := os.MkdirAll(p.cache, 0o755); err != nil {
		return "", err
	}
	kept := filepath.Join(p.cache, "previous-"+p.revision+"-"+filepath.Base(made))
	// Always the same folder: Go's cache knows files by their paths.
	dir := filepath.Join(p.cache, "previous-"+filepath.Base(made)+".building")
	unlock, err := lockFile(ctx, dir+".flock",
		func() { progress("waiting for another process that builds the version before") })
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(kept); err == nil || !errors.Is(err, os.ErrNotExist) {
		return kept, err
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	progress(fmt.Sprintf("building %s of %s, the version before", filepath.Base(made), p.revision))
	files, err := git(ctx, p.root, "archive", "--format=tar", p.revision)
	if err != nil {
		return "", err
	}
	unpack := exec.CommandContext(ctx, "tar", "-x", "-C", dir)
	unpack.Stdin = bytes.NewReader(files)
	if said, err := unpack.CombinedOutput(); err != nil {
		return "", fmt.Errorf("tar: %w: %s", err, said)
	}
	if err := runIn(ctx, filepath.Join(dir, folder), name, args...); err != nil {
		return "", err
	}
	return kept, os.Rename(filepath.Join(dir, folder, made), kept)
}

func runIn(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, said)
	}
	return nil
}
