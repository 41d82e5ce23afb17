package api

import (
	"bufio"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// answerWriter is the body of a successful answer: buffered, and packed if the client takes gzip.
type answerWriter struct {
	*bufio.Writer
	zip  *gzip.Writer
	join *joiner // of joined
	to   http.ResponseWriter
}

// answer begins a 200.
func answer(w http.ResponseWriter, r *http.Request, contentType string) *answerWriter {
	if !begin(w, r, contentType) {
		return &answerWriter{Writer: bufio.NewWriterSize(w, 32<<10), to: w}
	}
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		panic(err) // constant level
	}
	return &answerWriter{Writer: bufio.NewWriterSize(z, 32<<10), zip: z, to: w}
}

// flush hands what was written to the client now.
func (a *answerWriter) flush() error {
	if err := a.Flush(); err != nil {
		return err
	}
	if a.zip != nil {
		if err := a.zip.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(a.to).Flush()
}

// joined begins a 200 that takes pieces. What is written beside them should be short, it is not
// packed.
func joined(w http.ResponseWriter, r *http.Request, contentType string) *answerWriter {
	j := newJoiner(w, !begin(w, r, contentType))
	return &answerWriter{Writer: bufio.NewWriterSize(j, 4<<10), join: j}
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

// piece writes text and a piece after it.
func (a *answerWriter) piece(text []byte, p *piece) error {
	if _, err := a.Write(text); err != nil {
		return err
	}
	if err := a.Flush(); err != nil {
		return err
	}
	return a.join.add(p)
}

// end writes what is left. Errors are those of a connection that broke: nobody is there to be told.
func (a *answerWriter) end() {
	_ = a.Flush()
	if a.zip != nil {
		_ = a.zip.Close()
	}
	if a.join != nil {
		a.join.end()
	}
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
