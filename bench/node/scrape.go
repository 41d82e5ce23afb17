package node

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Scraped is one scrape as Prometheus makes it: gzip accepted, read to the end.
type Scraped struct {
	Took    time.Duration
	Wire    int // bytes of the body as sent
	Samples int
	Text    []byte
}

// scraper waits long: the JMX exporter takes three quarters of a minute for all metrics of a
// thousand tables.
var scraper = http.Client{Timeout: 10 * time.Minute,
	Transport: &http.Transport{DisableCompression: true}}

// Scrape asks url once.
func Scrape(ctx context.Context, url string) (s Scraped, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return s, err
	}
	req.Header.Set("Accept-Encoding", "gzip")
	began := time.Now()
	resp, err := scraper.Do(req)
	if err != nil {
		return s, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	s.Took, s.Wire, s.Text = time.Since(began), len(b), b
	if err != nil {
		return s, err
	}
	if resp.StatusCode != http.StatusOK {
		return s, fmt.Errorf("%s answered %s", url, resp.Status)
	}
	if resp.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return s, err
		}
		if s.Text, err = io.ReadAll(z); err != nil {
			return s, err
		}
	}
	for line := range bytes.Lines(s.Text) {
		if len(line) > 1 && line[0] != '#' {
			s.Samples++
		}
	}
	return s, nil
}

// Sample returns the value of a series without labels, -1 if it is not there.
func (s Scraped) Sample(name string) float64 {
	for line := range bytes.Lines(s.Text) {
		if rest, ok := strings.CutPrefix(string(line), name+" "); ok {
			if v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64); err == nil {
				return v
			}
		}
	}
	return -1
}

var threadOf = regexp.MustCompile(`(?m)^"([^"]+)".* cpu=([\d.]+)ms .* allocated=(\d+)([BKMG])`)

// Thread is what a thread of the JVM has taken since it began.
type Thread struct {
	CPU       time.Duration
	Allocated float64 // bytes, with three digits at least
}

// Threads asks the JVM what the live threads whose names begin with name have taken, by name.
func Threads(ctx context.Context, pid int, name string) (map[string]Thread, error) {
	out, err := exec.CommandContext(ctx, "jcmd", strconv.Itoa(pid), "Thread.print", "-e").Output()
	if err != nil {
		return nil, fmt.Errorf("jcmd: %w; it is part of the JDK", err)
	}
	threads := map[string]Thread{}
	for _, found := range threadOf.FindAllSubmatch(out, -1) {
		if !strings.HasPrefix(string(found[1]), name) {
			continue
		}
		ms, _ := strconv.ParseFloat(string(found[2]), 64)
		n, _ := strconv.ParseFloat(string(found[3]), 64)
		one := threads[string(found[1])]
		one.CPU += time.Duration(ms * float64(time.Millisecond))
		one.Allocated += n * map[string]float64{"B": 1, "K": 1 << 10, "M": 1 << 20,
			"G": 1 << 30}[string(found[4])]
		threads[string(found[1])] = one
	}
	return threads, nil
}

var histogramTotal = regexp.MustCompile(`(?m)^Total\s+\d+\s+(\d+)`)

// Live returns how many MB live in a JVM's heap: it makes it collect its garbage first.
func Live(ctx context.Context, pid int) (mb float64, err error) {
	out, err := exec.CommandContext(ctx, "jcmd", strconv.Itoa(pid), "GC.class_histogram").Output()
	if err != nil {
		return 0, fmt.Errorf("jcmd: %w; it is part of the JDK", err)
	}
	found := histogramTotal.FindSubmatch(out)
	if found == nil {
		return 0, fmt.Errorf("jcmd GC.class_histogram ended without a total: %.200s", out)
	}
	total, err := strconv.ParseFloat(string(found[1]), 64)
	return total / (1 << 20), err
}
