package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/prometheus/common/version"
)

// Sink takes finished reports. Its error says what to do; the same report may come again.
type Sink func(ctx context.Context, r *Report) error

// Schedule makes a report of each of its clusters once a day and gives it to its sinks. The zero
// value is not usable: Run checks the fields.
type Schedule struct {
	// At is the time of day, in UTC, at which the report of the day before is made. It is later
	// than midnight by what the newest rollups take.
	At time.Duration
	// Clusters returns those of which there are reports on that day.
	Clusters func(ctx context.Context) ([]string, error)
	// Make makes one cluster's report, as Make does.
	Make  func(ctx context.Context, cluster string, from, to time.Time) (*Report, error)
	Sinks []Sink
	// Failed is told of what went wrong; the schedule goes on. nil: nobody is.
	Failed func(cluster string, err error)

	Now func() time.Time // nil: time.Now
	// Sleep waits, and returns false if the context ended before; nil: it waits by itself.
	Sleep func(ctx context.Context, d time.Duration) bool
}

const (
	wholeDay = 24 * time.Hour
	// maxWait is how long is waited at once, so that a clock that is set is noticed.
	maxWait = 10 * time.Minute
)

// Run makes reports until the context ends; then it returns nil. A report that was due while nobody
// ran is not made later: `ringwatch report --day` makes it.
func (s *Schedule) Run(ctx context.Context) error {
	if s.At < 0 || s.At >= wholeDay || s.Make == nil || s.Clusters == nil || len(s.Sinks) == 0 {
		return errors.New(
			"report: a schedule needs a time of day, clusters, and a directory, webhook or topic",
		)
	}
	now, sleep := s.Now, s.Sleep
	if now == nil {
		now = time.Now
	}
	if sleep == nil {
		sleep = wait
	}
	next := s.next(now())
	for {
		for now().Before(next) {
			if !sleep(ctx, min(next.Sub(now()), maxWait)) {
				return nil
			}
		}
		s.day(ctx, next.Truncate(wholeDay))
		if ctx.Err() != nil {
			return nil
		}
		next = s.next(now())
	}
}

// next returns when the first report after an instant is due.
func (s *Schedule) next(now time.Time) time.Time {
	due := now.UTC().Truncate(wholeDay).Add(s.At)
	if !due.After(now) {
		due = due.Add(wholeDay)
	}
	return due
}

// day makes the reports of the day before an instant.
func (s *Schedule) day(ctx context.Context, end time.Time) {
	failed := func(cluster string, err error) {
		if s.Failed != nil && ctx.Err() == nil {
			s.Failed(cluster, err)
		}
	}
	clusters, err := s.Clusters(ctx)
	if err != nil {
		failed("", fmt.Errorf("the clusters cannot be listed: %w", err))
		return
	}
	for _, cluster := range clusters {
		r, err := s.Make(ctx, cluster, end.Add(-wholeDay), end)
		if errors.Is(err, ErrNoNodes) {
			continue
		}
		if err != nil {
			failed(cluster, err)
			continue
		}
		for _, sink := range s.Sinks {
			if err := sink(ctx, r); err != nil {
				failed(cluster, err)
			}
		}
	}
}

func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// unsafeName are characters that no file's name gets from a cluster's.
var unsafeName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// FileName is how a report is called in a directory: prod-2026-11-20.html.
func (r *Report) FileName(extension string) string {
	name := unsafeName.ReplaceAllString(r.Cluster, "_")
	if name == "" || name[0] == '.' {
		name = "_" + name
	}
	return name[:min(len(name), 100)] + "-" + r.From.Format(time.DateOnly) + "." + extension
}

// Directory is a sink that writes text, HTML and JSON into a directory. Each file is there whole
// or not at all.
func Directory(dir string) Sink {
	return func(_ context.Context, r *Report) error {
		for extension, write := range map[string]func(io.Writer) error{
			"txt": r.WriteText, "html": r.WriteHTML, "json": r.WriteJSON,
		} {
			if err := writeFile(filepath.Join(dir, r.FileName(extension)), write); err != nil {
				return fmt.Errorf("the report cannot be written: %w", err)
			}
		}
		return nil
	}
}

func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".report-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // after it is renamed nothing has the name
	err = errors.Join(write(f), f.Chmod(0o644), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// webhookTime bounds one request to a webhook.
const webhookTime = 30 * time.Second

// Webhook is a sink that posts the report's JSON, once. It follows no redirects, since an address
// may have a secret in it.
func Webhook(address string) (Sink, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New(
			"the webhook's address is not a URL: write one such as https://example.org/reports",
		)
	}
	client := &http.Client{
		Timeout: webhookTime,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
	return func(ctx context.Context, r *Report) error {
		var body bytes.Buffer
		if err := r.WriteJSON(&body); err != nil {
			return err
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, &body)
		if err != nil {
			return err
		}
		request.Header.Set("User-Agent", version.ComponentUserAgent("ringwatch"))
		request.Header.Set("Content-Type", "application/json")
		response, err := client.Do(request)
		if err != nil {
			var wrong *url.Error
			if errors.As(err, &wrong) {
				err = wrong.Err // without the address
			}
			return fmt.Errorf("the webhook at %s cannot be reached: %w", u.Host, err)
		}
		defer response.Body.Close()
		if response.StatusCode < 200 || response.StatusCode > 299 {
			return fmt.Errorf(
				"the webhook at %s answered %s: look into its log",
				u.Host,
				response.Status,
			)
		}
		return nil
	}, nil
}
