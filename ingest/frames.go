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

// take brings one frame from the request into Kafka. The cheapest checks come first: no body is
// read of a sender that may not write, and none is unpacked whose header is wrong.
func (s *Server) take(w http.ResponseWriter, r *http.Request) *refusal {
	ctx := r.Context()
	who, e := s.admit(w, r)
	if e != nil {
		return e
	}
	held, e := s.begin(w, r, who)
	if e != nil {
		return e
	}
	defer held.end()
	if e := s.checkRate(ctx, who.Account); e != nil {
		return e
	}
	b, e := readBody(w, r, &s.config, held)
	if e != nil {
		return e
	}
	h, e := s.header(b)
	if e != nil {
		return e
	}
	if e := s.checkClock(r, who.Account, h); e != nil {
		return e
	}
	if e := s.payloads.checkRatio(h); e != nil {
		return e
	}
	if e := s.checkBinding(ctx, who, h); e != nil {
		return e
	}
	if e := s.known.checkNode(ctx, who.Account, h.Node); e != nil {
		return e
	}
	if e := s.checkPayload(ctx, who.Account, b, h, held); e != nil {
		return e
	}
	if e := s.publish(ctx, who.Account, h.Cluster, b); e != nil {
		return e
	}
	s.note(h, b)
	s.claim(ctx, who, h, r.RemoteAddr)
	return nil
}

// admit returns who sends, if they may and the request has the form of one with a frame.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) (who account.Principal,
	e *refusal) {
	if r.Method != http.MethodPost {
		return who, refuse(http.StatusMethodNotAllowed, "method",
			"frames are sent with POST, not %s", r.Method)
	}
	who, err := s.deps.Admit(r)
	if err != nil {
		return who, refuseKey(err)
	}
	listener.Admitted(r.Context(), who.Account, who.Key())
	if !who.Can(account.Write) {
		return who, refuse(http.StatusForbidden, "scope",
			"key %s may not write: use a key with the scope write", who.KeyName)
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil ||
		kind != frame.ContentType && kind != "application/octet-stream" {
		return who, refuse(http.StatusUnsupportedMediaType, "content_type",
			"Content-Type is %q: send %s", r.Header.Get("Content-Type"), frame.ContentType)
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return who, refuse(http.StatusUnsupportedMediaType, "content_encoding",
			"Content-Encoding is %q: send the frame without it, since frames are compressed inside",
			coding)
	}
	return who, nil
}

// begin takes what a request needs of memory before its body comes.
func (s *Server) begin(w http.ResponseWriter, r *http.Request,
	who account.Principal) (*claim, *refusal) {
	if s.deps.Near != nil && s.deps.Near() {
		w.Header().Set("Connection", "close")
		return nil, busy(http.StatusServiceUnavailable, "low_memory", retryAfter,
			"ingest is near its memory limit: send the frame again later, run more ingest "+
				"processes or give them more memory")
	}
	held, e := s.shares.begin(who.Account, account.Visitor(r.RemoteAddr))
	if e != nil && (r.ContentLength < 0 || r.ContentLength > drained) {
		w.Header().Set("Connection", "close") // its body is not waited for
	}
	return held, e
}

// checkRate counts a frame of an account.
func (s *Server) checkRate(ctx context.Context, account string) *refusal {
	if s.deps.Limit == nil {
		return nil
	}
	if after := s.deps.Limit(ctx, account); after > 0 {
		return busy(http.StatusTooManyRequests, "rate", after,
			"account %s sends more than %g frames a second: send again later, or ask the "+
				"operator to raise ingest.frames_per_second", account, s.config.FramesPerSecond)
	}
	return nil
}

// header reads the header of a frame that is whole, and not too large.
func (s *Server) header(b []byte) (*frame.Header, *refusal) {
	if _, err := frame.Length(b); errors.Is(err, frame.ErrTooLarge) {
		return nil, refuse(http.StatusRequestEntityTooLarge, "too_large",
			"%v: send smaller frames", err)
	}
	h, _, err := frame.Parse(b)
	if err != nil {
		return nil, refuseFrame(err)
	}
	if h.RawLength > s.config.MaxRawBytes {
		return nil, refuse(http.StatusRequestEntityTooLarge, "raw_too_large",
			"the frame unpacks to %d bytes, and %d are allowed: monitor fewer tables per node or "+
				"raise ingest.max_raw_bytes", h.RawLength, s.config.MaxRawBytes)
	}
	return &h, nil
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

// checkBinding refuses frames of clusters and nodes that a key is not for. So a key that was stolen
// from one node cannot send for another.
func (s *Server) checkBinding(ctx context.Context, who account.Principal,
	h *frame.Header) *refusal {
	if frame.IsRecorder(h.Node) && !frame.IsProcess(h.Node) || h.Cluster == frame.EveryCluster {
		return refuse(http.StatusForbidden, "recorder",
			"node %s of cluster %q is reserved for recorded series: an agent may not send as it",
			h.Node, h.Cluster)
	}
	if others := who.OtherCluster(h.Cluster); others != "" {
		return refuse(http.StatusForbidden, "other_cluster",
			"key %s is bound to the clusters %s and the frame is of %q: use a key that was made "+
				"for that cluster", who.Key(), others, h.Cluster)
	}
	if !who.Owns(h.Cluster) {
		return refuse(http.StatusForbidden, "foreign_cluster",
			"account %s does not own cluster %q: use a key of the account that does, or add the "+
				"cluster to this one", who.Account, h.Cluster)
	}
	err := s.deps.Bound(ctx, who, h.Node)
	var other *account.OtherNodeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &other):
		return refuse(http.StatusForbidden, "other_node", "%v; the frame is of node %s",
			err, h.Node)
	}
	return busy(http.StatusServiceUnavailable, "key_check", retryAfter,
		"the node that the API key is bound to cannot be checked now: send the frame again later")
}

