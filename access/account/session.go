package account

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// Whoever signs in to the console with a key gets a session: a random token in a cookie that no
// script can read. The store keeps its digest, so that every process knows it, and each can end it.
// A session is good for as long as its key is.

const (
	// SessionLife is how long a session lasts: a week of work, and a weekend.
	SessionLife = 7 * 24 * time.Hour
	// ConsoleHeader is what the console's requests have. A page of another origin cannot send it:
	// its browser would ask first, and is not allowed to. So a cookie counts with this header only.
	ConsoleHeader = "Ringwatch-Console"
	// mostSessions bounds those of a key: all processes read them every few seconds.
	mostSessions = 200
)

// ErrTooManySessions says that a key has all the sessions that it may have.
var ErrTooManySessions = errors.New(
	"too many people are signed in with this API key: sign out elsewhere, or use another key")

// sessionCookie is the name of a request's cookie. Cookies belong to a host and not to its ports,
// so that two Ringwatches of a host would end each other's sessions.
func sessionCookie(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return "ringwatch_" + port
	}
	return "ringwatch"
}

// FromConsole reports whether the console of this origin sent a request.
func FromConsole(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site") // browsers send it over TLS, and to loopback
	return r.Header.Get(ConsoleHeader) != "" && (site == "" || site == "same-origin")
}

func sessionOf(r *http.Request) string {
	c, err := r.Cookie(sessionCookie(r))
	if err != nil || !FromConsole(r) {
		return ""
	}
	return c.Value
}

// SetSession gives a browser the token of a session, or takes it away if that is empty.
func SetSession(w http.ResponseWriter, r *http.Request, token string, expires time.Time,
	secure bool) {
	c := &http.Cookie{Name: sessionCookie(r), Value: token, Path: "/", Expires: expires,
		HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode}
	if token == "" {
		c.Expires, c.MaxAge = time.Time{}, -1
	}
	http.SetCookie(w, c)
}

// Sessions makes and ends sessions in the store.
type Sessions struct {
	Read  func(context.Context) ([]StoredKey, error)
	Write func(ctx context.Context, session StoredKey, life time.Duration) error
	Now   func() time.Time
}

// Begin writes a session of a key and returns its token, which nobody keeps, and its end. The error
// is ErrTooManySessions or the store's.
func (s *Sessions) Begin(ctx context.Context, p Principal, key string) (token string,
	ends time.Time, err error) {
	list, err := s.Read(ctx)
	if err != nil {
		return "", ends, err
	}
	now, of, open := s.Now(), Hash(key), 0
	for i := range list {
		if list[i].SessionOf == of && list[i].State(now) == StateActive {
			open++
		}
	}
	if open >= mostSessions {
		return "", ends, ErrTooManySessions
	}
	ends = now.Add(SessionLife)
	if !p.expires.IsZero() && p.expires.Before(ends) {
		ends = p.expires
	}
	ends = ends.UTC().Truncate(time.Second)
	token = NewKey()
	return token, ends, s.Write(ctx, StoredKey{ID: KeyID(token), Account: p.Account,
		Name: p.KeyName, SHA256: Hash(token), SessionOf: of, Created: now, Expires: ends},
		max(ends.Sub(now), time.Second))
}

// End ends the session that a request came with.
func (s *Sessions) End(ctx context.Context, p Principal) error {
	list, err := s.Read(ctx)
	if err != nil {
		return err
	}
	now := s.Now()
	for i := range list {
		if k := list[i]; k.ID == p.Session && k.State(now) == StateActive {
			k.Revoked, k.RevokedBy = now, p.Account+"/"+p.Key()
			return s.Write(ctx, k, max(k.Expires.Sub(now), time.Second))
		}
	}
	return nil
}
