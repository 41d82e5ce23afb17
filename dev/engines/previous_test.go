package engines

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNewestTag: what comes before a release, and what is no version, is passed over.
func TestNewestTag(t *testing.T) {
	for tags, want := range map[string]string{
		"": "", "v1.2.0\nv1.1.9\n": "v1.2.0", "vnext\nv2.0.0-rc.1\nv1.10.0\nv1.9.0\n": "v1.10.0",
	} {
		if got := newestTag(tags); got != want {
			t.Errorf("of %q it is %q, want %q", tags, got, want)
		}
	}
}

// TestPreviousOf: only who cannot have the version before takes this one for it.
func TestPreviousOf(t *testing.T) {
	dir := t.TempDir()
	ask := func(in string, args ...string) {
		t.Helper()
		if _, err := git(t.Context(), in, args...); err != nil {
			t.Fatal(err)
		}
	}
	whole, shallow, archive := filepath.Join(dir, "whole"), filepath.Join(dir, "shallow"),
		filepath.Join(dir, "whole", "archive")
	ask(dir, "init", "-q", whole)
	commit := func() {
		ask(whole, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty",
			"-m", "one")
	}
	commit()
	if _, err := previousOf(t.Context(), whole); err == nil ||
		!strings.Contains(err.Error(), baseline+": git fetch --tags") {
		t.Errorf("a repository without the commit: %v", err)
	}
	ask(whole, "tag", "v1.2.3")
	commit()
	if p, err := previousOf(t.Context(), whole); err != nil || p.Version != "1.2.3" ||
		len(p.revision) != 12 {
		t.Errorf("of a tag it is %+v: %v", p, err)
	}
	ask(dir, "clone", "-q", "--depth=1", "--no-tags", "file://"+whole, shallow)
	if err := os.Mkdir(archive, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{shallow, archive} {
		if p, err := previousOf(t.Context(), root); err != nil || p.revision != "" {
			t.Errorf("in %s it is %+v: %v", root, p, err)
		}
	}
}
