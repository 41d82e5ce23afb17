package ingest

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
)

// ratioFrom is how large an unpacked payload must be before max_ratio is asked: smaller ones harm
// nobody.
const ratioFrom = 1 << 20

// perRaw is how much memory a byte of payload takes when it is decoded, as recorded frames show. A
// frame that takes more asks for the rest when that is seen.
const perRaw = 8

// unpacking bounds what each account has unpacked here per second: it is what a frame costs of CPU.
type unpacking struct {
	perSecond float64
	burst     int

	mu       sync.Mutex
	accounts map[string]*rate.Limiter // one per account that has keys
}

// wait counts bytes that an account wants unpacked. It returns 0, or how long the account has to
// wait.
func (u *unpacking) wait(account string, bytes int) time.Duration {
	u.mu.Lock()
	l := u.accounts[account]
	if l == nil {
		if u.accounts == nil {
			u.accounts = map[string]*rate.Limiter{}
		}
		l = rate.NewLimiter(rate.Limit(u.perSecond), u.burst)
		u.accounts[account] = l
	}
	u.mu.Unlock()
	r := l.ReserveN(time.Now(), bytes)
	after := r.Delay()
	if after > 0 {
		r.Cancel()
	}
	return after
}

// checkRatio refuses a payload that is small when packed and large when unpacked, before that
// happens.
func (s *Server) checkRatio(h *frame.Header) *refusal {
	if h.RawLength > ratioFrom && h.RawLength/h.Length > s.config.MaxRatio {
		return refuse(http.StatusRequestEntityTooLarge, "ratio",
			"the frame of %d bytes unpacks to %d, more than %d times as many; real frames unpack "+
				"to three or four times: check the sender, or raise ingest.max_ratio", h.Length,
			h.RawLength, s.config.MaxRatio)
	}
	return nil
}

// mayUnpack counts what the account has unpacked.
func (s *Server) mayUnpack(account string, h *frame.Header) *refusal {
	if after := s.unpacking.wait(account, h.RawLength); after > 0 {
		return busy(http.StatusTooManyRequests, "unpack_rate", after,
			"account %s sends frames that unpack to more than %d bytes a second: send again "+
				"later, run more ingest processes or raise ingest.raw_bytes_per_second", account,
			s.config.RawBytesPerSecond)
	}
	return nil
}

// bounded is a lease of which a frame may take no more than so much.
type bounded struct {
	*memory.Lease
	most int64
}

// errFrameMemory says that a frame would take more than max_frame_memory.
var errFrameMemory = errors.New("ingest: more than max_frame_memory")

// Take implements frame.Allowance.
func (b *bounded) Take(bytes int64) error {
	if b.Taken()+bytes > b.most {
		return errFrameMemory
	}
	return b.Lease.Take(bytes)
}

// checkPayload unpacks the frame and reads it as far as that is possible without its key frame,
// within what the account may take of memory. Then it counts the series that the frame brings.
func (s *Server) checkPayload(ctx context.Context, account string, b []byte,
	h *frame.Header) *refusal {
	n, e := s.unpack(ctx, account, b, h)
	if e != nil || n == nil {
		return e
	}
	return s.checkNames(ctx, account, h.Node, n)
}

// unpack is checkPayload without counting: it returns what a key frame names. It is all CPU, so as
// many frames as there are cores are unpacked at once; nothing here waits for anybody.
func (s *Server) unpack(ctx context.Context, account string, b []byte,
	h *frame.Header) (*named, *refusal) {
	if s.checking.Acquire(ctx, 1) != nil {
		return nil, busy(http.StatusServiceUnavailable, "cancelled", retryAfter,
			"the request was given up")
	}
	defer s.checking.Release(1)
	if !h.IsKey() {
		if frame.IsProcess(h.Node) {
			return nil, refuse(http.StatusUnprocessableEntity, "process",
				"a process of Ringwatch may send key frames only: send the whole state")
		}
		if _, err := frame.Check(b, s.config.MaxRawBytes); err != nil {
			return nil, refuseFrame(err)
		}
		return nil, nil
	}
	most := min(s.config.MaxFrameMemory, s.deps.Memory.Share())
	lease, err := s.deps.Memory.Try(account, min(perRaw*int64(h.RawLength), most))
	if err != nil {
		return nil, s.refuseMemory(account, err, most)
	}
	defer lease.Release()
	f, err := frame.DecodeKnown(&bounded{lease, most}, b, s.known.of(account).dictionaries)
	switch {
	case errors.Is(err, frame.ErrMemory):
		return nil, s.refuseMemory(account, err, most)
	case err != nil:
		return nil, refuseFrame(err)
	}
	if e := checkLabels(f); e != nil {
		return nil, e
	}
	if e := s.checkSize(f); e != nil {
		return nil, e
	}
	return namesOf(f), nil
}

// checkSize refuses a node of more series or buckets than it may have.
func (s *Server) checkSize(f *frame.Frame) *refusal {
	series, buckets := 0, 0
	for _, group := range f.Added {
		metrics := f.Templates[group.Template].Metrics
		series += len(group.Rows) * len(metrics)
		for i := range metrics {
			if metrics[i].Kind.IsHistogram() {
				buckets += len(group.Rows) * (len(f.Bounds[metrics[i].Bounds].Upper) + 1)
			}
		}
	}
	switch {
	case series > s.config.MaxSeries:
		return refuse(http.StatusRequestEntityTooLarge, "too_many_series",
			"the node has %d series, and %d are allowed: monitor fewer tables per node or raise "+
				"ingest.max_series", series, s.config.MaxSeries)
	case buckets > s.config.MaxBuckets:
		return refuse(http.StatusRequestEntityTooLarge, "too_many_buckets",
			"the node's histograms have %d buckets, and %d are allowed: monitor fewer tables per "+
				"node or raise ingest.max_buckets", buckets, s.config.MaxBuckets)
	}
	return nil
}

func (s *Server) refuseMemory(account string, err error, most int64) *refusal {
	if errors.Is(err, memory.ErrBusy) {
		return busy(http.StatusTooManyRequests, "account_memory", retryAfter,
			"frames of account %s take as much memory here as they may: send the frame again "+
				"later, or run more ingest processes", account)
	}
	return refuse(http.StatusRequestEntityTooLarge, "frame_memory",
		"the frame takes more than %d bytes of memory when it is read: monitor fewer tables per "+
			"node, or raise ingest.max_frame_memory and the process's memory", most)
}
