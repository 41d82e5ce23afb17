package ingest

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/frame"
)

// retryAfter is what a sender is told when nothing better is known: a Kafka broker is back within
// seconds, and its agents shall not wait longer than that. Senders add jitter.
const retryAfter = 2 * time.Second

// mostRetryAfter is the longest that a sender is told to wait while frames take long here.
const mostRetryAfter = 30 * time.Second

// drained is how long a refused body may be that Go's server still reads, so that the connection
// stays open for the next frame. Otherwise a fleet that has to wait would connect again and again.
const drained = 256 << 10

// frames answers one request: accepted, then forwarded or dropped.
func (s *Server) frames(w http.ResponseWriter, r *http.Request) {
	s.metrics.accepted.Inc()
	s.metrics.pending.Inc()
	defer s.metrics.pending.Dec()
	began := s.now()
	refused := s.take(w, r)
	w.Header().Set(ClockHeader, strconv.FormatInt(s.now().UnixMilli(), 10))
	if refused != nil {
		s.metrics.dropped.WithLabelValues(refused.reason).Inc()
		s.deps.Log.Debug("refused a frame", "request", listener.ID(r.Context()),
			"remote", r.RemoteAddr, "status", refused.status, "reason", refused.reason,
			"message", refused.message)
		refused.write(w)
		return
	}
	s.metrics.forwarded.Inc()
	s.metrics.seconds.Observe(s.now().Sub(began).Seconds())
	// 720 answers an hour and node, without a body, of which the clock alone is looked at
	if h := w.Header(); r.Header.Get(listener.RequestID) == "" {
		h.Del(listener.RequestID)
		h.Del("X-Content-Type-Options")
	}
	w.WriteHeader(http.StatusNoContent)
}

// wait counts a frame of an account and returns 0, or how long the account has to wait for the
// next.
func (s *Server) wait(ctx context.Context, account string) time.Duration {
	if s.deps.Limit == nil {
		return 0
	}
	return s.deps.Limit(ctx, account)
}

// take brings one frame from the request into Kafka. The cheapest checks come first: no body is
// read of a sender that may not write, and none is unpacked whose header is wrong.
func (s *Server) take(w http.ResponseWriter, r *http.Request) *refusal {
	if r.Method != http.MethodPost {
		return refuse(http.StatusMethodNotAllowed, "method", "frames are sent with POST, not %s",
			r.Method)
	}
	who, err := s.deps.Admit(r)
	if err != nil {
		return refuseKey(err)
	}
	listener.Admitted(r.Context(), who.Account, who.Key())
	if !who.Can(account.Write) {
		return refuse(http.StatusForbidden, "scope",
			"key %s may not write: use a key with the scope write", who.KeyName)
	}
	if e := checkHeaders(r); e != nil {
		return e
	}
	if s.deps.Near != nil && s.deps.Near() {
		w.Header().Set("Connection", "close")
		return busy(http.StatusServiceUnavailable, "low_memory", retryAfter,
			"ingest is near its memory limit: send the frame again later, run more ingest "+
				"processes or give them more memory")
	}
	held, e := s.shares.begin(who.Account, account.Visitor(r.RemoteAddr))
	if e != nil {
		if r.ContentLength < 0 || r.ContentLength > drained { // its body is not waited for
			w.Header().Set("Connection", "close")
		}
		return e
	}
	defer held.end()
	if after := s.wait(r.Context(), who.Account); after > 0 {
		return busy(http.StatusTooManyRequests, "rate", after,
			"account %s sends more than %g frames a second: send again later, or ask the "+
				"operator to raise ingest.frames_per_second", who.Account, s.config.FramesPerSecond)
	}
	b, e := s.read(w, r, held)
	if e != nil {
		return e
	}
	if _, err := frame.Length(b); errors.Is(err, frame.ErrTooLarge) {
		return refuse(http.StatusRequestEntityTooLarge, "too_large", "%v: send smaller frames", err)
	}
	h, _, err := frame.Parse(b)
	if err != nil {
		return refuseFrame(err)
	}
	if h.RawLength > s.config.MaxRawBytes {
		return refuse(http.StatusRequestEntityTooLarge, "raw_too_large",
			"the frame unpacks to %d bytes, and %d are allowed: monitor fewer tables per node or "+
				"raise ingest.max_raw_bytes", h.RawLength, s.config.MaxRawBytes)
	}
	if e := s.checkClock(r, who.Account, &h); e != nil {
		return e
	}
	if e := s.checkRatio(&h); e != nil {
		return e
	}
	if e := s.checkBinding(r.Context(), who, &h); e != nil {
		return e
	}
	if e := s.checkNode(r.Context(), who.Account, &h); e != nil {
		return e
	}
	if e := s.mayUnpack(who.Account, &h); e != nil {
		return e
	}
	if e := held.take(int64(h.RawLength)); e != nil {
		return e
	}
	e = s.checkPayload(r.Context(), who.Account, b, &h)
	held.give(int64(h.RawLength))
	if e != nil {
		return e
	}
	if e := s.publish(r.Context(), who.Account, h.Cluster, b); e != nil {
		return e
	}
	if frame.IsProcess(h.Node) {
		s.metrics.own.Inc()
	}
	if list, err := frame.Events(b); err == nil { // it was checked
		s.metrics.events.Add(float64(len(list)))
	}
	s.claim(r.Context(), who, &h, r.RemoteAddr)
	return nil
}

