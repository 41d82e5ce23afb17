package line

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestPost: who sends a frame learns whether it is taken, may be sent again, and when, or is
// refused for good.
func TestPost(t *testing.T) {
	var status int
	ingest := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/frames" || r.Header.Get("Authorization") != "Bearer key" {
			t.Errorf("it is asked for %s by %q", r.URL, r.Header.Get("Authorization"))
		}
		w.Header().Set("Retry-After", "3")
		w.WriteHeader(status)
	}))
	defer ingest.Close()
	for _, c := range []struct {
		status  int
		taken   bool
		after   time.Duration
		refused bool
	}{
		{http.StatusAccepted, true, 0, false},
		{http.StatusTooManyRequests, false, 3 * time.Second, false},
		{http.StatusServiceUnavailable, false, 3 * time.Second, false},
		{http.StatusBadRequest, false, 0, true},
	} {
		status = c.status
		taken, after, err := Post(t.Context(), ingest.Client(), ingest.URL, "key", []byte("frame"))
		if taken != c.taken || after != c.after || errors.Is(err, ErrRefused) != c.refused ||
			err != nil != c.refused {
			t.Errorf("%d: taken %v, again after %s, %v", c.status, taken, after, err)
		}
	}
	ingest.Close()
	_, _, err := Post(t.Context(), http.DefaultClient, ingest.URL, "key", nil)
	if err == nil || errors.Is(err, ErrRefused) {
		t.Errorf("nobody answers, and it is %v", err)
	}
}

// TestFigures: of each name the sum.
func TestFigures(t *testing.T) {
	text := []byte("# HELP a of it\na{b=\"1\"} 1\na{b=\"2\"} 2.5\nc 4\n")
	if got := Figures(text); len(got) != 2 || got["a"] != 3.5 || got["c"] != 4 {
		t.Errorf("they are %v", got)
	}
	if got := Series(text); len(got) != 3 || got[`a{b="2"}`] != 2.5 {
		t.Errorf("the series are %v", got)
	}
}
