package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDoctorOfADirectory: without engines the doctor looks at the directory.
func TestDoctorOfADirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	look := func(want string, well bool) {
		t.Helper()
		var out bytes.Buffer
		c := doctorCmd{Config: configFile(t, "data: {dir: "+dir+"}\n")}
		err := c.run(t.Context(), &out)
		if (err == nil) != well || !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q: %v\n%s", want, err, &out)
		}
	}
	look("ringwatch all makes it", true)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	look("can be written", true)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	look("is no directory", false)
}
