// Package pictured says of which console the pictures in docs/screens are. It imports none of our
// packages.
package pictured

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Where the pictures and the console's build are, from the root of the repository.
const (
	Screens = "docs/screens"
	Console = "console/dist"
)

// name is the file beside the pictures that has the hash.
const name = "console.sha256"

// hash is that of a build. Its page names the parts by hashes of what is in them.
func hash(console string) (string, error) {
	page, err := os.ReadFile(filepath.Join(console, "index.html"))
	if err != nil {
		return "", fmt.Errorf("the console's build cannot be read: %w: run make console", err)
	}
	sum := sha256.Sum256(page)
	return hex.EncodeToString(sum[:]), nil
}

// Write notes beside the pictures that they are of the console's build.
func Write(screens, console string) error {
	sum, err := hash(console)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(screens, name), []byte(sum+"\n"), 0o644)
}

// Old returns, as a sentence, that the pictures are of another build; "" if they are of this one.
func Old(screens, console string) (string, error) {
	sum, err := hash(console)
	if err != nil {
		return "", err
	}
	of, err := os.ReadFile(filepath.Join(screens, name))
	if err == nil && strings.TrimSpace(string(of)) == sum {
		return "", nil
	}
	return fmt.Sprintf("the pictures in %s are of another console: make screens takes them again",
		screens), nil
}
