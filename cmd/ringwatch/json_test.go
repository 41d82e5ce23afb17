package main

import (
	"reflect"
	"slices"
	"testing"

	"github.com/alecthomas/kong"
)

// TestEveryAnswerAsJSON: INSTALL.md says that every command that prints data has --json, but for
// top. These print none: roles, scripts, statements, and what was done.
func TestEveryAnswerAsJSON(t *testing.T) {
	without := []string{"all", "ingest", "store", "recent", "watch", "api", "rules run",
		"rules test", "rules apply", "top", "schema apply", "schema cutover", "schema drop",
		"schema grants", "data backup", "data move", "backfill", "agent-jar", "completion", "man",
		"silence add", "silence end", "maintenance begin", "maintenance end"}
	k, err := newKong()
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range k.Model.Leaves(true) {
		name := command.Path()
		has := slices.ContainsFunc(command.Flags, func(f *kong.Flag) bool {
			return f.Name == "json" && f.Target.Kind() == reflect.Bool
		})
		if has == slices.Contains(without, name) {
			t.Errorf("%s: --json is %v", name, has)
		}
	}
}
