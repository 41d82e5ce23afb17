// Command relock writes the engines' lock files anew; `go generate ./dev/engines` runs it, in
// that directory.
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
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "relock:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	locks, err := engines.Relock(ctx, func(line string) { fmt.Println(line) })
	if err != nil {
		return err
	}
	for file, text := range locks {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return fmt.Errorf("cannot write a lock file: %w", err)
		}
	}
	return nil
}
