package settings

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/alecthomas/kong"
)

// NamesDirectory returns an error if a path cannot be a directory: something else is there, or on
// the way to it. What is not there yet can be made.
func NamesDirectory(path string) error {
	for at := path; at != ""; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		switch {
		case err == nil && info.IsDir(), err != nil && at == filepath.Dir(at):
			return nil
		case err == nil && at == path:
			return fmt.Errorf("%s is no directory: name a directory", path)
		case err == nil:
			return fmt.Errorf("%s cannot be a directory, because %s is none: name another", path,
				at)
		}
	}
	return nil
}

// DirectoryKey is NamesDirectory for a key of the configuration; empty: it has none.
func DirectoryKey(name, path string) error {
	if err := NamesDirectory(path); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// PathFlags are how flags and arguments of the types path and dir are read: neither may be empty,
// which would be the folder that one happens to stand in.
func PathFlags() []kong.Option {
	read := func(empty string, check func(string) error) kong.Mapper {
		return kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
			var path string
			if err := ctx.Scan.PopValueInto("path", &path); err != nil {
				return err
			}
			if path == "" {
				return errors.New(empty)
			}
			if path != "-" {
				path = kong.ExpandPath(path)
			}
			target.SetString(path)
			return check(path)
		})
	}
	return []kong.Option{
		kong.NamedMapper("path", read("the name is empty: name a file",
			func(string) error { return nil })),
		kong.NamedMapper("dir", read("the name is empty: name a directory, such as . for this one",
			NamesDirectory)),
	}
}
