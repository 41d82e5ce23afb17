package promapi

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"slices"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/query/expression"
)

// What a remote read may ask for and is given at once.
const (
	maxReadQueries = 32
	maxReadFrame   = 1 << 20  // bytes of a frame of chunks, about
	maxReadBytes   = 64 << 20 // bytes of an answer that is not streamed
)

// read answers a Prometheus's remote read: in frames of chunks, which it can take while they
// come, or in one message of samples, if it takes nothing else.
func (a *API) read(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	asked, err := a.readRequest(r)
	if err != nil {
		return err
	}
	q, ctx, end, err := a.Engine.Queryable(r.Context(), p, 0)
	if err != nil {
		return asError(r.Context(), err)
	}
	defer end()
	ask := func(question *prompb.Query, sorted bool) (storage.SeriesSet, error) {
		matchers, err := a.matchers(r, question)
		if err != nil {
			return nil, err
		}
		hints := &storage.SelectHints{Start: question.StartTimestampMs,
			End: question.EndTimestampMs}
		querier, err := q.Querier(hints.Start, hints.End)
		if err != nil {
			return nil, err
		}
		return querier.Select(ctx, sorted, hints, matchers...), nil
	}
	if slices.Contains(asked.AcceptedResponseTypes, prompb.ReadRequest_STREAMED_XOR_CHUNKS) {
		return readChunks(w, r, asked, ask)
	}
	return readSamples(w, r, asked, ask)
}

// readRequest reads a request, whose size is known before it is unpacked.
func (a *API) readRequest(r *http.Request) (*prompb.ReadRequest, error) {
	packed, err := io.ReadAll(r.Body)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, &listener.Error{Status: http.StatusRequestEntityTooLarge, Reason: "bad_data",
			Message: fmt.Sprintf("the body has more than %d bytes: send less", large.Limit)}
	case err != nil:
		return nil, bad("the body cannot be read: %v", err)
	}
	size, err := snappy.DecodedLen(packed)
	if err != nil {
		return nil, bad("the body is not packed with snappy")
	}
	if int64(size) > a.MaxRequestBytes {
		return nil, &listener.Error{Status: http.StatusRequestEntityTooLarge, Reason: "bad_data",
			Message: fmt.Sprintf("the body unpacks to %d bytes, and %d are allowed", size,
				a.MaxRequestBytes)}
	}
	message, err := snappy.Decode(nil, packed)
	if err != nil {
		return nil, bad("the body is not packed with snappy")
	}
	var asked prompb.ReadRequest
	if err := asked.Unmarshal(message); err != nil {
		return nil, bad("the body is not a remote read request")
	}
	if len(asked.Queries) > maxReadQueries {
		return nil, bad("the request has %d queries, and %d are allowed: ask for fewer at a time",
			len(asked.Queries), maxReadQueries)
	}
	return &asked, nil
}

// matchers reads a query's matchers through the same bounds as those of text.
func (a *API) matchers(r *http.Request, question *prompb.Query) ([]*labels.Matcher, error) {
	kinds := map[prompb.LabelMatcher_Type]labels.MatchType{
		prompb.LabelMatcher_EQ: labels.MatchEqual, prompb.LabelMatcher_NEQ: labels.MatchNotEqual,
		prompb.LabelMatcher_RE: labels.MatchRegexp, prompb.LabelMatcher_NRE: labels.MatchNotRegexp,
	}
	var list []*labels.Matcher
	request := a.Engine.Expressions.Selectors(r.Context())
	for _, m := range question.Matchers {
		kind, known := kinds[m.Type]
		if !known {
			return nil, bad("a matcher has the unknown type %d", m.Type)
		}
		if kind == labels.MatchRegexp || kind == labels.MatchNotRegexp {
			if err := request.Regexp(m.Value); err != nil {
				return nil, bad("%v", err)
			}
		}
		matcher, err := labels.NewMatcher(kind, m.Name, m.Value)
		if err != nil {
			return nil, bad("a matcher of %s: %v", m.Name, err)
		}
		list = append(list, matcher)
	}
	if !slices.ContainsFunc(list, expression.MatchesSomething) {
		return nil, bad("the matchers match everything: name at least one label")
	}
	return list, nil
}

type asker func(question *prompb.Query, sorted bool) (storage.SeriesSet, error)

