// Command screens takes the pictures of the console in docs/screens.
//
//	bench/fleet ─ POST ─ ringwatch all ─ console ─ Chromium, driven by console/screens.mjs
//
// The fleet is the recording of one busy node, played as 72 nodes of four clusters. Before the
// browser opens they have sent frames of more than an hour, and they go on. Three of them have
// something to look at: one is much busier than its peers, one has a nearly full disk and
// compactions that wait, one is down.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/dev/pictured"
)

type options struct {
	binary, recordings    string
	console, out, browser string
	past                  time.Duration
}

func main() {
	var o options
	bench.Binary(&o.binary)
	bench.Recordings(&o.recordings)
	flag.StringVar(&o.console, "console", "console", "folder with screens.mjs")
	flag.StringVar(&o.out, "out", "docs/screens", "folder for the pictures")
	flag.StringVar(&o.browser, "browser", "/usr/bin/chromium-headless-shell", "Chromium")
	flag.DurationVar(&o.past, "past", 70*time.Minute, "how much of the past the nodes send at once")
	bench.Run("screens", func(ctx context.Context, dir string) error {
		return run(ctx, o, dir)
	})
}

func run(ctx context.Context, o options, dir string) error {
	binary, err := filepath.Abs(o.binary)
	if err != nil {
		return err
	}
	out, err := filepath.Abs(o.out)
	if err != nil {
		return err
	}
	f, err := newFleet(filepath.Join(o.recordings, "busy.rwf"), time.Now().Add(-o.past))
	if err != nil {
		return err
	}
	bench.Progress("starting engines and roles")
	l, err := line.Start(ctx, line.Config{Dir: dir, Binary: binary, Self: 5 * time.Second})
	if err != nil {
		return err
	}
	defer l.Stop()

	bench.Progress("%d nodes send what they have of the last %s", len(f.nodes), o.past)
	if err := f.sendPast(ctx, l); err != nil {
		return err
	}
	live, cancel := context.WithCancel(ctx)
	sent := make(chan error, 1)
	go func() { sent <- f.sendLive(live, l) }()
	bench.Progress("waiting for the alerts")
	err = f.settle(ctx, l)
	if err == nil {
		bench.Progress("the browser opens pages")
		cmd := exec.CommandContext(ctx, "node", "screens.mjs", out)
		cmd.Dir, cmd.Stdout, cmd.Stderr = o.console, os.Stderr, os.Stderr
		cmd.Env = append(os.Environ(), "BASE="+l.API, "KEY="+l.Key, "CHROMIUM="+o.browser,
			"NODE="+f.busy.ID.String(), "CLUSTER="+f.busy.Cluster, "TABLE="+f.table)
		if err = cmd.Run(); err != nil {
			err = fmt.Errorf("console/screens.mjs: %w", err)
		}
	}
	cancel()
	if err = errors.Join(err, <-sent); err != nil {
		return err
	}
	if err := shrink(out); err != nil {
		return err
	}
	return pictured.Write(out, filepath.Join(o.console, "dist"))
}
