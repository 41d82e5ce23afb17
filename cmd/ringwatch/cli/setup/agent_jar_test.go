package setup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
)

// TestAgentJar: what is copied takes the place of an older one, and everybody may read it.
func TestAgentJar(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "on", "the", "way")
	jar := filepath.Join(t.TempDir(), "some.jar")
	for _, text := range []string{"an older, longer jar", "a jar"} {
		if err := os.WriteFile(jar, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := (&AgentJarCmd{Dir: dir, Jar: jar}).Run(); err != nil {
			t.Fatal(err)
		}
		list, err := os.ReadDir(dir)
		if err != nil || len(list) != 1 {
			t.Fatalf("the folder has %v: %v", list, err)
		}
		info, err := list[0].Info()
		if err != nil || info.Name() != "ringwatch-agent.jar" || info.Mode() != 0o644 {
			t.Errorf("it is %v: %v", info, err)
		}
		got, err := os.ReadFile(filepath.Join(dir, "ringwatch-agent.jar"))
		if err != nil || string(got) != text {
			t.Errorf("it has %q, want %q: %v", got, text, err)
		}
	}
	err := (&AgentJarCmd{Dir: dir, Jar: jar + ".gone"}).Run()
	var usage exit.UsageError
	if !errors.As(err, &usage) || !strings.Contains(err.Error(), "name the jar with --jar") {
		t.Errorf("without a jar it says %v", err)
	}
}
