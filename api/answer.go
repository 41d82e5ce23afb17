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
	zip *gzip.Writer
	to  http.ResponseWriter
}

// answer begins a 200.
func answer(w http.ResponseWriter, r *http.Request, contentType string) *answerWriter {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	h.Add("Vary", "Accept, Accept-Encoding, Authorization")
	if r.Method == http.MethodHead || !takesGzip(r) {
		return &answerWriter{Writer: bufio.NewWriterSize(w, 32<<10), to: w}
	}
	h.Set("Content-Encoding", "gzip")
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

// end writes what is left. Errors are those of a connection that broke: nobody is there to be told.
func (a *answerWriter) end() {
	_ = a.Flush()
	if a.zip != nil {
		_ = a.zip.Close()
	}
}

func takesGzip(r *http.Request) bool {
	for _, part := range strings.Split(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		coding, parameters, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			q := strings.TrimSpace(parameters)
			return strings.Trim(strings.TrimPrefix(q, "q="), "0.") != "" || !strings.HasPrefix(q, "q=")
		}
	}
	return false
}