func checkHeaders(r *http.Request) *refusal {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil ||
		kind != frame.ContentType && kind != "application/octet-stream" {
		return refuse(http.StatusUnsupportedMediaType, "content_type",
			"Content-Type is %q: send %s", r.Header.Get("Content-Type"), frame.ContentType)
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return refuse(http.StatusUnsupportedMediaType, "content_encoding",
			"Content-Encoding is %q: send the frame without it, since frames are compressed inside",
			coding)
	}
	return nil
}

// checkClock compares clocks. A frame may be old because it waited in a spool; only the sender's
// clock at the time of sending tells that from a clock that is behind.
func (s *Server) checkClock(r *http.Request, account string, h *frame.Header) *refusal {
	now := s.now()
	if header := r.Header.Get(SentHeader); header != "" {
		ms, err := strconv.ParseInt(header, 10, 64)
		if err != nil {
			return refuse(http.StatusBadRequest, "bad_header",
				"%s is %q: send the sender's clock in ms since the Unix epoch", SentHeader, header)
		}
		if skew := time.UnixMilli(ms).Sub(now); skew.Abs() > s.config.MaxSkew {
			s.wrongClock(r.Context(), account, r.RemoteAddr, h, skew)
			return refuse(http.StatusBadRequest, "clock_skew",
				"the sender's clock differs from ours by %s: set its clock, by NTP for example",
				skew.Round(time.Second))
		}
	}
	if ahead := h.Time().Sub(now); ahead > s.config.MaxSkew {
		s.wrongClock(r.Context(), account, r.RemoteAddr, h, ahead)
		return refuse(http.StatusBadRequest, "clock_ahead",
			"the frame is from %s in the future: set the node's clock, by NTP for example",
			ahead.Round(time.Second))
	} else if -ahead > s.config.MaxAge {
		return refuse(http.StatusBadRequest, "too_old",
			"the frame is %s old and raw data is kept for %s: set the node's clock if it is "+
				"wrong, or drop the frame", (-ahead).Round(time.Second), s.config.MaxAge)
	}
	return nil
}

func (s *Server) publish(ctx context.Context, account, cluster string, b []byte) *refusal {
	err := s.deps.Publish(ctx, account, cluster, b)
	switch {
	case err == nil:
		s.metrics.bytes.Add(float64(len(b)))
		return nil
	case ctx.Err() != nil:
		return busy(http.StatusServiceUnavailable, "cancelled", retryAfter,
			"the request was given up")
	case s.deps.Retryable(err):
		s.deps.Log.Warn("a frame could not be forwarded; its sender will send it again",
			"request", listener.ID(ctx), "account", account, "cluster", cluster, "error", err)
		return busy(http.StatusServiceUnavailable, "kafka", retryAfter,
			"frames cannot be kept now: send the frame again later")
	}
	s.deps.Log.Error("Kafka refuses a frame and will not take it later",
		"request", listener.ID(ctx), "account", account, "cluster", cluster, "bytes", len(b),
		"error", err)
	return refuse(http.StatusRequestEntityTooLarge, "kafka_limit",
		"Kafka refuses a frame of %d bytes: raise the topic's max.message.bytes or lower "+
			"ingest.max_frame_bytes", len(b))
}