// checkPayload unpacks the frame and reads it as far as that is possible without its key frame,
// within what the account may take of memory. Then it counts the series that the frame brings.
func (s *Server) checkPayload(ctx context.Context, account string, b []byte, h *frame.Header,
	held *claim) *refusal {
	if e := s.payloads.mayUnpack(account, h.RawLength); e != nil {
		return e
	}
	if e := held.take(int64(h.RawLength)); e != nil {
		return e
	}
	defer held.give(int64(h.RawLength))
	n, e := s.payloads.unpack(ctx, account, b, h, s.known.of(account).dictionaries)
	if e != nil || n == nil {
		return e
	}
	return s.known.checkNames(ctx, account, h.Node, n)
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

// note counts what was forwarded.
func (s *Server) note(h *frame.Header, b []byte) {
	if frame.IsProcess(h.Node) {
		s.metrics.own.Inc()
	}
	if list, err := frame.Events(b); err == nil { // it was checked
		s.metrics.events.Add(float64(len(list)))
	}
}

// claim tells who sends a node's frames just now, and says in log and metrics if others do, too. It
// is an extra: what fails is told with a later frame.
func (s *Server) claim(ctx context.Context, who account.Principal, h *frame.Header, remote string) {
	now := s.now()
	if s.deps.Claim == nil ||
		now.Sub(h.Time()) > min(claimFresh, time.Duration(h.Interval)*time.Millisecond) {
		return
	}
	sender := who.Key() + "/" + strconv.FormatUint(h.Started, 10)
	if !s.senders.due(accountNode{who.Account, h.Node}, sender, now) {
		return
	}
	call, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	several, err := s.deps.Claim(call, who.Account, h.Node, sender)
	if err != nil || !several {
		return
	}
	s.metrics.claimed.Inc()
	s.deps.Log.Warn(
		"several senders send frames of one node: find out which of them is the node, and "+
			"revoke the other's key", "request", listener.ID(ctx),
		"account", who.Account, "cluster", h.Cluster, "node", h.Node, "key", who.Key(),
		"remote", remote, "started", time.UnixMilli(int64(h.Started)).UTC())
}
