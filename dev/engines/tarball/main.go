// Command tarball lays a Cassandra out in a directory as its tarball does, fetched if need be: the
// test of what people install is a module of its own, and runs this.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/ringwatch/ringwatch/dev/engines"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: tarball DIR")
		os.Exit(2)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	err := engines.LayOutCassandra(ctx, os.Args[1], func(line string) {
		fmt.Fprintln(os.Stderr, line)
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "tarball:", err)
		os.Exit(1)
	}
}
