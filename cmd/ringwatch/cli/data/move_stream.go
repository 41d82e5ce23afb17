package data

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/datadir"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/topic"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/stream/files"
	"github.com/ringwatch/ringwatch/stream/kafka"
)

// streamMove copies the topics of a directory to Kafka, and the groups' offsets: a group that
// begins at the first message would write an hour of frames again, and mark their windows late.
type streamMove struct {
	*wire.Process
	dir string // of the stream
	to  *kafka.Kafka
}

// topicsOf returns the topics of frames with their groups, and the logs.
func (m *streamMove) topicsOf() (frames map[string][]string, logs []stream.LogConfig) {
	logs = []stream.LogConfig{topic.StatesLog(m.Config.Kafka.Partitions), topic.FilesLog(),
		topic.PulseLog(), topic.RosterLog()}
	if c := m.Config.Notify.Topic; c.Topic != "" {
		c.Partitions = m.Config.Kafka.Partitions
		logs = append(logs, c)
	}
	return map[string][]string{
		m.Config.Kafka.Topic: {topic.StoreGroup, topic.RecentGroup, topic.RulesGroup},
		topic.Recorded:       {topic.AccountsGroup},
	}, logs
}

// check looks whether Kafka can take the directory's frames: the topics have as many partitions
// and, unless they have something of the directory, no messages. It changes nothing.
func (m *streamMove) check(ctx context.Context, begun bool) error {
	here, err := files.Partitions(m.dir, m.Config.Kafka.Topic)
	if err != nil {
		return err
	}
	switch {
	case here == 0:
		return exit.Usage(
			fmt.Errorf("%s has no topic %s: set kafka.topic to the one that its process has", m.dir,
				m.Config.Kafka.Topic))
	case here != int(m.Config.Kafka.Partitions):
		return exit.Usage(
			fmt.Errorf(
				"kafka.partitions is %d, and %s has %d in %s: set it to that, since what is "+
					"known by partition moves, too",
				m.Config.Kafka.Partitions,
				m.Config.Kafka.Topic,
				here,
				m.dir,
			))
	}
	frames, _ := m.topicsOf()
	for topic := range frames {
		there, empty, err := m.to.About(ctx, topic)
		switch {
		case err != nil:
			return err
		case there != 0 && there != here:
			return exit.Usage(
				fmt.Errorf(
					"Kafka's topic %s has %d partitions, and %d are in %s: delete it, or name "+
						"another Kafka",
					topic,
					there,
					here,
					m.dir,
				))
		case !empty && !begun:
			return exit.Usage(
				fmt.Errorf(
					"Kafka's topic %s has messages: delete it, or name another Kafka",
					topic,
				))
		}
	}
	return nil
}

// recentMore is how much more than redis.keep of the frames is copied: the role recent reads from
// the beginning of a window, and clocks differ.
const recentMore = 15 * time.Minute

// prepare makes the topics in Kafka.
func (m *streamMove) prepare(ctx context.Context) error { return m.ensure(ctx, m.to) }

func (m *streamMove) ensure(ctx context.Context, e stream.Engine) error {
	frames, logs := m.topicsOf()
	for topic := range frames {
		if err := stream.EnsureTopic(ctx, e, m.framesOf(topic)); err != nil {
			return err
		}
	}
	for _, l := range logs {
		if err := stream.EnsureLog(ctx, e, m.Config.Kafka.FramesConfig, l); err != nil {
			return err
		}
	}
	return nil
}

func (m *streamMove) framesOf(topic string) stream.Config {
	c := m.Config.Kafka.FramesConfig
	c.Topic = topic
	return c
}

// copy copies what is needed still, and returns how many messages those were. No process has the
// directory.
func (m *streamMove) copy(ctx context.Context) (sum int, err error) {
	from, err := files.Open(files.Config{Dir: m.dir}, m.Log)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if err := m.ensure(ctx, from); err != nil {
		return 0, err
	}
	frames, logs := m.topicsOf()
	since := time.Now().Add(-m.Config.Redis.Keep - recentMore)
	for topic, groups := range frames {
		n, err := stream.CopyFrames(ctx, from, m.to, m.framesOf(topic), since, groups...)
		if sum += n; err != nil {
			return sum, err
		}
	}
	for _, l := range logs {
		n, err := stream.CopyLog(ctx, from, m.to, m.Config.Kafka.FramesConfig, l)
		if sum += n; err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// planStreamMove returns what copies the topics of a directory; nil if it has none.
func planStreamMove(p *wire.Process) (*streamMove, error) {
	dir := filepath.Join(p.Config.Data.Dir, "stream")
	if !datadir.Exists(dir) {
		return nil, nil
	}
	to, err := kafka.New(p.Config.Kafka.Config, p.Log)
	return &streamMove{p, dir, to}, err
}

// moveFailed says what follows from an error on the way.
func moveFailed(err error, follows string) error {
	said := fmt.Errorf("%w; %s", err, follows)
	for _, theirs := range []error{store.ErrOccupied, store.ErrAccount, store.ErrLayout} {
		if errors.Is(err, theirs) {
			return exit.Usage(said)
		}
	}
	if errors.As(err, new(exit.UsageError)) {
		return exit.Usage(said)
	}
	return said
}
