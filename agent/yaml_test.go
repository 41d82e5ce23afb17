package agent_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// TestYAML holds the library that reads ringwatch.yaml to the cases that the agent's reader is held
// to, so that one document means the same to both.
func TestYAML(t *testing.T) {
	text, err := os.ReadFile("testdata/yaml.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := strings.Split(string(text), "\n== ")[1:]
	if len(cases) < 40 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, one := range cases {
		name, rest, _ := strings.Cut(one, "\n")
		t.Run(name, func(t *testing.T) {
			given, wanted, is := strings.Cut(rest, "\n-> ")
			var got any
			file, err := parser.ParseBytes([]byte(strings.ReplaceAll(given, `\t`, "\t")), 0)
			if err == nil {
				got, err = plainYAML(file.Docs[0].Body)
			}
			if !is {
				if err == nil && strings.Contains(rest, "\n=> wrong: ") {
					t.Errorf("it is %v", got)
				}
				return
			}
			var want any
			if err := json.Unmarshal([]byte(wanted), &want); err != nil {
				t.Fatal(err)
			}
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%v, want %v: %v", got, want, err)
			}
		})
	}
}

// plainYAML is a node as JSON has it, scalars as they are written.
func plainYAML(n ast.Node) (any, error) {
	switch n := n.(type) {
	case nil, *ast.NullNode:
		return nil, nil
	case *ast.StringNode:
		return n.Value, nil
	case *ast.MappingValueNode:
		return plainYAML(ast.Mapping(n.GetToken(), false, n))
	case *ast.MappingNode:
		of := map[string]any{}
		for _, entry := range n.Values {
			key := entry.Key.GetToken().Value
			value, err := plainYAML(entry.Value)
			if err != nil {
				return nil, err
			}
			of[key] = value
		}
		return of, nil
	case *ast.SequenceNode:
		list := []any{}
		for _, item := range n.Values {
			value, err := plainYAML(item)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	case ast.ScalarNode:
		return n.GetToken().Value, nil
	}
	return nil, fmt.Errorf("a %s", n.Type())
}
