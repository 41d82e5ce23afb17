// Package console is the fleet in a browser: a page that reads the API with the key of who looks
// at it. The sources are TypeScript in src; dist is what they are built into, and is in the
// repository, so that nobody needs Node to build the server. A test proves that dist is what the
// sources give. Begin with Handler. It imports none of our packages.
//
// What it promises: the page loads nothing from anywhere else, has no code in markup, and may not
// stand in another page's frame. The key is sent to nobody but the API that served the page.
package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
)

//go:embed dist
var dist embed.FS

// policy is the Content-Security-Policy of all files: code and style of this server only, and
// requests to it alone.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// file is a file as it is served.
type file struct {
	plain, packed []byte // packed is gzip
	kind, tag     string
	lasting       bool // its name has a hash of what is in it
}

// Handler serves the page at / and what it needs below /assets/. It is made once, at start: that
// packs all files.
type Handler struct{ files map[string]file }

// New returns the handler. The error says that a file of the build is damaged.
func New() (*Handler, error) {
	h := &Handler{map[string]file{}}
	err := fs.WalkDir(dist, "dist", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		plain, err := dist.ReadFile(name)
		if err != nil {
			return err
		}
		var packed bytes.Buffer
		z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := z.Write(plain); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		sum := sha256.Sum256(plain)
		at := strings.TrimPrefix(name, "dist")
		h.files[at] = file{plain: plain, packed: packed.Bytes(), kind: kindOf(at),
			tag:     `"` + hex.EncodeToString(sum[:8]) + `"`,
			lasting: strings.HasPrefix(at, "/assets/")}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	h.files["/"] = h.files["/index.html"]
	delete(h.files, "/index.html")
	if h.files["/"].plain == nil {
		return nil, fmt.Errorf("console: the build has no index.html: run make console")
	}
	return h, nil
}

// kindOf is the media type of a file.
func kindOf(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".json":
		return "application/json"
	}
	return mime.TypeByExtension(path.Ext(name))
}

// ServeHTTP serves a file, or says 404.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, found := h.files[r.URL.Path]
	if !found {
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	}
	head := w.Header()
	head.Set("Content-Security-Policy", policy)
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Cross-Origin-Opener-Policy", "same-origin")
	head.Set("Vary", "Accept-Encoding")
	head.Set("ETag", f.tag)
	if f.lasting {
		head.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		head.Set("Cache-Control", "no-cache")
	}
	if r.Header.Get("If-None-Match") == f.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	head.Set("Content-Type", f.kind)
	body := f.plain
	if takesGzip(r) {
		head.Set("Content-Encoding", "gzip")
		body = f.packed
	}
	head.Set("Content-Length", fmt.Sprint(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// takesGzip reports whether the client takes gzip.
func takesGzip(r *http.Request) bool {
	for _, part := range strings.Split(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(name, "gzip") && strings.TrimSpace(weight) != "q=0" {
			return true
		}
	}
	return false
}
