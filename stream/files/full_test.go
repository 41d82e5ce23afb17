package files

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
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
		config := smallSegments(filepath.Join(dir, "stream"))
		config.SegmentBytes = 1 << 20
		f, err := Open(config, quiet)
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
	var mu sync.Mutex
	acknowledged := map[string]bool{}
	n := 0
	publish := func(bytes int) error {
		mu.Lock()
		value := fmt.Sprint(n, strings.Repeat(" ", bytes))
		n++
		mu.Unlock()
		err := producer.Publish(context.Background(), "acme", "c0", []byte(value))
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			acknowledged[value] = true
		} else if !errors.Is(err, stream.ErrPublish) || !stream.Retryable(err) ||
			!errors.Is(err, syscall.ENOSPC) {
			must(fmt.Errorf("on a full disk: %w", err))
		}
		return err
	}
	must(producer.Ready(context.Background()))
	for failed := 0; failed < 30; {
		if publish(10<<10) != nil {
			failed++
		}
	}
	if producer.Ready(context.Background()) == nil {
		must(errors.New("it is said to be ready on a full disk"))
	}
	if text := f.Warning(); !strings.Contains(text, "no space left") {
		must(fmt.Errorf("the warning is %q", text))
	}
	var many sync.WaitGroup
	for range 500 { // most fail as a group, of which some are written whole
		many.Go(func() { _ = publish(500) })
	}
	many.Wait()
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
	must(publish(10)) // over the beginning of what failed
	must(<-entry)
	must(f.Close())
	check := func() {
		all := map[string]bool{}
		f = open()
		p, err := f.Open(stream.Topic{Name: c.Topic})
		must(err)
		ends, err := p.Fence(context.Background(), nil)
		must(err)
		r := stream.Reading{Topic: c.Topic, At: map[int32]int64{0: 0, 1: 0, 2: 0, 3: 0},
			Until: ends}
		must(f.Read(context.Background(), r, func(m *stream.Message) error {
			if value := string(m.Value); !acknowledged[value] || all[value] {
				return fmt.Errorf("%.10q is there twice, or was not acknowledged", value)
			}
			all[string(m.Value)] = true
			return nil
		}))
		if len(all) < len(acknowledged) {
			must(fmt.Errorf("%d of %d acknowledged frames are there", len(all), len(acknowledged)))
		}
	}
	check()
	producer, err = stream.NewProducer(f, c, prometheus.NewRegistry())
	must(err)
	must(publish(10 << 10))
	must(producer.Ready(context.Background()))
	must(f.Close())

	check()
	must(f.Close())
	fmt.Println("ok")
}