// readSamples answers with one message.
func readSamples(
	w http.ResponseWriter, r *http.Request, asked *prompb.ReadRequest, ask asker,
) error {
	out := &prompb.ReadResponse{}
	size := 0
	for _, q := range asked.Queries {
		found, err := ask(q, false)
		if err != nil {
			return err
		}
		result := &prompb.QueryResult{}
		var it chunkenc.Iterator
		for found.Next() {
			one := found.At()
			s := &prompb.TimeSeries{Labels: prompb.FromLabels(one.Labels(), nil)}
			it = one.Iterator(it)
			for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
				if kind == chunkenc.ValFloat {
					t, v := it.At()
					s.Samples = append(s.Samples, prompb.Sample{Timestamp: t, Value: v})
					size += 24
				} else {
					t, h := it.AtFloatHistogram(nil)
					histogram := prompb.FromFloatHistogram(t, h)
					s.Histograms = append(s.Histograms, histogram)
					size += 200 + 16*len(h.PositiveBuckets) + 8*len(h.CustomValues)
				}
				if size > maxReadBytes {
					return &listener.Error{Status: http.StatusUnprocessableEntity,
						Reason: "execution",
						Message: fmt.Sprintf("the answer has more than the %d bytes that one "+
							"message may have: accept chunks, or ask for less", maxReadBytes)}
				}
			}
			result.Timeseries = append(result.Timeseries, s)
		}
		if err := found.Err(); err != nil {
			return asError(r.Context(), err)
		}
		out.Results = append(out.Results, result)
	}
	message, err := out.Marshal()
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.Header().Set("Content-Encoding", "snappy")
	_, _ = w.Write(snappy.Encode(nil, message)) // a client that went away misses nothing
	return nil
}

// readChunks answers in frames: the size as a varint, a CRC-32C, big-endian, and a message of one
// series' chunks (storage/remote of Prometheus defines it). A series' samples are packed as
// Prometheus packs its own.
func readChunks(
	w http.ResponseWriter, r *http.Request, asked *prompb.ReadRequest, ask asker,
) error {
	begun := false
	for i, q := range asked.Queries {
		found, err := ask(q, true)
		if err == nil && !found.Next() {
			if err = found.Err(); err == nil {
				continue
			}
		}
		if err != nil {
			if begun {
				panic(http.ErrAbortHandler) // a torn answer is an error to who reads it
			}
			return asError(r.Context(), err)
		}
		if !begun {
			w.Header().Set("Content-Type",
				"application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse")
			begun = true
		}
		for more := true; more; more = found.Next() {
			if writeChunks(w, int64(i), found.At()) != nil {
				return nil // the client went away
			}
		}
		if found.Err() != nil {
			panic(http.ErrAbortHandler)
		}
	}
	if !begun {
		w.Header().Set("Content-Type",
			"application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse")
		w.WriteHeader(http.StatusOK)
	}
	return nil
}

func writeChunks(w io.Writer, number int64, series storage.Series) error {
	packed := storage.NewSeriesToChunkEncoder(series)
	it := packed.Iterator(nil)
	l := prompb.FromLabels(series.Labels(), nil)
	var list []prompb.Chunk
	size := 0
	for more := it.Next(); more; {
		c := it.At()
		list = append(list, prompb.Chunk{MinTimeMs: c.MinTime, MaxTimeMs: c.MaxTime,
			Type: prompb.Chunk_Encoding(c.Chunk.Encoding()), Data: c.Chunk.Bytes()})
		size += len(c.Chunk.Bytes())
		if more = it.Next(); more && size < maxReadFrame {
			continue
		}
		message,
			err := (&prompb.ChunkedReadResponse{ChunkedSeries: []*prompb.ChunkedSeries{{Labels: l,
			Chunks: list}}, QueryIndex: number}).Marshal()
		if err != nil {
			return err
		}
		head := binary.AppendUvarint(nil, uint64(len(message)))
		head = binary.BigEndian.AppendUint32(head,
			crc32.Checksum(message, crc32.MakeTable(crc32.Castagnoli)))
		if _, err := w.Write(head); err != nil {
			return err
		}
		if _, err := w.Write(message); err != nil {
			return err
		}
		list, size = list[:0], 0
	}
	return it.Err()
}
