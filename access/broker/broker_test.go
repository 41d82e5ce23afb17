package broker

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSASL(t *testing.T) {
	for want, s := range map[string]SASL{
		"": {}, `mechanism "X": use PLAIN`: {Mechanism: "X", User: "u", Password: "hush"},
		"needs user and password": {Mechanism: "PLAIN", User: "u"},
		"password and password_file": {Mechanism: "PLAIN", User: "u", Password: "a",
			PasswordFile: "b"},
	} {
		err := s.Validate()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
		if dump := fmt.Sprintf("%v %+v %#v %v", s, s, &s, err); strings.Contains(dump, "hush") {
			t.Errorf("the password is printed: %s", dump)
		}
	}
}

// TestPasswordFile: the file is read at each login, so that a password can change.
func TestPasswordFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	s := SASL{Mechanism: "SCRAM-SHA-256", User: "u", PasswordFile: file}
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
	if _, err := s.password(); err == nil || !strings.Contains(err.Error(), "sasl.password_file") {
		t.Errorf("without the file: %v", err)
	}
	for text, want := range map[string]string{"one\n": "one", " two\r\n": " two",
		"three": "three"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		auth, err := s.scram(t.Context())
		if err != nil || auth.Pass != want || auth.User != "u" {
			t.Errorf("%q: %v %v", text, auth, err)
		}
	}
}
