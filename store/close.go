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
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// bucketMillis is how much time a partition of v3_raw holds.
const bucketMillis = 6 * 60 * 60_000

// bucketOf returns the partition of v3_raw that a window of a node is in. All that reads or writes v3_raw asks here and, for ranges, bucketsIn.
func bucketOf(window int64) int64 { return window - mod(window, bucketMillis) }

// bucketsIn returns the partitions that windows from … to are in, ascending.
func bucketsIn(from, to int64) []int64 {
	var list []int64
	for b := bucketOf(from); b <= to; b += bucketMillis {
		list = append(list, b)
	}
	return list
}

const dayMillis = 24 * 60 * 60_000

// dayOf returns the day whose dictionaries a window's columns refer to.
func dayOf(window int64) int64 { return window - mod(window, dayMillis) }

func mod(a, b int64) int64 { return ((a % b) + b) % b }

// batchBytes bounds the batches that columns are written in; a longer column goes alone.
const batchBytes = 40 << 10

// batchesInFlight is how many batches of one window are written at once. All go to one partition's replicas, so more would only queue there.
const batchesInFlight = 4

// CloseWindow turns a window's frames into columns. It reads them from Cassandra, because a process that restarted has not seen all of them. Instants that
// are in raw already and whose frames have expired are kept. It may be repeated at any time and run in two processes at once: the window is then
// what the later reading of its frames gives.
func (s *Store) CloseWindow(ctx context.Context, account string, node uuid.UUID, start int64) error {
	began := time.Now()
	// Rows carry the time of this reading, so that a process that read earlier, and perhaps less, never overwrites one that read later, however slow it is.
	stamp := s.config.Now().UnixMicro()
	result, err := s.closeWindow(ctx, account, node, start, stamp)
	if err == nil {
		s.metrics.Closed.WithLabelValues(result).Inc()
		s.metrics.CloseSeconds.Observe(time.Since(began).Seconds())
	}
	return err
}

func (s *Store) closeWindow(ctx context.Context, account string, node uuid.UUID, start, stamp int64) (string, error) {
	frames, err := s.freshFrames(ctx, account, node, start)
	if err != nil {
		return "", fmt.Errorf("store: read frames of window %d: %w", start, err)
	}
	if len(frames) == 0 {
		return "empty", nil
	}
	w, rep, err := window.Build(window.Node{Account: account, ID: node}, frames)
	s.metrics.LostFrames.WithLabelValues("corrupt").Add(float64(rep.Corrupt))
	s.metrics.LostFrames.WithLabelValues("missing_key").Add(float64(rep.MissingKey))
	s.metrics.LostFrames.WithLabelValues("excess").Add(float64(rep.Excess))
	if err != nil || len(w.Times) == 0 {
		s.log.Warn("store: a window has no frame that can be read", "node", node, "window", start, "frames", len(frames), "error", err)
		return "empty", nil
	}
	result := "written"
	var damage []error
	metas, err := s.metas(ctx, account, node, bucketOf(start), start, start, &damage)
	if err != nil {
		return "", fmt.Errorf("store: read meta of window %d: %w", start, err)
	}
	for _, err := range damage {
		s.metrics.Damaged.Inc()
		if errors.Is(err, window.ErrVersion) { // a newer program has closed it, with these frames or more
			s.log.Warn("store: left a window to the newer program that closed it", "node", node, "error", err)
			return "unchanged", nil
		}
	}
	if before := metas[start]; before != nil {
		if within(w.Times, before.Times) {
			return "unchanged", nil // frames it was made of, read again: all of them or, when the others have expired, some
		}
		if !within(before.Times, w.Times) {
			old, _, err := s.readWindow(ctx, account, node, before)
			if err != nil {
				return "", fmt.Errorf("store: read columns of window %d: %w", start, err)
			}
			w = window.Merge(w, old)
			result = "merged"
		}
	}
	return result, s.writeWindow(ctx, account, node, w, rep, stamp)
}

