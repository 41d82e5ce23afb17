package api

import (
	"errors"
	"net/http"
	"strings"

	"github.com/ringwatch/ringwatch/access/account"
)

func (s *Server) sessionRoutes() []route {
	return []route{{pattern: "POST /v1/session", scoped: s.postSession},
		{pattern: "DELETE /v1/session", scoped: s.deleteSession}}
}

// session is what whoever signed in gets to read; the token is in a cookie.
type session struct {
	Account string `json:"account"`
	Key     string `json:"key"`
	Expires string `json:"expires"`
}

// postSession signs a browser in with the key of the request.
func (s *Server) postSession(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	if _, err := parameters(r); err != nil {
		return err
	}
	if !account.FromConsole(r) || p.Session != "" {
		return bad("not_console", account.ConsoleHeader, "sessions are the console's: send the "+
			"key with each request, or %s: 1 and the key, from this server's own pages",
			account.ConsoleHeader)
	}
	if s.deps.Sessions == nil {
		return &Error{Status: http.StatusConflict, Reason: "keys_configured",
			Message: "this server takes keys from its configuration only, so nobody stays signed " +
				"in: set keys.stored"}
	}
	key, err := account.FromRequest(r)
	if err != nil {
		return err
	}
	token, ends, err := s.deps.Sessions.Begin(r.Context(), p, key)
	if errors.Is(err, account.ErrTooManySessions) {
		return &Error{Status: http.StatusConflict, Reason: "too_many_sessions",
			Message: err.Error()}
	} else if err != nil {
		return err
	}
	account.SetSession(w, r, token, ends, s.secure(r))
	w.Header().Set("Cache-Control", "no-store")
	return writeJSON(w, r, session{p.Account, p.KeyName, timeText(ends)})
}

// deleteSession ends the session that the request came with, for every process.
func (s *Server) deleteSession(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	if _, err := parameters(r); err != nil {
		return err
	}
	if p.Session == "" {
		return bad("no_session", "Cookie", "the request came with a key and no session: "+
			"run ringwatch key revoke to end a key")
	}
	if s.deps.Sessions != nil {
		if err := s.deps.Sessions.End(r.Context(), p); err != nil {
			return err
		}
	}
	account.SetSession(w, r, "", s.config.Clock(), s.secure(r))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// secure reports whether browsers reach the server by TLS alone.
func (s *Server) secure(r *http.Request) bool {
	return r.TLS != nil || strings.HasPrefix(s.config.PublicURL, "https:")
}
