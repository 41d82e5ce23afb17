// Package client asks the API with a key, as most commands do: the flags that name both, the errors
// that the API answers with, and what to say to who has no key yet.
package client

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/common/version"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/program"
)

// Flags are what every command that asks the API takes.
type Flags struct {
	API string `name:"api" help:"Address of the API, such as http://127.0.0.1:9470. Without it: api: of the nearest .ringwatch/cli.yaml." env:"RINGWATCH_API"`
	Key string `help:"API key, rw_…. Set it in the environment, where other users do not see it. Without it: key: of that file." env:"RINGWATCH_KEY"`
	TLSFlags
}

// defaultAPI is where an API listens that was not told otherwise.
const defaultAPI = "http://127.0.0.1:9470"

// maxAnswerBytes bounds what a command takes into memory.
const maxAnswerBytes = 512 << 20

// Client asks one API with one key.
type Client struct {
	Base string
	Key  string
	HTTP *http.Client
}

// Client completes the flags from .ringwatch/cli.yaml in the working directory or the nearest one
// above it.
func (f *Flags) Client() (*Client, error) {
	transport, err := f.Transport()
	if err != nil {
		return nil, err
	}
	c := &Client{Base: f.API, Key: f.Key, HTTP: &http.Client{
		Timeout:   time.Minute,
		Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // the key is for this address only
		},
	}}
	if c.Base == "" || c.Key == "" {
		dir, err := os.Getwd()
		if err != nil {
			return nil, err
		}
		file, err := nearestFile(dir)
		if err != nil {
			return nil, err
		}
		if c.Base == "" {
			c.Base = file.API
		}
		// A key found in a file is for that file's address: it is not sent to another.
		if c.Key == "" &&
			(f.API == "" || file.API == "" ||
				strings.TrimSuffix(file.API, "/") == strings.TrimSuffix(f.API, "/")) {
			c.Key = file.Key
		}
	}
	if c.Base == "" {
		c.Base = defaultAPI
	}
	if !strings.Contains(c.Base, "://") {
		c.Base = "http://" + c.Base
	}
	u, err := url.Parse(c.Base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, exit.Usage(fmt.Errorf("%q is not the address of an API: use one such as %s",
			c.Base, defaultAPI))
	}
	c.Base = strings.TrimSuffix(c.Base, "/")
	if c.Key == "" {
		return nil, noKeyError(c.Base)
	}
	return c, nil
}

type clientFile struct {
	API string `yaml:"api"`
	Key string `yaml:"key"`
}

// nearestFile reads .ringwatch/cli.yaml in dir or the nearest directory above; no file is an
// empty one.
func nearestFile(dir string) (clientFile, error) {
	var f clientFile
	for {
		path := filepath.Join(dir, ".ringwatch", "cli.yaml")
		text, err := os.ReadFile(path)
		if err == nil {
			if yaml.Unmarshal(text, &f) != nil {
				return f, exit.Usage(fmt.Errorf("%s must have the two lines api: and key:", path))
			}
			return f, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return f, err
		}
		up := filepath.Dir(dir)
		if up == dir {
			return f, nil
		}
		dir = up
	}
}

// Get asks the API and returns the answer's JSON. Errors are one sentence for people.
func (c *Client) Get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return c.Send(ctx, http.MethodGet, path, nil)
}

// Post is get for what is asked in a body of JSON.
func (c *Client) Post(ctx context.Context, path string, body any) ([]byte, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return c.Send(ctx, http.MethodPost, path, bytes.NewReader(text))
}

// Send asks with a body of JSON; nil: there is none.
func (c *Client) Send(ctx context.Context, method, path string, content io.Reader) ([]byte, error) {
	body, _, err := c.Exchange(ctx, method, path, content)
	return body, err
}

// Form is get for what Prometheus's endpoints are asked: parameters in the body, where they may
// be long.
func (c *Client) Form(ctx context.Context, path string, values url.Values) ([]byte, error) {
	body, _, err := c.Do(ctx, http.MethodPost, path, "application/x-www-form-urlencoded",
		strings.NewReader(values.Encode()))
	return body, err
}

// Exchange is send with the answer's header.
func (c *Client) Exchange(ctx context.Context, method, path string,
	content io.Reader) ([]byte, http.Header, error) {
	return c.Do(ctx, method, path, "application/json", content)
}

// Do asks with a body of a type, and returns the answer with its header.
func (c *Client) Do(
	ctx context.Context, method, path, contentType string, content io.Reader,
) ([]byte, http.Header, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.Base+path, content)
	if err != nil {
		return nil, nil, err
	}
	if content != nil {
		request.Header.Set("Content-Type", contentType)
	}
	request.Header.Set("User-Agent", version.ComponentUserAgent("ringwatch"))
	request.Header.Set("Authorization", "Bearer "+c.Key)
	response, err := c.HTTP.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		remedy := fmt.Sprintf("start it with %s, or name another with --api",
			program.CameFrom().Start)
		var unknown x509.UnknownAuthorityError
		if errors.As(err, &unknown) {
			remedy = "name the certificate of your own authority with --ca-file"
		}
		return nil, nil, fmt.Errorf("the API at %s cannot be reached (%w): %s", c.Base, err, remedy)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes+1))
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("the API's answer broke off: %w; try again", err)
	case len(body) > maxAnswerBytes:
		return nil, nil, fmt.Errorf("the answer is larger than %d MB: ask for less at a time",
			maxAnswerBytes>>20)
	case response.StatusCode != http.StatusOK:
		if err := refusal(response, body); err != nil {
			return nil, nil, err
		}
		return nil, nil, fmt.Errorf("%s answered %s, so it is not a Ringwatch API: check --api",
			c.Base, screen.Plain(response.Status))
	}
	return body, response.Header, nil
}

// PromError is why one of Prometheus's endpoints did not answer, as it came.
type PromError struct{ Text string }

func (e PromError) Error() string { return screen.PlainLines(e.Text) }

// RefusedError is why the API did not answer. Alertmanager's own gives no Reason.
type RefusedError struct {
	Status       int
	Reason, Text string
}

func (e RefusedError) Error() string { return screen.PlainLines(e.Text) }

// refusal reads why the API did not answer, in our form, in Prometheus's or in Alertmanager's; nil
// is none of them.
func refusal(response *http.Response, body []byte) error {
	status := response.StatusCode
	var answer struct {
		Error   json.RawMessage
		Message string // Alertmanager's, of a request that is not formed as it should be
	}
	var text string
	if json.Unmarshal(body, &text) == nil && text != "" { // Alertmanager's
		return RefusedError{status, "", text}
	}
	if status >= http.StatusInternalServerError &&
		strings.Contains(response.Request.URL.Path, "/alertmanager/") &&
		strings.HasPrefix(response.Header.Get("Content-Type"), "text/plain") {
		return RefusedError{status, "", strings.TrimSpace(string(body))}
	}
	if json.Unmarshal(body, &answer) != nil {
		return nil
	}
	if json.Unmarshal(answer.Error, &text) == nil && text != "" {
		return PromError{text}
	}
	var ours struct{ Reason, Message string }
	if json.Unmarshal(answer.Error, &ours) == nil && ours.Message != "" {
		return RefusedError{status, ours.Reason, ours.Message}
	}
	if answer.Message != "" {
		return RefusedError{status, "", answer.Message}
	}
	return nil
}

// Ask is get with the answer decoded.
func (c *Client) Ask(ctx context.Context, path string, query url.Values, into any) error {
	body, err := c.Get(ctx, path, query)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("the API's answer cannot be read (%w): use a program of the API's "+
			"version", err)
	}
	return nil
}
