package main

import (
	"fmt"
	"os"

	"github.com/ringwatch/ringwatch/account"
)

type keyCmd struct {
	Create keyCreateCmd `cmd:"" help:"Make a new API key and print what goes into the configuration."`
}

type keyCreateCmd struct {
	Name   string   `arg:"" help:"The key's name, for logs."`
	Scopes []string `help:"What it may do: read, write, admin." default:"read" enum:"read,write,admin"`
}

// Run prints the key once on stdout; only its hash goes into the configuration, so it cannot be shown again.
func (c *keyCreateCmd) Run() error {
	if err := account.CheckName(c.Name); err != nil {
		return usageError{err}
	}
	key := account.NewKey()
	fmt.Println(key)
	fmt.Fprintf(os.Stderr, "Keep the line above, it is not shown again. Into the configuration, below accounts → keys:\n  - {name: %s, sha256: %s, scopes: [", c.Name, account.Hash(key))
	for i, s := range c.Scopes {
		if i > 0 {
			fmt.Fprint(os.Stderr, ", ")
		}
		fmt.Fprint(os.Stderr, s)
	}
	fmt.Fprintln(os.Stderr, "]}")
	return nil
}
