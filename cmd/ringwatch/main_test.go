package main

import (
	"os"
	"testing"

	"github.com/ringwatch/ringwatch/engines"
)

// asRingwatch makes this test binary behave as ringwatch itself, so that tests can start, kill and start it again as a process of its own.
const asRingwatch = "RINGWATCH_TEST_AS_RINGWATCH=1"

func TestMain(m *testing.M) {
	if os.Getenv("RINGWATCH_TEST_AS_RINGWATCH") == "1" {
		os.Exit(run(os.Args[1:]))
	}
	engines.Main(m)
}
