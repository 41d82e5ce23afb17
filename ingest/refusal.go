package ingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/frame"
)

// retryAfter is what a sender is told when nothing better is known: a Kafka broker is back within
// seconds, and its agents shall not wait longer than that. Senders add jitter.
const retryAfter = 2 * time.Second

// mostRetryAfter is the longest that a sender is told to wait while frames take long here.
const mostRetryAfter = 30 * time.Second

// refusal is why a frame is not taken: the answer, and the label it is counted by.
type refusal struct {
	status  int
	reason  string
	message string        // one sentence with the remedy
	after   time.Duration // 429 and 503: when to send again
}

func refuse(status int, reason, format string, args ...any) *refusal {
	return &refusal{status: status, reason: reason, message: fmt.Sprintf(format, args...)}
}

// busy is a refusal that does not mind the same frame later.
func busy(status int, reason string, after time.Duration, format string, args ...any) *refusal {
	return &refusal{status: status, reason: reason, after: after,
		message: fmt.Sprintf(format, args...)}
}

// write answers the request.
func (e *refusal) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	switch e.status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="ringwatch"`)
	case http.StatusMethodNotAllowed:
		h.Set("Allow", http.MethodPost)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h.Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(e.after.Seconds())))))
	}
	w.WriteHeader(e.status)
	var body struct {
		Error struct {
			Reason  string `json:"reason"`
			Message string `json:"message"`
		} `json:"error"`
	}
	body.Error.Reason, body.Error.Message = e.reason, e.message
	_ = json.NewEncoder(w).Encode(body) // a sender that is gone needs no answer
}

// refuseKey says why nobody was admitted.
func refuseKey(err error) *refusal {
	var many *account.TooManyError
	switch {
	case errors.As(err, &many):
		return busy(http.StatusTooManyRequests, "too_many_wrong_keys", many.After, "%v", err)
	case errors.Is(err, account.ErrNoKey):
		return refuse(http.StatusUnauthorized, "no_key", "%v", err)
	case errors.Is(err, account.ErrUnknownKey):
		return refuse(http.StatusUnauthorized, "wrong_key", "%v", err)
	case errors.Is(err, account.ErrExpired):
		return refuse(http.StatusUnauthorized, "expired_key", "%v", err)
	case errors.Is(err, account.ErrRevoked):
		return refuse(http.StatusUnauthorized, "revoked_key", "%v", err)
	case errors.Is(err, account.ErrNetwork):
		return refuse(http.StatusForbidden, "network", "%v", err)
	}
	// account.ErrKeysAway: the stored keys could not be read, and the key may be right.
	return busy(http.StatusServiceUnavailable, "key_check", retryAfter,
		"the API key cannot be checked now: send the frame again later")
}

// refuseFrame says what is wrong with a frame's bytes.
func refuseFrame(err error) *refusal {
	switch {
	case errors.Is(err, frame.ErrTruncated):
		return refuse(http.StatusBadRequest, "truncated",
			"%v: send exactly one whole frame per request", err)
	case errors.Is(err, frame.ErrMagic):
		return refuse(http.StatusBadRequest, "magic", "%v: send a frame as FORMAT.md describes it",
			err)
	case errors.Is(err, frame.ErrVersion):
		return refuse(http.StatusBadRequest, "version", "%v: use an agent that writes version %d",
			err, frame.Version)
	case errors.Is(err, frame.ErrChecksum):
		return refuse(http.StatusBadRequest, "checksum",
			"%v, so bytes changed on the way: look for a proxy that rewrites bodies", err)
	case errors.Is(err, frame.ErrTooLarge):
		return refuse(http.StatusRequestEntityTooLarge, "raw_too_large",
			"%v: monitor fewer tables per node or raise ingest's limits", err)
	}
	return refuse(http.StatusBadRequest, "malformed", "%v: the sender does not follow FORMAT.md",
		err)
}

// reasons are all that a frame is refused for. The counter of each is there from the start, as 0:
// PromQL's increase does not see a counter's first value, and would miss a reason's first frame.
var reasons = []string{
	"account_memory", "account_share", "address_share", "bad_header", "broken_body",
	"cancelled", "checksum", "clock_ahead", "clock_skew", "content_encoding", "content_type",
	"expired_key", "foreign_cluster", "frame_memory", "internal", "kafka", "kafka_limit",
	"key_check", "low_memory", "magic", "malformed", "method", "network", "new_nodes",
	"new_series", "no_key", "other_cluster", "other_node", "overloaded", "process", "rate",
	"ratio", "raw_too_large", "recorder", "revoked_key", "scope", "slow_body", "too_large",
	"too_many_buckets", "too_many_nodes", "too_many_series", "too_many_wrong_keys", "too_old",
	"truncated", "unpack_rate", "version", "wrong_key",
}
