// Package reply writes successful answers: their headers, JSON, and texts that are packed if the
// client takes gzip. Begin with JSON and New. It imports none of our packages.
//
// What it promises: an answer is begun when it is sure to succeed, and what it lacks is counted in
// PartialHeader. What bites: errors of a connection that broke stay inside, for nobody is there to
// be told.
package reply

import (
	"bufio"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// Writer is the body of a successful answer: buffered, and packed if the client takes gzip.
type Writer struct {
	buffer *bufio.Writer
	zip    *gzip.Writer
	join   *joiner // of NewJoined
	client http.ResponseWriter
}

// New begins a 200.
func New(w http.ResponseWriter, r *http.Request, contentType string) *Writer {
	if !begin(w, r, contentType) {
		return &Writer{buffer: bufio.NewWriterSize(w, 32<<10), client: w}
	}
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		panic(err) // constant level
	}
	return &Writer{buffer: bufio.NewWriterSize(z, 32<<10), zip: z, client: w}
}

// NewJoined begins a 200 that takes deflated texts. What is written beside them should be short, it
// is not packed.
func NewJoined(w http.ResponseWriter, r *http.Request, contentType string) *Writer {
	j := newJoiner(w, !begin(w, r, contentType))
	return &Writer{buffer: bufio.NewWriterSize(j, 4<<10), join: j, client: w}
}

// Write implements io.Writer. The error says that the client went away.
func (a *Writer) Write(text []byte) (int, error) { return a.buffer.Write(text) }

// WriteString writes a text as Write does.
func (a *Writer) WriteString(text string) { _, _ = a.buffer.WriteString(text) }

// Flush hands what was written to the client now. The error says that it went away.
func (a *Writer) Flush() error {
	if err := a.buffer.Flush(); err != nil {
		return err
	}
	if a.zip != nil {
		if err := a.zip.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(a.client).Flush()
}

// Join writes a text, and a deflated one after it. The answer was begun by NewJoined. The error
// says that the client went away.
func (a *Writer) Join(text []byte, d *Deflated) error {
	if _, err := a.Write(text); err != nil {
		return err
	}
	if err := a.buffer.Flush(); err != nil {
		return err
	}
	return a.join.add(d)
}

// End writes what has not been written yet.
func (a *Writer) End() {
	_ = a.buffer.Flush()
	if a.zip != nil {
		_ = a.zip.Close()
	}
	if a.join != nil {
		a.join.end()
	}
}

// begin sets a 200's headers and reports whether it is to be gzip.
func begin(w http.ResponseWriter, r *http.Request, contentType string) bool {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	h.Add("Vary", "Accept, Accept-Encoding, Authorization, Cookie")
	if r.Method == http.MethodHead || !takesGzip(r) {
		return false
	}
	h.Set("Content-Encoding", "gzip")
	return true
}

func takesGzip(r *http.Request) bool {
	for _, part := range strings.Split(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		coding, parameters, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			q := strings.TrimSpace(parameters)
			return strings.Trim(strings.TrimPrefix(q, "q="), "0.") != "" ||
				!strings.HasPrefix(q, "q=")
		}
	}
	return false
}
