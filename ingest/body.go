package ingest

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

// errShare says that a body has outgrown a share; the claim's refusal says which.
var errShare = errors.New("ingest: a share is used up")

// readBody takes the body. Its announced length can only get it refused: bytes are claimed as they
// arrive. After Config.BodyGrace they must arrive at Config.BodyBytesPerSecond.
func readBody(w http.ResponseWriter, r *http.Request, c *Config, held *claim) ([]byte, *refusal) {
	tooLarge := func() *refusal {
		return refuse(http.StatusRequestEntityTooLarge, "too_large",
			"the body exceeds %d bytes: monitor fewer tables per node or raise "+
				"ingest.max_frame_bytes", c.MaxFrameBytes)
	}
	if r.ContentLength > c.MaxFrameBytes {
		return nil, tooLarge()
	}
	in := &body{
		Reader:     http.MaxBytesReader(w, r.Body, c.MaxFrameBytes),
		connection: http.NewResponseController(w), config: c, began: time.Now(),
	}
	b, refused, err := readAll(in, r.ContentLength, held)
	var over *http.MaxBytesError
	switch {
	case err == nil:
		// The server goes on reading, to see the sender leave; a deadline left there would look
		// like that while Kafka is slow.
		_ = in.connection.SetReadDeadline(time.Time{}) // the same call succeeded before
		return b, nil
	case errors.Is(err, errShare):
		w.Header().Set("Connection", "close") // what is still to come is not waited for
		return nil, refused
	case errors.As(err, &over):
		return nil, tooLarge()
	case errors.Is(err, errDeadline):
		return nil, refuse(http.StatusInternalServerError, "internal",
			"the connection does not support deadlines: please report this as a bug")
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		// Not 408: a 4xx would tell the sender to throw the frame away, and nothing is wrong with
		// it.
		return nil, busy(http.StatusServiceUnavailable, "slow_body", retryAfter,
			"the body did not arrive within %s, or after %s at less than %d bytes a second: send "+
				"it again over a faster connection",
			c.BodyTimeout, c.BodyGrace, c.BodyBytesPerSecond)
	}
	return nil, refuse(http.StatusBadRequest, "broken_body",
		"the body is shorter than announced, or wrongly chunked: send it again")
}

// errDeadline says that a connection takes no deadline.
var errDeadline = errors.New("ingest: the connection takes no deadline")

// body reads a request's body and ends with os.ErrDeadlineExceeded when it comes too slowly.
type body struct {
	io.Reader
	connection *http.ResponseController
	config     *Config
	began      time.Time
	received   int64
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if err := b.connection.SetReadDeadline(b.due()); err != nil {
		return 0, errDeadline
	}
	n, err := b.Reader.Read(p)
	b.received += int64(n)
	return n, err
}

// due returns by when the next byte must be here.
func (b *body) due() time.Time {
	paced := b.config.BodyGrace +
		time.Duration(float64(b.received)/float64(b.config.BodyBytesPerSecond)*float64(time.Second))
	return b.began.Add(min(b.config.BodyTimeout, paced))
}

// readStep is the memory that a body begins with. It grows to the double at most at a time.
const readStep = minReserved

// readAll reads to the end. Its memory grows with what has arrived, and it claims what it grows by;
// what minReserved covers is claimed already.
func readAll(in io.Reader, announced int64, held *claim) ([]byte, *refusal, error) {
	most := int64(1 << 62)
	if announced >= 0 {
		most = announced + 1 // one more than announced, so that the end is seen without growing
	}
	b := make([]byte, 0, min(max(most, 512), readStep))
	for {
		n, err := in.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil, nil
		}
		if err != nil {
			return nil, nil, err
		}
		if len(b) < cap(b) {
			continue
		}
		grown := max(min(2*int64(cap(b)), most), int64(cap(b))+512)
		if refused := held.take(grown - int64(cap(b))); refused != nil {
			return nil, refused, errShare
		}
		b = append(make([]byte, 0, grown), b...)
	}
}
