package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/clock"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/stream"
)

// TestRetentionIsOneKey: without engines data.retention says how long everything is kept, and the
// engines' own keys are refused.
func TestRetentionIsOneKey(t *testing.T) {
	day := 24 * time.Hour
	standard := store.DefaultConfig()
	for text, want := range map[string][5]time.Duration{ // raw, 5 minutes, hours, days, frames
		"":                         {14 * day, 60 * day, 365 * day, 1825 * day, day},
		"data: {retention: 2h}":    {2 * time.Hour, 60 * day, 365 * day, 1825 * day, 2 * time.Hour},
		"data: {retention: 90d}":   {90 * day, 91 * day, 365 * day, 1825 * day, day},
		"data: {retention: 3650d}": {3650 * day, 3651 * day, 3651 * day, 3651 * day, day},
		"data: {retention: 1d}\ncassandra: {hosts: [a], raw_ttl: 3d}\nkafka: {brokers: " +
			"[\"a:1\"], retention: 50h}": {
			3 * day, 60 * day, 365 * day, 1825 * day, 50 * time.Hour},
	} {
		c, _, err := settings.Parse("it", []byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		c.KeepIn("elsewhere") // as --data does
		s := &c.Cassandra
		if is := [5]time.Duration{s.RawTTL, s.FiveMinutesTTL, s.HourTTL, s.DayTTL,
			c.Kafka.Retention}; is != want {
			t.Errorf("%q: %v, want %v", text, is, want)
		}
	}
	if standard.RawTTL != settings.DefaultData().Retention {
		t.Error("a directory keeps samples for another time than Cassandra")
	}
	for text, want := range map[string]string{
		"cassandra: {raw_ttl: 3d}": "cassandra.raw_ttl has no use without " +
			"cassandra.hosts: set data.retention",
		"cassandra: {day_ttl: 3000d}": "cassandra.day_ttl has no use without " +
			"cassandra.hosts: set data.retention",
		"kafka: {retention: 2d}": "kafka.retention has no use without kafka.brokers: " +
			"set data.retention",
		"data: {retention: 30m}":    "data: retention is 30m0s: use 1h to 3650d",
		"data: {retention: 4000d}":  "use 1h to 3650d",
		"data: {max_bytes: 100MiB}": "use at least 268435456",
		"data: {stream_max_bytes: 16GiB}": "data.stream_max_bytes: unknown key: it is gone: " +
			"data.max_bytes bounds frames and rows",
		"data: {retention: 30m, dir: \"\"}": "data: dir is empty",
	} {
		if _, _, err := settings.Parse("it", []byte(text)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		} else if strings.Contains(err.Error(), "raw_ttl") && !strings.Contains(text, "raw_ttl") {
			t.Errorf("%q: it is said twice: %v", text, err)
		}
	}
}

// TestMaxBytesBoundsAll: data.max_bytes bounds rows and stream together. Of the stream a quarter
// stays, and rows have the rest.
func TestMaxBytesBoundsAll(t *testing.T) {
	const most = 8 << 20
	p, err :=
		wire.PrepareOnData((&settings.DataFlags{RoleFlags: settings.RoleFlags{Config: configFile(t,
			"accounts: [{name: alone}]\n")},
			Data: filepath.Join(t.TempDir(), "data")}), "all")
	if err != nil {
		t.Fatal(err)
	}
	p.Config.Data.MaxBytes, p.Config.Cassandra.MaxBytes = most, most
	p.Config.Cassandra.DirMemory, p.Config.Cassandra.FreshTTL = 256<<10, 10*24*time.Hour
	var ahead atomic.Int64
	clock.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	t.Cleanup(func() { clock.Now = time.Now })
	topics, err := p.Topics.Ensure(t.Context(), p.Config.Kafka.FramesConfig)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		p.EndRows()
		if err := p.Topics.Close(); err != nil {
			t.Error(err)
		}
	}()
	db, err := p.OpenStore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	producer, err := stream.NewProducer(topics, p.Config.Kafka.FramesConfig, p.Metrics)
	if err != nil {
		t.Fatal(err)
	}
	writer, node := store.NewWriter(db), frametest.New("prod", 1, 300)
	at, sent := time.Now().Add(-time.Hour).UnixMilli(), 0
	for ; sent < 12<<20; at += 5000 {
		// so that they do not expire at the same time
		ahead.Store(int64(sent>>20) * int64(10*time.Hour))
		node.Step()
		b := node.Frame(at)
		sent += len(b)
		if err := errors.Join(producer.Publish(t.Context(), "alone", "prod", b),
			writer.WriteFrame(t.Context(), "alone", b)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the directory is small", func(ctx context.Context) error {
		size, frames := int64(0), p.Config.Cassandra.Besides()
		err := filepath.WalkDir(p.Config.Data.Dir, func(path string, d fs.DirEntry,
			err error) error {
			if info, failed := os.Stat(path); failed == nil && err == nil && !d.IsDir() {
				size += info.Size()
			}
			return nil // a file may go meanwhile
		})
		said := p.Warning(db)(ctx)
		if err == nil && !(size <= most && frames <= most/4 && size > most*3/4 &&
			strings.Contains(said, "the oldest frames go before their time") &&
			strings.Contains(said, "the oldest rows go before their time")) {
			err = fmt.Errorf("%d bytes, %d in the stream, and said is: %s", size, frames, said)
		}
		return err
	})
}
