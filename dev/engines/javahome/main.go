// Command javahome prints the directory of the Java that Cassandra and Kafka run on, fetched if
// need be: the agent's tests, which start a Cassandra in Java, run on it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/ringwatch/ringwatch/dev/engines"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	home, err := engines.JavaHome(ctx, engines.CassandraVersion, func(line string) {
		fmt.Fprintln(os.Stderr, line)
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "javahome:", err)
		os.Exit(1)
	}
	fmt.Println(home)
}
