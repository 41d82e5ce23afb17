package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/ringwatch/ringwatch/bench/profiled"
)

// profile is where the API's profile comes to be.
func (r *ours) profile() string { return filepath.Join(r.dir, "api.cpu") }

// profiled keeps a profile of the API while do runs.
func (r *ours) profiled(ctx context.Context, to string, do func() error) error {
	if err := profiled.Begin(r.api.Pid(), r.profile()); err != nil {
		return err
	}
	err := do()
	if e := profiled.End(ctx, r.api.Pid(), r.profile()); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	b, err := os.ReadFile(r.profile())
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o600)
}
