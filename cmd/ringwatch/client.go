package main

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
)

// clientFlags are what every command that asks the API takes.
type clientFlags struct {
	API string `name:"api" help:"Address of the API, such as http://127.0.0.1:9470. Without it: api: of the nearest .ringwatch/cli.yaml." env:"RINGWATCH_API"`
	Key string `help:"API key, rw_…. Set it in the environment, where other users do not see it. Without it: key: of that file." env:"RINGWATCH_KEY"`
	clientTLS
}

// defaultAPI is where an API listens that was not told otherwise.
const defaultAPI = "http://127.0.0.1:9470"

// maxAnswerBytes bounds what a command takes into memory.
const maxAnswerBytes = 512 << 20

// client asks one API with one key.
type client struct {
	base string
	key  string
	http *http.Client
}

// client completes the flags from .ringwatch/cli.yaml in the working directory or the nearest one
// above it.
func (f *clientFlags) client() (*client, error) {
	transport, err := f.transport()
	if err != nil {
		return nil, err
	}
	c := &client{base: f.API, key: f.Key, http: &http.Client{
		Timeout:   time.Minute,
		Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // the key is for this address only
		},
	}}
	if c.base == "" || c.key == "" {
		dir, err := os.Getwd()
		if err != nil {
			return nil, err
		}
		file, err := nearestFile(dir)
		if err != nil {
			return nil, err
		}
		if c.base == "" {
			c.base = file.API
		}
		// A key found in a file is for that file's address: it is not sent to another.
		if c.key == "" &&
			(f.API == "" || file.API == "" ||
				strings.TrimSuffix(file.API, "/") == strings.TrimSuffix(f.API, "/")) {
			c.key = file.Key
		}
	}
	if c.base == "" {
		c.base = defaultAPI
	}
	if !strings.Contains(c.base, "://") {
		c.base = "http://" + c.base
	}
	u, err := url.Parse(c.base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, usageError{fmt.Errorf("%q is not the address of an API: use one such as %s",
			c.base, defaultAPI)}
	}
	c.base = strings.TrimSuffix(c.base, "/")
	if c.key == "" {
		return nil, noKeyError(c.base)
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
				return f, usageError{fmt.Errorf("%s must have the two lines api: and key:", path)}
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

// get asks the API and returns the answer's JSON. Errors are one sentence for people.
func (c *client) get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return c.send(ctx, http.MethodGet, path, nil)
}

// post is get for what is asked in a body of JSON.
func (c *client) post(ctx context.Context, path string, body any) ([]byte, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return c.send(ctx, http.MethodPost, path, bytes.NewReader(text))
}

func (c *client) send(ctx context.Context, method, path string, content io.Reader) ([]byte, error) {
	body, _, err := c.exchange(ctx, method, path, content)
	return body, err
}

// form is get for what Prometheus's endpoints are asked: parameters in the body, where they may
// be long.
func (c *client) form(ctx context.Context, path string, values url.Values) ([]byte, error) {
	body, _, err := c.do(ctx, http.MethodPost, path, "application/x-www-form-urlencoded",
		strings.NewReader(values.Encode()))
	return body, err
}

// exchange is send with the answer's header.
func (c *client) exchange(ctx context.Context, method, path string,
	content io.Reader) ([]byte, http.Header, error) {
	return c.do(ctx, method, path, "application/json", content)
}

func (c *client) do(
	ctx context.Context, method, path, contentType string, content io.Reader,
) ([]byte, http.Header, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return nil, nil, err
	}
	if content != nil {
		request.Header.Set("Content-Type", contentType)
	}
	request.Header.Set("User-Agent", version.ComponentUserAgent("ringwatch"))
	request.Header.Set("Authorization", "Bearer "+c.key)
	response, err := c.http.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		remedy := fmt.Sprintf("start it with %s, or name another with --api", cameFrom().start)
		var unknown x509.UnknownAuthorityError
		if errors.As(err, &unknown) {
			remedy = "name the certificate of your own authority with --ca-file"
		}
		return nil, nil, fmt.Errorf("the API at %s cannot be reached (%w): %s", c.base, err, remedy)
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
		if err := refusal(response.StatusCode, body); err != nil {
			return nil, nil, err
		}
		return nil, nil, fmt.Errorf("%s answered %s, so it is not a Ringwatch API: check --api",
			c.base, plain(response.Status))
	}
	return body, response.Header, nil
}

// promError is why one of Prometheus's endpoints did not answer, as it came.
type promError struct{ text string }

func (e promError) Error() string { return plainLines(e.text) }

// refusedError is why the API did not answer, in our form.
type refusedError struct {
	status       int
	reason, text string
}

func (e refusedError) Error() string { return plainLines(e.text) }

// refusal reads why the API did not answer, in our form or in Prometheus's; nil is neither.
func refusal(status int, body []byte) error {
	var answer struct{ Error json.RawMessage }
	if json.Unmarshal(body, &answer) != nil {
		return nil
	}
	var text string
	if json.Unmarshal(answer.Error, &text) == nil && text != "" {
		return promError{text}
	}
	var ours struct{ Reason, Message string }
	if json.Unmarshal(answer.Error, &ours) == nil && ours.Message != "" {
		return refusedError{status, ours.Reason, ours.Message}
	}
	return nil
}

// ask is get with the answer decoded.
func (c *client) ask(ctx context.Context, path string, query url.Values, into any) error {
	body, err := c.get(ctx, path, query)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("the API's answer cannot be read (%w): use a program of the API's "+
			"version", err)
	}
	return nil
}
