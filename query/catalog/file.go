package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
)

// maxFileBytes is what an account's own file may have.
const maxFileBytes = 256 << 10

// Decode reads the YAML of an account's own file into a value. A key that the value does not have
// is an error; a text without anything is none. Errors are one sentence and name the file.
func Decode(name string, text []byte, into any) error {
	if len(text) > maxFileBytes {
		return fmt.Errorf("%s has %d bytes, and %d are allowed: leave some out", name,
			len(text), maxFileBytes)
	}
	err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(into)
	if err != nil && !errors.Is(err, io.EOF) {
		message, _, _ := strings.Cut(yaml.FormatError(err, false, false), "\n")
		return fmt.Errorf("%s: %s", name, message)
	}
	return nil
}

// ReadFile reads no more of a file than Decode needs to see that it is too large. what names in an
// error what could not be read.
func ReadFile(path, what string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", what, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", what, err)
	}
	return text, nil
}
