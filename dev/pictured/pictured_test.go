package pictured_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/dev/pictured"
)

// TestOld: pictures are old without a note, and when the console has changed since.
func TestOld(t *testing.T) {
	screens, console := t.TempDir(), t.TempDir()
	page := filepath.Join(console, "index.html")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old := func(want bool) {
		t.Helper()
		text, err := pictured.Old(screens, console)
		if err != nil || strings.Contains(text, "make screens") != want {
			t.Errorf("%q %v", text, err)
		}
	}
	if _, err := pictured.Old(screens, console); err == nil {
		t.Error("there is no console")
	}
	write("one")
	old(true)
	if err := pictured.Write(screens, console); err != nil {
		t.Fatal(err)
	}
	old(false)
	write("two")
	old(true)
}
