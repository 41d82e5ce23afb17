package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/engine"
	"github.com/ringwatch/ringwatch/store"
)

// BackfillCmd is ringwatch backfill.
type BackfillCmd struct {
	settings.DataFlags
	Account string   `help:"The account of the configuration that owns these nodes." default:"default" env:"RINGWATCH_ACCOUNT"`
	Files   []string `arg:"" name:"file" help:"Recordings: frames one after another (frame/FORMAT.md), such as bench/recordings has."`
}

// Run loads file after file. A file that is bad does not keep the others from being loaded; the
// exit code says that something was not.
func (c *BackfillCmd) Run(ctx context.Context) error {
	p, err := wire.StartOnData(ctx, &c.DataFlags, "backfill",
		func(c *settings.Config) []engine.Engine {
			return []engine.Engine{engine.RowsOrDirectory(
				c)}
		})
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(p.Config.Accounts, func(a account.Account) bool {
		return a.Name == c.Account
	}) {
		return exit.Usage(fmt.Errorf("%s has no account %q: name one with --account", c.File(),
			c.Account))
	}
	_, parts, err := p.Throttled()
	if err != nil {
		return err
	}
	return wire.Beside(ctx, parts, func(ctx context.Context) error { return c.load(ctx, p) })
}

func (c *BackfillCmd) load(ctx context.Context, p *wire.Process) error {
	db, err := p.OpenStore(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	var bad []error
	for _, file := range c.Files {
		done, err := loadFile(ctx, db, c.Account, file)
		fmt.Printf("%s: %s\n", file, loadedSummary(done))
		if ctx.Err() != nil {
			// Not ctx's error: main takes that for a role that was told to end.
			return fmt.Errorf("stopped in %s: the frames so far are loaded; run the same command "+
				"again for the rest", file)
		}
		switch {
		case errors.Is(err, store.ErrRecording), errors.Is(err, os.ErrNotExist), errors.Is(err,
			os.ErrPermission):
			bad = append(bad, fmt.Errorf("%s: %w", file, err))
		case err != nil:
			return fmt.Errorf("%s: %w", file, err)
		case done.Refused() > 0:
			bad = append(bad, fmt.Errorf("%s: %d frames were left out", file, done.Refused()))
		}
	}
	if lost := lostFrames(p); lost > 0 {
		bad = append(bad,
			fmt.Errorf("%d frames could not be read without their key frame: load the recording "+
				"that has it", lost))
	}
	return errors.Join(bad...)
}

// loadFile loads one file, telling every two seconds how far it is.
func loadFile(ctx context.Context, db *store.Store, account, file string) (store.Loaded, error) {
	f, err := os.Open(file)
	if err != nil {
		return store.Loaded{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return store.Loaded{}, err
	}
	stop := context.AfterFunc(ctx, func() { f.Close() }) // a pipe may never bring more
	defer stop()
	told := time.Now()
	return db.Load(ctx, account, f, func(l store.Loaded) {
		if time.Since(told) > 2*time.Second {
			told = time.Now()
			fmt.Fprintf(os.Stderr, "%s: %d %%, %d frames\n", file, 100*l.Bytes/max(1, info.Size()),
				l.Frames)
		}
	})
}

func loadedSummary(l store.Loaded) string {
	text := fmt.Sprintf("%d frames loaded", l.Frames)
	for _, part := range []struct {
		n    int
		what string
	}{{l.Expired, "older than cassandra.raw_ttl"}, {l.Ahead, "made in the future"},
		{l.Damaged, "damaged"}} {
		if part.n > 0 {
			text += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	return text
}

// lostFrames is how many frames of closed windows could not be read, by this process's own metrics.
func lostFrames(p *wire.Process) (n int) {
	families, err := p.Metrics.Gather()
	if err != nil {
		return 0
	}
	for _, f := range families {
		if f.GetName() == "ringwatch_store_lost_frames_total" {
			for _, m := range f.Metric {
				n += int(m.GetCounter().GetValue())
			}
		}
	}
	return n
}
