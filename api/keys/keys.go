// Package keys answers what a key is, makes keys, and signs people in to the console: /v1/me,
// /v1/keys and /v1/session. Begin with Handler.
//
// What it promises: a key's text is told once. A key is good in its maker's networks, and ends when
// its maker ends.
package keys

import (
	"context"
	"errors"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/literal"
	"github.com/ringwatch/ringwatch/api/refusal"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/api/request"
)

// Make makes a stored key and returns its text, as account.Maker.Make does. What it is given has
// been checked, but for its name and the number of keys. A *listener.Error is for the client as it
// stands.
type Make func(ctx context.Context, k *account.StoredKey) (text string, err error)

// Config is what a Handler works with.
type Config struct {
	Make     Make              // nil: keys are in the configuration only
	Sessions *account.Sessions // nil: nobody can sign in for longer than a page lives
	// TLS: browsers reach the server by TLS, whatever the connection is.
	TLS   bool
	Clock func() time.Time
	Log   *slog.Logger
}

// Handler has the endpoints.
type Handler struct{ config Config }

// New returns the endpoints.
func New(c Config) *Handler { return &Handler{c} }

// Routes returns the endpoints.
func (h *Handler) Routes() []listener.Route {
	return []listener.Route{
		{Pattern: "GET /v1/me", Handle: h.getMe},
		{Pattern: "POST /v1/keys", Scope: account.Admin, Handle: h.postKey},
		{Pattern: "POST /v1/session", Handle: h.postSession},
		{Pattern: "DELETE /v1/session", Handle: h.deleteSession},
	}
}

// Bounds of what a request for a key may say.
const (
	maxClusters     = 64
	maxClusterBytes = 255
)

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

