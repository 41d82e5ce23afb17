package files

import (
	"context"
	"time"

	"github.com/ringwatch/ringwatch/store/rows/files/compaction"
	"github.com/ringwatch/ringwatch/store/rows/files/failure"
	"github.com/ringwatch/ringwatch/store/rows/files/ledger"
	"github.com/ringwatch/ringwatch/store/rows/files/log"
	"github.com/ringwatch/ringwatch/store/rows/files/table"
	"github.com/ringwatch/ringwatch/store/rows/files/tree"
)

// commit is a mutation on its way to the log.
type commit struct {
	b    []byte // encoded
	done chan error
}

// committer writes mutations to the log and then to memory, and sees to it that memory goes to
// files.
type committer struct {
	dir     string
	memory  int // bytes, from which on what is in memory goes to files
	log     *log.Log
	tree    *tree.Tree
	flusher *compaction.Flusher
	ledger  *ledger.Ledger
	closing <-chan struct{}

	commits chan *commit
	flushes chan chan error
}

// commit writes a mutation to the log and to memory.
func (c *committer) commit(ctx context.Context, b []byte) error {
	one := &commit{b, make(chan error, 1)}
	select {
	case c.commits <- one:
	case <-c.closing:
		return failure.Closed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-one.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// flush writes all that is in memory to files; commits wait meanwhile.
func (c *committer) flush(ctx context.Context) error {
	done := make(chan error, 1)
	select {
	case c.flushes <- done:
		return failure.Writing(c.dir, <-done)
	case <-c.closing:
		return failure.Closed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run writes what is committed, in groups, until the engine is closed.
func (c *committer) run() {
	for {
		select {
		case <-c.closing:
			return
		case done := <-c.flushes:
			done <- c.flushAll()
		case first := <-c.commits:
			group := c.gather(first)
			err := c.write(group)
			c.ledger.Wrote(err)
			if err != nil {
				c.ledger.Refused.Add(float64(len(group)))
			}
			for _, one := range group {
				one.done <- err
			}
		}
	}
}

// gather returns a commit with those that wait.
func (c *committer) gather(first *commit) []*commit {
	group, size := []*commit{first}, len(first.b)
	for size < log.GroupBytes {
		select {
		case one := <-c.commits:
			group, size = append(group, one), size+len(one.b)
		default:
			return group
		}
	}
	return group
}

// write writes a group of commits to the log, syncs it, and then lets them be read.
func (c *committer) write(group []*commit) error {
	if err := c.makeRoom(); err != nil {
		return failure.Writing(c.dir, err)
	}
	list := make([][]byte, len(group))
	mutations := make([]table.Mutation, len(group))
	for i, one := range group {
		list[i] = one.b
		var err error
		if mutations[i], err = table.Decode(one.b); err != nil {
			return err // of none that Encode has made
		}
	}
	begun := time.Now()
	if err := c.log.Append(list); err != nil {
		return failure.Writing(c.dir, err)
	}
	c.ledger.Synced.Observe(time.Since(begun).Seconds())
	c.tree.Apply(mutations...)
	return nil
}

// makeRoom sees to it that there is a log file, and room in memory.
func (c *committer) makeRoom() error {
	if c.log.Path() == "" {
		if err := c.log.Next(); err != nil {
			return err
		}
		c.tree.Logged(c.log.Path())
	}
	for {
		active, _ := c.tree.Weight()
		busy, failed := c.tree.Frozen() != nil, c.flusher.Failed()
		switch {
		case active < c.memory:
			return nil
		case !busy:
			return c.freeze()
		case active < 2*c.memory:
			return nil
		case failed != nil:
			return failed
		}
		select {
		case <-c.flusher.Ended():
		case <-c.closing:
			return failure.Closed
		}
	}
}

// freeze lets what is in memory be written to files, and begins a new log file.
func (c *committer) freeze() error {
	if err := c.log.Next(); err != nil {
		return err
	}
	c.tree.Freeze(c.log.Group(), c.log.Path())
	c.flusher.Wake()
	return nil
}

func (c *committer) flushAll() error {
	if err := c.makeRoom(); err != nil {
		return err
	}
	if err := c.waitFlushed(); err != nil {
		return err
	}
	if err := c.freeze(); err != nil {
		return err
	}
	return c.waitFlushed()
}

// waitFlushed waits until nothing is frozen.
func (c *committer) waitFlushed() error {
	for c.tree.Frozen() != nil {
		if err := c.flusher.Failed(); err != nil {
			return err
		}
		select {
		case <-c.flusher.Ended():
		case <-c.closing:
			return failure.Closed
		}
	}
	return nil
}
