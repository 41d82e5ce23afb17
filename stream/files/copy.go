package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/disk/durable"
)

// Copy copies a directory, also while a process has it, to a place where nothing is yet. The copy
// has all that was acknowledged before the call and is not past its retention, and some of what
// comes later. The groups' offsets are copied first, then effects is called, and then the records
// are copied. So what effects copies is at least as far as the offsets, and all records that
// follow are in the copy.
func Copy(from, to string, effects func() error) error {
	if _, err := os.Stat(filepath.Join(from, disk.LockName)); err != nil {
		return fmt.Errorf("stream: %s is no directory of a stream: %w", from, err)
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	if err := copyTopic(filepath.Join(from, commitsTopic.Name),
		filepath.Join(to, commitsTopic.Name)); err != nil {
		return fmt.Errorf("stream: cannot copy %s: %w", from, err)
	}
	if err := effects(); err != nil {
		return err
	}
	if err := copyTopics(from, to); err != nil {
		return fmt.Errorf("stream: cannot copy %s: %w", from, err)
	}
	return nil
}

func copyTopics(from, to string) error {
	if err := os.Mkdir(filepath.Join(to, "topics"), 0o700); err != nil {
		return err
	}
	topics, err := os.ReadDir(filepath.Join(from, "topics"))
	if err != nil {
		return err
	}
	for _, t := range topics {
		name := filepath.Join("topics", t.Name())
		if err := copyTopic(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	if _, err := disk.Copy(filepath.Join(from, disk.LockName),
		filepath.Join(to, disk.LockName)); err != nil {
		return err
	}
	return errors.Join(durable.Names(filepath.Join(to, "topics")), durable.Names(to))
}

// copyTopic copies the files of a topic, the oldest first. One that is gone meanwhile was too old,
// or what it had is in one with a higher number.
func copyTopic(from, to string) error {
	ids, err := segments(from)
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	for _, id := range ids {
		if _, err := disk.Copy(segmentPath(from, id), segmentPath(to, id)); err != nil {
			return err
		}
	}
	return durable.Names(to)
}