func (h *Handler) getMe(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	if _, err := request.Parameters(r); err != nil {
		return err
	}
	return reply.JSON(w, r, me{Account: p.Account, Key: p.KeyName, ID: p.KeyID, Scopes: p.Scopes,
		Clusters: p.Clusters(), Networks: append([]string{}, p.Networks()...),
		Expires: literal.TimeOrNone(p.Expires())})
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
func (h *Handler) postKey(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	k, err := keyWanted(r, p)
	if err != nil {
		return err
	}
	if h.config.Make == nil {
		return &listener.Error{Status: http.StatusConflict, Reason: "keys_configured",
			Message: "this server takes keys from its configuration only: add one there, " +
				"with ringwatch key create --for-config"}
	}
	k.Created, k.CreatedBy = h.config.Clock(), p.Account+"/"+p.Key()+" by the API"
	text, err := h.config.Make(r.Context(), k)
	if err != nil {
		return keyError(err)
	}
	h.config.Log.Info("API key created", "account", k.Account, "key", k.ID, "name", k.Name,
		"scopes", k.Scopes, "by", k.CreatedBy)
	w.Header().Set("Cache-Control", "no-store")
	return reply.JSON(w, r, madeKey{ID: k.ID, Key: text, Account: k.Account, Name: k.Name,
		Scopes: k.Scopes, Clusters: append([]string{}, k.Clusters...), Node: k.Node,
		Networks: append([]string{}, k.Networks...), Expires: literal.TimeOrNone(k.Expires),
		Created: literal.TimeOrNone(k.Created)})
}

// keyError gives what a Maker says its status.
func keyError(err error) error {
	var taken *account.NameTakenError
	switch {
	case errors.As(err, &taken):
		return &listener.Error{Status: http.StatusConflict, Reason: "name_taken", Field: "name",
			Message: taken.Error()}
	case errors.Is(err, account.ErrTooManyKeys):
		return &listener.Error{Status: http.StatusConflict, Reason: "too_many_keys",
			Message: err.Error()}
	case errors.Is(err, account.ErrMaking):
		return &listener.Error{Status: http.StatusTooManyRequests, Reason: "busy",
			Message: err.Error(), RetryAfter: 1}
	}
	return err
}

// wantedBody is what keyWanted reads.
var wantedBody = request.Body{Less: "name fewer clusters", Binary: "encode it as UTF-8",
	Types:   "name and node are strings, scopes and clusters are lists of strings",
	Fields:  "use name, scopes, clusters and node; the account is that of the key that asks",
	Example: `{"name":"node7","scopes":["write"]}`}

// keyWanted reads a request's body: {"name", "scopes", "clusters", "node"}. It must say that it is
// JSON, so that a browser lets no other site's form make keys.
func keyWanted(r *http.Request, p account.Principal) (*account.StoredKey, error) {
	if _, err := request.Parameters(r); err != nil {
		return nil, err
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return nil, &listener.Error{Status: http.StatusUnsupportedMediaType, Reason: "content_type",
			Field:   "Content-Type",
			Message: "the body must be JSON: send Content-Type: application/json"}
	}
	var body struct {
		Name     string          `json:"name"`
		Scopes   []account.Scope `json:"scopes"`
		Clusters []string        `json:"clusters"`
		Node     string          `json:"node"`
	}
	if err := wantedBody.Decode(r, &body); err != nil {
		return nil, err
	}
	k := &account.StoredKey{Account: p.Account, Name: body.Name, Clusters: body.Clusters,
		Node: body.Node, Networks: p.Networks(), Expires: p.Expires()}
	return k, checkKey(k, body.Scopes)
}

// checkKey gives a key its scopes, and refuses one that cannot be.
func checkKey(k *account.StoredKey, scopes []account.Scope) (err error) {
	if err := account.CheckName(k.Name); err != nil {
		return refusal.Bad("bad_name", "name", "%v", err)
	}
	if k.Scopes, err = account.NamedScopes(scopes); err != nil {
		return refusal.Bad("bad_scopes", "scopes", "%s", oneLine(err))
	}
	for i, scope := range scopes {
		if slices.Contains(scopes[:i], scope) {
			return refusal.Bad("bad_scopes", "scopes", "scope %s is named twice: name it once",
				scope)
		}
	}
	if len(k.Clusters) > maxClusters {
		return refusal.Bad("bad_clusters", "clusters",
			"there are %d clusters where %d are allowed: use patterns such as prod-*",
			len(k.Clusters), maxClusters)
	}
	for _, glob := range k.Clusters {
		if len(glob) > maxClusterBytes || strings.ContainsFunc(glob, unicode.IsControl) {
			return refusal.Bad("bad_clusters", "clusters", "a cluster's name has %d bytes at most "+
				"and no control characters: write it as the node has it", maxClusterBytes)
		}
	}
	if err := account.CheckBinding(k.Clusters, k.Node, k.Scopes); err != nil {
		return refusal.Bad("bad_binding", "clusters", "%s", oneLine(err))
	}
	return nil
}

// oneLine is an error that may be several as one sentence.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// session is what whoever signed in gets to read; the token is in a cookie.
type session struct {
	Account string `json:"account"`
	Key     string `json:"key"`
	Expires string `json:"expires"`
}

// postSession signs a browser in with the key of the request.
func (h *Handler) postSession(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	if _, err := request.Parameters(r); err != nil {
		return err
	}
	if !account.FromConsole(r) || p.Session != "" {
		return refusal.Bad("not_console", account.ConsoleHeader,
			"sessions are the console's: send the key with each request, or %s: 1 and the key, "+
				"from this server's own pages",
			account.ConsoleHeader)
	}
	if h.config.Sessions == nil {
		return &listener.Error{Status: http.StatusConflict, Reason: "keys_configured",
			Message: "this server takes keys from its configuration only, so nobody stays signed " +
				"in: set keys.stored"}
	}
	key, err := account.FromRequest(r)
	if err != nil {
		return err
	}
	token, ends, err := h.config.Sessions.Begin(r.Context(), p, key)
	if errors.Is(err, account.ErrTooManySessions) {
		return &listener.Error{Status: http.StatusConflict, Reason: "too_many_sessions",
			Message: err.Error()}
	} else if err != nil {
		return err
	}
	account.SetSession(w, r, token, ends, h.secure(r))
	w.Header().Set("Cache-Control", "no-store")
	return reply.JSON(w, r, session{p.Account, p.KeyName, literal.TimeOrNone(ends)})
}

// deleteSession ends the session that the request came with, for every process.
func (h *Handler) deleteSession(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	if _, err := request.Parameters(r); err != nil {
		return err
	}
	if p.Session == "" {
		return refusal.Bad("no_session", "Cookie", "the request came with a key and no session: "+
			"run ringwatch key revoke to end a key")
	}
	if h.config.Sessions != nil {
		if err := h.config.Sessions.End(r.Context(), p); err != nil {
			return err
		}
	}
	account.SetSession(w, r, "", h.config.Clock(), h.secure(r))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// secure reports whether browsers reach the server by TLS alone.
func (h *Handler) secure(r *http.Request) bool {
	return r.TLS != nil || h.config.TLS
}
