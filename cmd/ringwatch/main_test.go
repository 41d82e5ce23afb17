package main

import (
	"os"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/help"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/clock"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/disk/durable/durabletest"
)

// asRingwatch makes this test binary behave as ringwatch itself, so that tests can start, kill
// and start it again as a process of its own.
const asRingwatch = "RINGWATCH_TEST_AS_RINGWATCH=1"

// clockFile is the environment variable that names a file which says how far such a process's
// clock is ahead of the machine's.
const clockFile = "RINGWATCH_TEST_CLOCK"

// recordDir and recordNotes name a directory, and durabletest's notes of what such a process makes
// durable there.
const (
	recordDir   = "RINGWATCH_TEST_DATA"
	recordNotes = "RINGWATCH_TEST_NOTES"
)

// littleRows makes such a process write files of rows all the time.
const littleRows = "RINGWATCH_TEST_LITTLE_ROWS=1"

func TestMain(m *testing.M) {
	if dir := os.Getenv(ownDisk); dir != "" {
		holdDisk(dir)
	}
	if os.Getenv("RINGWATCH_TEST_AS_RINGWATCH") == "1" {
		if os.Getenv("RINGWATCH_TEST_LITTLE_ROWS") == "1" {
			wire.MostRows = 128 << 10
		}
		if notes := os.Getenv(recordNotes); notes != "" {
			if err := durabletest.Record(os.Getenv(recordDir), notes); err != nil {
				panic(err)
			}
		}
		help.CompletionPatience = time.Minute
		if file := os.Getenv(clockFile); file != "" {
			clock.Now = func() time.Time {
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
