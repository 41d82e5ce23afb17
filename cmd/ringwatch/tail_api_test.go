package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/tail"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/frame/frametest"
)

// lockedBuffer is written by one goroutine and read by another.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.String()
}

// TestTailWithoutKafka: where no Kafka is configured tail follows the API.
func TestTailWithoutKafka(t *testing.T) {
	tail.TailEvery = time.Millisecond
	t.Cleanup(func() { tail.TailEvery = time.Second })
	d := newDirectory(t)
	d.begin(t)
	key := d.key(t, "me", account.Operator)
	fleet := promFleet{cluster: "prod", key: key, load: map[int64][]float64{},
		nodes: []*frametest.Node{frametest.New("prod", 7, 1)}}
	tail := tail.TailCmd{RoleFlags: settings.RoleFlags{Config: d.config},
		Flags: client.Flags{API: d.api, Key: key}, Match: []string{"node_load1"}}
	since := tail
	since.Since = "10m"
	if err := since.RunTo(t.Context(), io.Discard); !errors.As(err, new(exit.UsageError)) ||
		!strings.Contains(err.Error(), "--since needs Kafka") {
		t.Errorf("with --since: %v", err)
	}
	store := storeCmd{RoleFlags: settings.RoleFlags{Config: d.config}, From: "10m"}
	if err := store.Run(t.Context()); !errors.As(err, new(exit.UsageError)) ||
		!strings.Contains(err.Error(), "--from reads Kafka again") {
		t.Errorf("store --from: %v", err)
	}
	var out lockedBuffer
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- tail.RunTo(ctx, &out) }()
	last := int64(0)
	eventually(t, "a node's line", func(context.Context) error {
		if at := time.Now().UnixMilli() / 1000 * 1000; at > last {
			last = at
			fleet.send(t, d.ingest, at)
		}
		if text := out.text(); !strings.Contains(text, "AT ") ||
			!strings.Contains(text, "node_load1") {
			return errors.New("it prints " + text)
		}
		return nil
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
