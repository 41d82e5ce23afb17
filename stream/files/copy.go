package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ringwatch/ringwatch/stream/durable"
)

// Copy makes a directory that has what another one has, which a process may have. All that was
// acknowledged when it is called is in the copy, unless its time is over, and some of what comes
// later. effects is called when the groups' offsets are copied and the records are not: what it
// copies of the groups' effects is at least as far as the offsets, and the records are all that
// follow. The copy must not be there.
func Copy(from, to string, effects func() error) error {
	if _, err := os.Stat(filepath.Join(from, "lock")); err != nil {
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
	if err := durable.Copy(filepath.Join(from, "lock"), filepath.Join(to, "lock")); err != nil {
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
		err := durable.Copy(segmentPath(from, id), segmentPath(to, id))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return durable.Names(to)
}
