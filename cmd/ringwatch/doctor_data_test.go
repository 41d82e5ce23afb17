package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/examine"
	"github.com/ringwatch/ringwatch/doctor"
)

// TestDoctorOfADirectory: without engines the doctor looks at the directory.
func TestDoctorOfADirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	look := func(want string, well bool) {
		t.Helper()
		var out bytes.Buffer
		c := examine.DoctorCmd{Config: configFile(t, "data: {dir: "+dir+"}\n")}
		err := c.RunTo(t.Context(), &out)
		if (err == nil) != well || !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q: %v\n%s", want, err, &out)
		}
	}
	look("Ringwatch makes it", true)
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

// TestDoctorOfAReadOnlyDisk: who may write by a directory's mode may not on such a disk, and nobody
// can make a directory there.
func TestDoctorOfAReadOnlyDisk(t *testing.T) {
	d := mustDisk(t, filepath.Join(t.TempDir(), "disk"))
	d.do(t, "examine", "", string(doctor.OK), "can be written")
	d.do(t, "examine", "later", string(doctor.OK), "is not there yet")
	d.do(t, "readonly")
	d.do(t, "examine", "", string(doctor.Fail), "mounted read-only")
	d.do(t, "examine", "later", string(doctor.Fail), "mounted read-only")
}

// TestDoctorOfLinks: the doctor says when alerts have no links, and what they begin with. One
// setting is enough, of the API or of the rules.
func TestDoctorOfLinks(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "set api.public_url",
		`api: {public_url: %q}`:        "links in alerts begin with https://rw.example",
		`rules: {external_url: %q}`:    "links in alerts begin with https://rw.example",
		`rules: {external_url: "rw/"}`: "rules.external_url",
	} {
		file := configFile(t, fmt.Sprintf("data: {dir: %q}\n", t.TempDir())+
			strings.ReplaceAll(text, "%q", `"https://rw.example"`)+"\n")
		var out bytes.Buffer
		err := (&examine.DoctorCmd{Config: file}).RunTo(t.Context(), &out)
		if said := out.String() + fmt.Sprint(err); !strings.Contains(said, want) {
			t.Errorf("of %q it does not say %q: %s", text, want, said)
		}
	}
}
