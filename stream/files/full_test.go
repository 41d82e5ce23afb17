package files

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/stream/streamtest"
)

// TestFullDisk runs full in a process with a small disk of its own.
func TestFullDisk(t *testing.T) {
	process := exec.Command(os.Args[0])
	process.Env = append(os.Environ(), childRole+"=full", childDir+"="+t.TempDir())
	process.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	if out, err := process.CombinedOutput(); err != nil || !strings.HasSuffix(string(out), "ok\n") {
		t.Fatalf("a process in a user namespace, which the kernel must allow: %v\n%s", err, out)
	}
}

// full fills a disk: Publish fails in time and is Retryable, a log's entry waits, and both work
// again when there is room. All that was acknowledged is there, once.
func full() {
	dir := os.Getenv(childDir)
	must(syscall.Mount("none", dir, "tmpfs", 0, "size=4m"))
	filler := filepath.Join(dir, "filler")
	must(os.WriteFile(filler, make([]byte, 2<<20), 0o600))
	c := loadConfig()
	open := func() *Files {
		f, err := Open(smallSegments(filepath.Join(dir, "stream")), quiet)
		must(err)
		must(stream.EnsureTopic(context.Background(), f, c))
		return f
	}
	f := open()
	l := streamtest.LogConfig(c)
	l.Topic = "log"
	must(stream.EnsureLog(context.Background(), f, c, l))
	producer, err := stream.NewProducer(f, c, prometheus.NewRegistry())
	must(err)
	log, err := stream.NewLog(f, c, l, prometheus.NewRegistry())
	must(err)
	acknowledged := map[string]bool{}
	n := 0
	publish := func() error {
		value := fmt.Sprint(n, " ", strings.Repeat("x", 10<<10))
		n++
		err := producer.Publish(context.Background(), "acme", "c0", []byte(value))
		if err == nil {
			acknowledged[value] = true
		} else if !errors.Is(err, stream.ErrPublish) || !stream.Retryable(err) ||
			!errors.Is(err, syscall.ENOSPC) {
			must(fmt.Errorf("on a full disk: %w", err))
		}
		return err
	}
	must(producer.Ready(context.Background()))
	for failed := 0; failed < 30; {
		if publish() != nil {
			failed++
		}
	}
	if producer.Ready(context.Background()) == nil {
		must(errors.New("it is said to be ready on a full disk"))
	}
	entry := make(chan error, 1)
	large := streamtest.Entry("c0", "k", strings.Repeat("y", 40<<10))
	go func() { entry <- log.Publish(context.Background(), large) }()
	to, err := f.topic("log")
	must(err)
	for trouble := error(nil); trouble == nil; <-time.After(time.Millisecond) {
		to.mu.Lock()
		trouble = to.trouble
		to.mu.Unlock()
	}
	must(os.Remove(filler))
	must(publish())
	must(<-entry)
	must(publish())
	must(producer.Ready(context.Background()))
	must(f.Close())

	f = open()
	p, err := f.Open(stream.Topic{Name: c.Topic})
	must(err)
	ends, err := p.Fence(context.Background(), nil)
	must(err)
	all := stream.Reading{Topic: c.Topic, At: map[int32]int64{0: 0, 1: 0, 2: 0, 3: 0}, Until: ends}
	must(f.Read(context.Background(), all, func(m *stream.Message) error {
		if !acknowledged[string(m.Value)] {
			return fmt.Errorf("%.10s is there twice, or was not acknowledged", m.Value)
		}
		delete(acknowledged, string(m.Value))
		return nil
	}))
	if len(acknowledged) > 0 {
		must(fmt.Errorf("%d frames were acknowledged and are not there", len(acknowledged)))
	}
	must(f.Close())
	fmt.Println("ok")
}
