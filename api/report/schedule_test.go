package report_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/api/report"
)

// TestSchedule lets three days pass by a clock that moves when somebody waits.
func TestSchedule(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)
	ctx, cancel := context.WithCancel(t.Context())
	var made, failed []string
	s := report.Schedule{
		At: 30 * time.Minute,
		Clusters: func(context.Context) ([]string, error) {
			return []string{"a", "empty", "broken", "../b"}, nil
		},
		Make: func(_ context.Context, c string, from, to time.Time) (*report.Report, error) {
			made = append(made, c+" "+from.Format("01-02 15:04")+" "+to.Format("01-02 15:04"))
			switch c {
			case "empty":
				return nil, report.ErrNoNodes
			case "broken":
				return nil, errors.New("away")
			}
			return &report.Report{Cluster: c, From: from, To: to}, nil
		},
		Sinks:  []report.Sink{report.Directory(dir)},
		Failed: func(c string, err error) { failed = append(failed, c+" "+err.Error()) },
		Now:    func() time.Time { return now },
		Sleep: func(ctx context.Context, d time.Duration) bool {
			if d <= 0 || d > 10*time.Minute {
				t.Errorf("it waits for %s", d)
			}
			if now = now.Add(d); now.Day() == 23 {
				cancel()
			}
			return ctx.Err() == nil
		},
	}
	if err := s.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if len(made) != 8 || made[0] != "a 11-20 00:00 11-21 00:00" ||
		made[4] != "a 11-21 00:00 11-22 00:00" {
		t.Errorf("%q", made)
	}
	if !slices.Equal(failed, []string{"broken away", "broken away"}) {
		t.Errorf("%q", failed)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 12 ||
		!slices.Contains(files, filepath.Join(dir, "a-2026-11-20.html")) ||
		!slices.Contains(files, filepath.Join(dir, "_.._b-2026-11-21.json")) {
		t.Errorf("%q %v", files, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".report-*")); err != nil || len(left) > 0 {
		t.Errorf("%q %v", left, err)
	}
	if text, err := os.ReadFile(files[0]); err != nil || len(text) == 0 {
		t.Error(err)
	}
	if err := (&report.Schedule{}).Run(t.Context()); err == nil {
		t.Error("a schedule of nothing")
	}
}

func TestWebhook(t *testing.T) {
	status := http.StatusNoContent
	var got report.Report
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
	}))
	defer server.Close()
	sink, err := report.Webhook(server.URL + "/secret")
	if err != nil {
		t.Fatal(err)
	}
	if err := sink(t.Context(), &report.Report{Cluster: "a"}); err != nil || got.Cluster != "a" {
		t.Errorf("%v %+v", err, got)
	}
	for _, status = range []int{http.StatusFound, http.StatusInternalServerError} {
		if err := sink(t.Context(), &report.Report{}); err == nil ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%d: %v", status, err)
		}
	}
	server.Close()
	if err := sink(t.Context(), &report.Report{}); err == nil ||
		strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	if _, err := report.Webhook("ftp://x"); err == nil {
		t.Error("an address of another kind")
	}
}
