package main

import (
	"os"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/engines"
)

// asRingwatch makes this test binary behave as ringwatch itself, so that tests can start, kill and start it again as a process of its own.
const asRingwatch = "RINGWATCH_TEST_AS_RINGWATCH=1"

// clockFile is the environment variable that names a file which says how far such a process's clock is ahead of the machine's.
const clockFile = "RINGWATCH_TEST_CLOCK"

func TestMain(m *testing.M) {
	if os.Getenv("RINGWATCH_TEST_AS_RINGWATCH") == "1" {
		completionPatience = time.Minute
		if file := os.Getenv(clockFile); file != "" {
			clock = func() time.Time {
				b, _ := os.ReadFile(file)
				ahead, err := time.ParseDuration(string(b))
				if err != nil {
					panic(err)
				}
				return time.Now().Add(ahead)
			}
		}
		os.Exit(run(os.Args[1:]))
	}
	engines.Main(m)
}
