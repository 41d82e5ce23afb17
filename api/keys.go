package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ringwatch/ringwatch/access/account"
)

// MakeKey makes a stored key and returns its text, as account.Maker.Make does. What it is given has
// been checked, but for its name and the number of keys. An *Error is for the client as it stands.
type MakeKey func(ctx context.Context, k *account.StoredKey) (text string, err error)

// Bounds of what a request for a key may say.
const (
	maxKeyClusters     = 64
	maxKeyClusterBytes = 255
)

func (s *Server) keyRoutes() []route {
	return []route{
		{pattern: "GET /v1/me", scoped: s.getMe},
		{pattern: "POST /v1/keys", scope: account.Admin, scoped: s.postKey},
	}
}

// me is what a key is told of itself.
type me struct {
	Account  string          `json:"account"`
	Key      string          `json:"key"`          // its name
	ID       string          `json:"id,omitempty"` // a key of the configuration has none
	Scopes   []account.Scope `json:"scopes"`
	Clusters []string        `json:"clusters"` // globs of those that it is for
	Networks []string        `json:"networks"` // where it may be used; none: anywhere
	Expires  string          `json:"expires,omitempty"`
}

func (s *Server) getMe(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	if _, err := parameters(r); err != nil {
		return err
	}
	return writeJSON(w, r, me{Account: p.Account, Key: p.KeyName, ID: p.KeyID, Scopes: p.Scopes,
		Clusters: p.Clusters(), Networks: append([]string{}, p.Networks()...),
		Expires: timeText(p.Expires())})
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeFormat)
}

// madeKey is a new key. Nobody can ask for its text again.
type madeKey struct {
	ID       string          `json:"id"`
	Key      string          `json:"key"`
	Account  string          `json:"account"`
	Name     string          `json:"name"`
	Scopes   []account.Scope `json:"scopes"`
	Clusters []string        `json:"clusters"` // that it is limited to; none: all of the account's
	Node     string          `json:"node,omitempty"`
	Networks []string        `json:"networks"`
	Expires  string          `json:"expires,omitempty"`
	Created  string          `json:"created"`
}

// postKey makes a key of the account of the key that asks, with any of the scopes: who manages an
// account's keys decides what they may do. It is good in its maker's networks, and ends when its
// maker ends.
func (s *Server) postKey(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	k, err := keyWanted(r, p)
	if err != nil {
		return err
	}
	if s.deps.MakeKey == nil {
		return &Error{Status: http.StatusConflict, Reason: "keys_configured",
			Message: "this server takes keys from its configuration only: add one there, " +
				"with ringwatch key create --for-config"}
	}
	k.Created, k.CreatedBy = s.config.Clock(), p.Account+"/"+p.Key()+" by the API"
	text, err := s.deps.MakeKey(r.Context(), k)
	if err != nil {
		return keyError(err)
	}
	s.deps.Log.Info("API key created", "account", k.Account, "key", k.ID, "name", k.Name,
		"scopes", k.Scopes, "by", k.CreatedBy)
	w.Header().Set("Cache-Control", "no-store")
	return writeJSON(w, r, madeKey{ID: k.ID, Key: text, Account: k.Account, Name: k.Name,
		Scopes: k.Scopes, Clusters: append([]string{}, k.Clusters...), Node: k.Node,
		Networks: append([]string{}, k.Networks...), Expires: timeText(k.Expires),
		Created: timeText(k.Created)})
}

// keyError gives what a Maker says its status.
func keyError(err error) error {
	var taken *account.NameTakenError
	switch {
	case errors.As(err, &taken):
		return &Error{Status: http.StatusConflict, Reason: "name_taken", Field: "name",
			Message: taken.Error()}
	case errors.Is(err, account.ErrTooManyKeys):
		return &Error{Status: http.StatusConflict, Reason: "too_many_keys", Message: err.Error()}
	case errors.Is(err, account.ErrMaking):
		return &Error{Status: http.StatusTooManyRequests, Reason: "busy", Message: err.Error(),
			RetryAfter: 1}
	}
	return err
}

// keyWanted reads a request's body: {"name", "scopes", "clusters", "node"}. It must say that it is
// JSON, so that a browser lets no other site's form make keys.
func keyWanted(r *http.Request, p account.Principal) (*account.StoredKey, error) {
	if _, err := parameters(r); err != nil {
		return nil, err
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return nil, &Error{Status: http.StatusUnsupportedMediaType, Reason: "content_type",
			Field:   "Content-Type",
			Message: "the body must be JSON: send Content-Type: application/json"}
	}
	text, err := io.ReadAll(r.Body) // bounded by enter
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, &Error{Status: http.StatusRequestEntityTooLarge, Reason: "body_too_large",
			Field: "body", Message: fmt.Sprintf(
				"the body has more than %d bytes: name fewer clusters", large.Limit)}
	case err != nil:
		return nil, bad("bad_body", "body", "the body broke off: send it again")
	case !utf8.Valid(text):
		return nil, bad("bad_body", "body", "the body is not UTF-8: encode it as UTF-8")
	}
	var body struct {
		Name     string          `json:"name"`
		Scopes   []account.Scope `json:"scopes"`
		Clusters []string        `json:"clusters"`
		Node     string          `json:"node"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&body); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) && kind.Field != "" {
			return nil, bad("bad_body", kind.Field, "%s cannot be %s: name and node are strings, "+
				"scopes and clusters are lists of strings", kind.Field, kind.Value)
		}
		if name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
			return nil, bad("unknown_field", strings.Trim(name, `"`),
				"unknown field: use name, scopes, clusters and node; "+
					"the account is that of the key that asks")
		}
		return nil, bad("bad_body", "body",
			`the body is not JSON such as {"name":"node7","scopes":["write"]}`)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, bad("bad_body", "body", "the body has more after its JSON object: leave it out")
	}
	k := &account.StoredKey{Account: p.Account, Name: body.Name, Clusters: body.Clusters,
		Node: body.Node, Networks: p.Networks(), Expires: p.Expires()}
	return k, checkKey(k, body.Scopes)
}

// checkKey gives a key its scopes, and refuses one that cannot be.
func checkKey(k *account.StoredKey, scopes []account.Scope) (err error) {
	if err := account.CheckName(k.Name); err != nil {
		return bad("bad_name", "name", "%v", err)
	}
	if k.Scopes, err = account.NamedScopes(scopes); err != nil {
		return bad("bad_scopes", "scopes", "%s", oneLine(err))
	}
	for i, scope := range scopes {
		if slices.Contains(scopes[:i], scope) {
			return bad("bad_scopes", "scopes", "scope %s is named twice: name it once", scope)
		}
	}
	if len(k.Clusters) > maxKeyClusters {
		return bad("bad_clusters", "clusters", "there are %d clusters where %d are allowed: "+
			"use patterns such as prod-*", len(k.Clusters), maxKeyClusters)
	}
	for _, glob := range k.Clusters {
		if len(glob) > maxKeyClusterBytes || strings.ContainsFunc(glob, unicode.IsControl) {
			return bad("bad_clusters", "clusters", "a cluster's name has %d bytes at most "+
				"and no control characters: write it as the node has it", maxKeyClusterBytes)
		}
	}
	if err := account.CheckBinding(k.Clusters, k.Node, k.Scopes); err != nil {
		return bad("bad_binding", "clusters", "%s", oneLine(err))
	}
	return nil
}

// oneLine is an error that may be several as one sentence.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
