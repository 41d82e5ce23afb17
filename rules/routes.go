package rules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/query/nearest"
)

// Bounds of what an account may apply.
const (
	// MaxFileBytes is how large a rule file may be.
	MaxFileBytes = 512 << 10
	// MaxFiles is how many an account may have.
	MaxFiles = 64
)

var fileName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// AppliedFile is a rule file that was given through the API.
type AppliedFile struct {
	Name  string `json:"name"`
	Rules int    `json:"rules"`
	Text  string `json:"text,omitempty"`
}

// Routes returns the endpoints at which an account's rule files are listed, read, applied and
// removed: /v1/rules. publish keeps a file for all processes; nil as its text removes it.
func (b *Status) Routes(
	publish func(ctx context.Context, account, name string, text []byte) error,
) []listener.Route {
	r := &routes{b, publish}
	return []listener.Route{
		{Pattern: "GET /v1/rules", Handle: r.list},
		{Pattern: "GET /v1/rules/{file}", Handle: r.read},
		{Pattern: "PUT /v1/rules/{file}", Scope: account.Rules, Handle: r.apply},
		{Pattern: "DELETE /v1/rules/{file}", Scope: account.Rules, Handle: r.remove},
	}
}

type routes struct {
	*Status
	publish func(ctx context.Context, account, name string, text []byte) error
}

// own returns the files that an account has applied, by name.
func (b *Status) own(account string) map[string][]byte {
	if b.files.applied == nil {
		return nil
	}
	return b.files.applied()[account]
}

func (b *Status) describe(name string, text []byte) AppliedFile {
	of := AppliedFile{Name: name}
	groups, _ := b.files.groups(name, text)
	for _, g := range groups {
		of.Rules += len(g.Rules)
	}
	return of
}

func (r *routes) list(w http.ResponseWriter, _ *http.Request, who account.Principal) error {
	own := r.own(who.Account)
	list := []AppliedFile{}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		list = append(list, r.describe(name, own[name]))
	}
	return answer(w, list)
}

func (r *routes) read(w http.ResponseWriter, req *http.Request, who account.Principal) error {
	name := req.PathValue("file")
	text, found := r.own(who.Account)[name]
	if !found {
		return r.noFile(who.Account, name)
	}
	of := r.describe(name, text)
	of.Text = string(text)
	return answer(w, of)
}

func (r *routes) noFile(account, name string) error {
	return &listener.Error{Status: http.StatusNotFound, Reason: "unknown_file", Field: "file",
		Message: fmt.Sprintf("no rule file %.200q was applied: %s", name,
			nearest.Offer(name, slices.Sorted(maps.Keys(r.own(account)))))}
}

func (r *routes) apply(w http.ResponseWriter, req *http.Request, who account.Principal) error {
	name := req.PathValue("file")
	if !fileName.MatchString(name) {
		return &listener.Error{Status: http.StatusBadRequest, Reason: "bad_name", Field: "file",
			Message: fmt.Sprintf(
				"%q cannot be a rule file's name: use a to z, 0 to 9, '.', '_' and '-', "+
					"63 at most, with a letter or digit first", name)}
	}
	text, err := io.ReadAll(io.LimitReader(req.Body, MaxFileBytes+1))
	if err != nil {
		return err
	}
	if len(text) > MaxFileBytes {
		return &listener.Error{Status: http.StatusRequestEntityTooLarge, Reason: "too_large",
			Message: fmt.Sprintf("the file is larger than %d bytes: apply its groups as "+
				"several files",
				MaxFileBytes)}
	}
	own := r.own(who.Account)
	if _, known := own[name]; !known && len(own) >= MaxFiles {
		return &listener.Error{Status: http.StatusConflict, Reason: "max_files",
			Message: fmt.Sprintf(
				"the account has %d rule files and may have no more: put groups into "+
					"one file, or remove one", len(own))}
	}
	if err := r.Check(who.Account, name, text); err != nil {
		return &listener.Error{Status: http.StatusBadRequest, Reason: "bad_rules",
			Message: firstLines(err.Error(), maxFaults)}
	}
	if err := r.keep(req.Context(), who.Account, name, text); err != nil {
		return err
	}
	return answer(w, r.describe(name, text))
}

// maxFaults is how many things that are wrong with a file are said at once.
const maxFaults = 50

// firstLines returns the first lines of a text, and how many more there are.
func firstLines(text string, n int) string {
	lines := strings.Split(text, "\n")
	if len(lines) <= n {
		return text
	}
	return fmt.Sprintf("%s\nand %d more", strings.Join(lines[:n], "\n"), len(lines)-n)
}

func (r *routes) remove(w http.ResponseWriter, req *http.Request, who account.Principal) error {
	name := req.PathValue("file")
	text, found := r.own(who.Account)[name]
	if !found {
		return r.noFile(who.Account, name)
	}
	_ = r.files.load() // files that were removed just now need nothing any more
	// What is wrong already is no reason to keep a file.
	if err := r.Check(who.Account, name, nil); err != nil &&
		r.Check(who.Account, name, text) == nil {
		return &listener.Error{Status: http.StatusConflict, Reason: "in_use", Field: "file",
			Message: fmt.Sprintf("other rule files need what %s records: remove or change "+
				"them first: %s",
				name, firstLines(err.Error(), maxFaults))}
	}
	if err := r.keep(req.Context(), who.Account, name, nil); err != nil {
		return err
	}
	return answer(w, AppliedFile{Name: name})
}

func (r *routes) keep(ctx context.Context, account, name string, text []byte) error {
	err := r.publish(ctx, account, name, text)
	if err != nil && !errors.Is(err, context.Canceled) {
		return &listener.Error{Status: http.StatusServiceUnavailable, Reason: "unavailable",
			Message:    "the rule file could not be kept now: send it again later",
			RetryAfter: 5, Cause: err}
	}
	return err
}

func answer(w http.ResponseWriter, data any) error {
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(data)
}
