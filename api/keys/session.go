package keys

import (
	"errors"
	"net/http"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/literal"
	"github.com/ringwatch/ringwatch/api/refusal"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/api/request"
)

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
	if h.sessions == nil {
		return &listener.Error{Status: http.StatusConflict, Reason: "keys_configured",
			Message: "this server takes keys from its configuration only, so nobody stays signed " +
				"in: set keys.stored"}
	}
	key, err := account.FromRequest(r)
	if err != nil {
		return err
	}
	token, ends, err := h.sessions.Begin(r.Context(), p, key)
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
	if h.sessions != nil {
		if err := h.sessions.End(r.Context(), p); err != nil {
			return err
		}
	}
	account.SetSession(w, r, "", h.clock(), h.secure(r))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// secure reports whether browsers reach the server by TLS alone.
func (h *Handler) secure(r *http.Request) bool {
	return r.TLS != nil || h.tls
}
