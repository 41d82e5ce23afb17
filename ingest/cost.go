package ingest

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
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

// payloads unpacks and reads what frames carry, within what that may cost.
type payloads struct {
	config *Config
	memory *memory.Budget
	// frames being unpacked: it is all CPU, more at once would only take memory
	checking *semaphore.Weighted

	mu       sync.Mutex
	accounts map[string]*rate.Limiter // of bytes a second, one per account that has keys
}

func newPayloads(c *Config, m *memory.Budget) *payloads {
	return &payloads{config: c, memory: m, accounts: map[string]*rate.Limiter{},
		checking: semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0)))}
}

// checkRatio refuses a payload that is small when packed and large when unpacked, before that
// happens.
func (p *payloads) checkRatio(h *frame.Header) *refusal {
	if h.RawLength > ratioFrom && h.RawLength/h.Length > p.config.MaxRatio {
		return refuse(http.StatusRequestEntityTooLarge, "ratio",
			"the frame of %d bytes unpacks to %d, more than %d times as many; real frames unpack "+
				"to three or four times: check the sender, or raise ingest.max_ratio", h.Length,
			h.RawLength, p.config.MaxRatio)
	}
	return nil
}

// mayUnpack counts the bytes a second that an account has unpacked here: they are what a frame
// costs of CPU.
func (p *payloads) mayUnpack(account string, bytes int) *refusal {
	perSecond := p.config.RawBytesPerSecond
	p.mu.Lock()
	l := p.accounts[account]
	if l == nil {
		l = rate.NewLimiter(rate.Limit(perSecond), int(perSecond))
		p.accounts[account] = l
	}
	p.mu.Unlock()
	r := l.ReserveN(time.Now(), bytes)
	after := r.Delay()
	if after <= 0 {
		return nil
	}
	r.Cancel()
	return busy(http.StatusTooManyRequests, "unpack_rate", after,
		"account %s sends frames that unpack to more than %d bytes a second: send again later, "+
			"run more ingest processes or raise ingest.raw_bytes_per_second", account, perSecond)
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

// unpack reads the frame as far as that is possible without its key frame, and returns what a key
// frame names. It is all CPU, so as many frames as there are cores are unpacked at once; nothing
// here waits for anybody.
func (p *payloads) unpack(ctx context.Context, account string, b []byte, h *frame.Header,
	known *frame.Dictionaries) (*named, *refusal) {
	if p.checking.Acquire(ctx, 1) != nil {
		return nil, busy(http.StatusServiceUnavailable, "cancelled", retryAfter,
			"the request was given up")
	}
	defer p.checking.Release(1)
	if !h.IsKey() {
		if frame.IsProcess(h.Node) {
			return nil, refuse(http.StatusUnprocessableEntity, "process",
				"a process of Ringwatch may send key frames only: send the whole state")
		}
		if _, err := frame.Check(b, p.config.MaxRawBytes); err != nil {
			return nil, refuseFrame(err)
		}
		return nil, nil
	}
	most := min(p.config.MaxFrameMemory, p.memory.Share())
	lease, err := p.memory.Try(account, min(perRaw*int64(h.RawLength), most))
	if err != nil {
		return nil, refuseMemory(account, err, most)
	}
	defer lease.Release()
	f, err := frame.DecodeKnown(&bounded{lease, most}, b, known)
	switch {
	case errors.Is(err, frame.ErrMemory):
		return nil, refuseMemory(account, err, most)
	case err != nil:
		return nil, refuseFrame(err)
	}
	if e := checkLabels(f); e != nil {
		return nil, e
	}
	if e := p.checkSize(f); e != nil {
		return nil, e
	}
	return namesOf(f), nil
}

// checkSize refuses a node of more series or buckets than it may have.
func (p *payloads) checkSize(f *frame.Frame) *refusal {
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
	case series > p.config.MaxSeries:
		return refuse(http.StatusRequestEntityTooLarge, "too_many_series",
			"the node has %d series, and %d are allowed: monitor fewer tables per node or raise "+
				"ingest.max_series", series, p.config.MaxSeries)
	case buckets > p.config.MaxBuckets:
		return refuse(http.StatusRequestEntityTooLarge, "too_many_buckets",
			"the node's histograms have %d buckets, and %d are allowed: monitor fewer tables per "+
				"node or raise ingest.max_buckets", buckets, p.config.MaxBuckets)
	}
	return nil
}

func refuseMemory(account string, err error, most int64) *refusal {
	if errors.Is(err, memory.ErrBusy) {
		return busy(http.StatusTooManyRequests, "account_memory", retryAfter,
			"frames of account %s take as much memory here as they may: send the frame again "+
				"later, or run more ingest processes", account)
	}
	return refuse(http.StatusRequestEntityTooLarge, "frame_memory",
		"the frame takes more than %d bytes of memory when it is read: monitor fewer tables per "+
			"node, or raise ingest.max_frame_memory and the process's memory", most)
}
