package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/rollup"
	"github.com/ringwatch/ringwatch/window"
)

// rollupBatchBytes bounds the batches that rollups are written in. All rows of a rollup are in one partition, so that a batch is one mutation: a node of 2,000
// series is written whole or not at all. Cassandra's batch size limits are for batches of several partitions.
const rollupBatchBytes = 512 << 10

// writeFiveMinutes writes the rollup of a window that is about to be written. It comes before the window's own meta row: who finds that finds the rollup, and after a
// crash in between the window is closed again. stamp is when the window's frames were read.
func (s *Store) writeFiveMinutes(ctx context.Context, account string, node uuid.UUID, w *window.Window, stamp int64) error {
	if w.Start < s.millis()-s.config.RawTTL.Milliseconds() {
		return nil // what else there was of this window has expired, and its rollup knows more
	}
	began := time.Now()
	r, err := rollup.FromWindowWithin(memory.Of(ctx), w)
	if err != nil {
		return fmt.Errorf("store: compute rollup of window %d: %w", w.Start, err)
	}
	s.metrics.RollupSeconds.WithLabelValues(r.Name).Observe(time.Since(began).Seconds())
	if err := s.writeRollup(ctx, account, node, r, stamp); err != nil {
		return fmt.Errorf("store: write rollup of window %d: %w", w.Start, err)
	}
	return nil
}

// repairFiveMinutes writes the rollup of a window unless one of as many instants is there: the window was found closed with just these frames, perhaps by an
// older program, or some of what was stored of it cannot be read any more.
func (s *Store) repairFiveMinutes(ctx context.Context, account string, node uuid.UUID, w *window.Window, stamp int64) error {
	metas, _, err := s.rollupMetas(ctx, account, node, rollup.FiveMinutes, w.Start, w.Start)
	if err != nil {
		return fmt.Errorf("store: read rollup of window %d: %w", w.Start, err)
	}
	if m := metas[w.Start]; m != nil && m.Instants >= len(w.Times) {
		return nil
	}
	return s.writeFiveMinutes(ctx, account, node, w, stamp)
}

// RollUp computes a rollup of an hour or a day from the finer ones that are stored, and writes it unless one of the same is there. It may be repeated at
// any time and run in two processes at once: the rollup is then what the later reading gives.
func (s *Store) RollUp(ctx context.Context, account string, node uuid.UUID, level rollup.Level, start int64) error {
	finer, ok := level.Finer()
	if !ok {
		return fmt.Errorf("store: rollups of %s are made by CloseWindow", level.Name)
	}
	now := s.config.Now()
	if start < now.Add(-s.config.rollupTable(finer).ttl).UnixMilli() {
		return nil // its parts have begun to expire
	}
	result, err := s.rollUp(ctx, account, node, level, start, now.UnixMicro())
	if err != nil {
		return fmt.Errorf("store: roll up %s from %d of node %s: %w", level.Name, start, node, err)
	}
	s.metrics.Rollups.WithLabelValues(level.Name, result).Inc()
	return nil
}

func (s *Store) rollUp(ctx context.Context, account string, node uuid.UUID, level rollup.Level, start, stamp int64) (string, error) {
	finer, _ := level.Finer()
	last := start + level.Millis - finer.Millis
	metas, damage, err := s.rollupMetas(ctx, account, node, finer, start, last)
	if err != nil {
		return "", err
	}
	there, more, err := s.rollupMetas(ctx, account, node, level, start, start)
	if err != nil {
		return "", err
	}
	for _, err := range append(damage, more...) {
		s.metrics.Damaged.Inc()
		if errors.Is(err, rollup.ErrVersion) {
			s.log.Warn("store: left a rollup to the newer program that wrote it", "node", node, "level", level.Name, "start", start, "error", err)
			return "unchanged", nil
		}
	}
	keep := func(damage []error) bool { // what is written was made when all could be read
		if len(damage) == 0 || there[start] == nil {
			return false
		}
		s.log.Warn("store: left a rollup as it is, because what it is made of cannot be read any more", "node", node, "level", level.Name, "start", start, "error", errors.Join(damage...))
		return true
	}
	if keep(damage) {
		return "damaged", nil
	}
	var parts []rollup.Part
	for _, m := range metas {
		if m != nil {
			parts = append(parts, rollup.Part{Start: m.Start, Instants: m.Instants})
		}
	}
	slices.SortFunc(parts, func(a, b rollup.Part) int { return cmp.Compare(a.Start, b.Start) })
	if len(parts) == 0 {
		return "empty", nil
	}
	if m := there[start]; m != nil && slices.Equal(m.Parts, parts) {
		return "unchanged", nil
	}
	found, damage, err := s.rollups(ctx, account, node, finer, start, last, nil)
	if err != nil {
		return "", err
	}
	s.metrics.Damaged.Add(float64(len(damage)))
	if keep(damage) {
		return "damaged", nil
	}
	list := make([]*rollup.Rollup, 0, len(found))
	for _, r := range found {
		list = append(list, r)
	}
	began := time.Now()
	r := rollup.Merge(level, start, list)
	s.metrics.RollupSeconds.WithLabelValues(level.Name).Observe(time.Since(began).Seconds())
	return "written", s.writeRollup(ctx, account, node, r, stamp)
}

// writeRollup writes dictionaries, then columns, meta last: who sees meta finds the rest.
func (s *Store) writeRollup(ctx context.Context, account string, node uuid.UUID, r *rollup.Rollup, stamp int64) error {
	t := s.config.rollupTable(r.Level)
	if expired(r.Start+r.Millis, stamp, t.ttl) {
		return nil
	}
	bucket, enc := t.bucketOf(r.Start), r.Encode()
	insert := "INSERT INTO " + s.table(t.name) + " (account, node, bucket, entity_type, metric, start, blob) VALUES (?, ?, ?, ?, ?, ?, ?)"
	if err := s.fill(ctx, s.rollupShelf(&t, account, node, bucket), enc.Dictionaries, nil); err != nil {
		return err
	}
	session, err := s.cql()
	if err != nil {
		return err
	}
	left := timeLeft(r.Start+r.Millis, stamp, t.ttl)
	rows := append(enc.Columns, window.EncodedColumn{Blob: enc.Meta})
	for len(rows) > 0 {
		batch := session.Batch(gocql.UnloggedBatch).WithTimestamp(stamp)
		n, size := 0, 0
		for n < len(rows) && (n == 0 || size+len(rows[n].Blob) <= rollupBatchBytes) {
			c := &rows[n]
			batch.Query(insert+" USING TTL ?", account, gocql.UUID(node), bucket, c.Key, c.Metric, r.Start, c.Blob, left)
			size += len(c.Blob)
			n++
		}
		if err := s.run(ctx, t.name, batch.ExecContext); err != nil {
			return err
		}
		s.metrics.RollupBytes.WithLabelValues(r.Name).Add(float64(size))
		rows = rows[n:]
	}
	return nil
}
