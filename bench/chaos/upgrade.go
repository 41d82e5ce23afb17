package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/dev/engines"
)

// Upgrade is what comes instead of faults: roles of one version become those of another.
type Upgrade struct {
	From  string   // the program that all begin with; Config.Binary takes its place
	Order []string // the roles, as they are replaced
}

// upgrade replaces the line's processes one after the other, as docs/UPGRADE.md says it. Each is
// told to end, and the next one follows when its new process is ready. Readers ask the other API
// when one does not answer, as a balancer does.
func (s *system) upgrade(ctx context.Context, f *fleet) error {
	schema := exec.CommandContext(ctx, s.Binary, "schema", "apply", "--config",
		s.roles[0].config.Args[2])
	schema.Env = append(os.Environ(), s.Env...)
	if said, err := schema.CombinedOutput(); err != nil {
		return fmt.Errorf("chaos: ringwatch schema apply: %w: %s", err, said)
	}
	// Until a node's first frame is in the list of nodes, nothing is known of it.
	if err := line.Until(ctx, "all nodes to be known", func(ctx context.Context) error {
		for _, n := range f.nodes {
			for _, base := range f.apis {
				if _, err := f.newestOf(ctx, base, n, 0); err != nil {
					return err
				}
			}
		}
		return nil
	}); err != nil {
		return err
	}
	s.mu.Lock()
	s.Failed = 0
	s.mu.Unlock()
	s.upgrading.Store(true)
	replaced := map[*role]bool{}
	for _, name := range s.Upgrade.Order {
		for _, r := range s.roles {
			if r.config.Args[0] != name || replaced[r] {
				continue
			}
			if err := s.replace(ctx, r); err != nil {
				return fmt.Errorf("chaos: upgrade of %s: %w", r.name, err)
			}
			replaced[r] = true
			s.add(&s.Replaced, 1)
			f.recover.over("upgrade " + r.name)
			if err := bench.Pass(ctx, s.Pause); err != nil {
				return err
			}
		}
	}
	if len(replaced) != len(s.roles) {
		return errors.New("chaos: some roles are not in the order of the upgrade")
	}
	return nil
}

// replace ends a process and starts it from the other program.
func (s *system) replace(ctx context.Context, r *role) error {
	began := time.Now()
	bounded, cancel := context.WithTimeout(ctx, 2*engines.StartTimeout)
	defer cancel()
	if p := r.take(); p != nil {
		if err := p.Stop(bounded); err != nil {
			return err
		}
	}
	r.config.Path = s.Binary
	if err := r.start(); err != nil {
		return err
	}
	if err := s.ready(bounded, r); err != nil {
		return err
	}
	s.Progress(fmt.Sprintf("%s is replaced after %.1f s", r.name, time.Since(began).Seconds()))
	return nil
}

// answered asks an API, and in an upgrade the other one if the first does not answer.
func (f *fleet) answered(ctx context.Context, first int,
	ask func(base string) (answer, error)) (a answer, err error) {
	if a, err = ask(f.apis[first]); err != nil && f.Upgrade != nil && ctx.Err() == nil {
		a, err = ask(f.apis[(first+1)%len(f.apis)])
	}
	return a, err
}
