package console

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func get(t *testing.T, h http.Handler, path string, header map[string]string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	for name, value := range header {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// TestServed: the page and all that it names are there, plain and packed, under a strict policy.
func TestServed(t *testing.T) {
	h, err := New()
	if err != nil {
		t.Fatal(err)
	}
	page := get(t, h, "/", nil)
	body, err := io.ReadAll(page.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got := page.Header.Get("Content-Type"); got != "text/html; charset=utf-8" {
		t.Errorf("the page is %s", got)
	}
	if regexp.MustCompile(`<script>|<style|style=| on[a-z]+=|https?:`).Match(body) {
		t.Errorf("the page has code of its own, or names another server:\n%s", body)
	}
	named := regexp.MustCompile(`"(/assets/[^"]+)"`).FindAllSubmatch(body, -1)
	if len(named) < 3 { // script, style, icon, and what the script imports
		t.Errorf("the page names %d files", len(named))
	}
	for _, m := range append(named, [][]byte{nil, []byte("/")}) {
		path := string(m[1])
		plain, packed := get(t, h, path, nil), get(t, h, path,
			map[string]string{"Accept-Encoding": "br, gzip"})
		for _, a := range []*http.Response{plain, packed} {
			csp := a.Header.Get("Content-Security-Policy")
			if a.StatusCode != 200 ||
				!strings.HasPrefix(csp, "default-src 'none'; script-src 'self';") ||
				strings.Contains(csp, "unsafe") || a.Header.Get("Content-Type") == "" {
				t.Errorf("%s: %d, %v", path, a.StatusCode, a.Header)
			}
			if lasting := strings.Contains(a.Header.Get("Cache-Control"),
				"immutable"); lasting != (path != "/") {
				t.Errorf("%s: %v", path, a.Header)
			}
		}
		z, err := gzip.NewReader(packed.Body)
		if err != nil {
			t.Fatal(path, err)
		}
		a, errA := io.ReadAll(plain.Body)
		b, errB := io.ReadAll(z)
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs when it is packed: %v, %v", path, errA, errB)
		}
		again := get(t, h, path, map[string]string{"If-None-Match": plain.Header.Get("ETag")})
		if again.StatusCode != http.StatusNotModified {
			t.Errorf("%s is sent again to who has it", path)
		}
	}
	for _, path := range []string{"/assets/", "/assets/none.js", "/assets/../console.go",
		"/index.html"} {
		if a := get(t, h, path, nil); a.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, a.StatusCode)
		}
	}
}

// TestBuilt: dist is what the sources give, and the sources are as the compiler and the linter want
// them.
func TestBuilt(t *testing.T) {
	if !testing.Short() { // make check runs it beside the tests
		npm(t, "run", "check")
	}
	out := filepath.Join(t.TempDir(), "dist")
	npm(t, "run", "build", "--", out)
	sources, dist := files(t, out), files(t, "dist")
	for name, want := range sources {
		if got, found := dist[name]; !found || got != want {
			t.Errorf("dist/%s is not what the sources give: run make console and commit dist", name)
		}
	}
	for name := range dist {
		if _, found := sources[name]; !found {
			t.Errorf("dist/%s comes from no source: run make console and commit dist", name)
		}
	}
	before, err := os.ReadFile("src/openapi.d.ts")
	if err != nil {
		t.Fatal(err)
	}
	types := filepath.Join(t.TempDir(), "openapi.d.ts")
	npm(t, "exec", "--", "openapi-typescript", "../api/openapi.yaml", "-o", types)
	after, err := os.ReadFile(types)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Error("src/openapi.d.ts is not what api/openapi.yaml says: run make console")
	}
}

// TestUnit runs the tests of what needs no browser.
func TestUnit(t *testing.T) { npm(t, "test") }

// npm runs npm in this folder.
func npm(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "npm", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("npm %s: %v (it needs Node 18 or later, and what make console fetches)\n%s",
			strings.Join(args, " "), err, out)
	}
}

func files(t *testing.T, root string) map[string]string {
	t.Helper()
	list := map[string]string{}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		list[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