// readWindow reads all columns of a closed window.
func (s *Store) readWindow(ctx context.Context, account string, node uuid.UUID, meta *window.Meta) (*window.Window, []error, error) {
	var columns []window.StoredColumn
	for i := range meta.Types {
		key := meta.Types[i].Key
		err := s.columns(ctx, account, node, bucketOf(meta.Start), columnQuery{key: key, from: meta.Start, to: meta.Start}, func(_ string, _ int64, b []byte) {
			columns = append(columns, window.StoredColumn{Key: key, Blob: b})
		})
		if err != nil {
			return nil, nil, err
		}
	}
	find := s.finder(ctx, account, node, dayOf(meta.Start))
	w, damage := window.FromColumns(account, meta, find.find, columns)
	s.metrics.Damaged.Add(float64(len(damage)))
	return w, damage, find.err
}

// writeWindow writes dictionaries, then columns, then meta: who sees meta finds the rest.
func (s *Store) writeWindow(ctx context.Context, account string, node uuid.UUID, w *window.Window, rep window.Report, stamp int64) error {
	enc := w.Columns(rep)
	for _, d := range enc.Dictionaries {
		if err := s.writeDictionary(ctx, account, node, dayOf(w.Start), d); err != nil {
			return fmt.Errorf("store: write dictionary: %w", err)
		}
	}
	session, err := s.cql()
	if err != nil {
		return err
	}
	insert := "INSERT INTO " + s.table(rawTable) + " (account, node, bucket, entity_type, metric, window, blob) VALUES (?, ?, ?, ?, ?, ?, ?)"
	bucket := bucketOf(w.Start)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(batchesInFlight)
	write := func(columns []window.EncodedColumn) {
		g.Go(func() error {
			batch := session.Batch(gocql.UnloggedBatch).WithTimestamp(stamp)
			for _, c := range columns {
				batch.Query(insert, account, gocql.UUID(node), bucket, c.Key, c.Metric, w.Start, c.Blob)
			}
			err := batch.ExecContext(gctx)
			s.note(err)
			return err
		})
	}
	slices.SortFunc(enc.Columns, func(a, b window.EncodedColumn) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Metric, b.Metric))
	})
	size, from := 0, 0
	for i, c := range enc.Columns {
		if i > from && size+len(c.Blob) > batchBytes {
			write(enc.Columns[from:i])
			size, from = 0, i
		}
		size += len(c.Blob)
		s.metrics.ColumnBytes.Add(float64(len(c.Blob)))
	}
	if from < len(enc.Columns) {
		write(enc.Columns[from:])
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("store: write columns of window %d: %w", w.Start, err)
	}
	s.metrics.Columns.Add(float64(len(enc.Columns)))
	if err := s.exec(ctx, insert+" USING TIMESTAMP ?", account, gocql.UUID(node), bucket, "", "", w.Start, enc.Meta, stamp); err != nil {
		return fmt.Errorf("store: write meta of window %d: %w", w.Start, err)
	}
	return nil
}

func (s *Store) writeDictionary(ctx context.Context, account string, node uuid.UUID, day int64, d window.EncodedDictionary) error {
	k := writtenKey{dictionaryKey{account, node, d.Hash}, day, d.Key}
	if _, known := s.written.get(k); known {
		return nil
	}
	err := s.exec(ctx, "INSERT INTO "+s.table(seriesTable)+" (account, node, day, entity_type, hash, blob) VALUES (?, ?, ?, ?, ?, ?)",
		account, gocql.UUID(node), day, d.Key, d.Hash[:], d.Blob)
	if err == nil {
		s.written.put(k, struct{}{}, 1)
	}
	return err
}

// within reports whether all of a are in b; both ascend.
func within(a, b []int64) bool {
	return !slices.ContainsFunc(a, func(at int64) bool { _, found := slices.BinarySearch(b, at); return !found })
}

// windowsIn returns the windows that hold the instants from … to.
func windowsIn(from, to int64) []int64 {
	var list []int64
	for w := frame.WindowOf(from); w <= to; w += frame.WindowMillis {
		list = append(list, w)
	}
	return list
}
