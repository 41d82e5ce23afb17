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

var threadOf = regexp.MustCompile(`(?m)^"([^"]+)".* allocated=(\d+)([BKMG])`)

// Allocated asks the JVM how many bytes the live threads whose names begin with name have allocated
// since they began, with three digits at least.
func Allocated(ctx context.Context, pid int, name string) (sum float64, err error) {
	out, err := exec.CommandContext(ctx, "jcmd", strconv.Itoa(pid), "Thread.print", "-e").Output()
	if err != nil {
		return 0, fmt.Errorf("jcmd: %w; it is part of the JDK", err)
	}
	for _, found := range threadOf.FindAllSubmatch(out, -1) {
		if strings.HasPrefix(string(found[1]), name) {
			n, _ := strconv.ParseFloat(string(found[2]), 64)
			sum += n * map[string]float64{"B": 1, "K": 1 << 10, "M": 1 << 20,
				"G": 1 << 30}[string(found[3])]
		}
	}
	return sum, nil
}
