package account

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestSessions: a session may do what its key may, until it or its key ends; a cookie counts in the
// console's own requests alone; and processes that share a store share sessions.
func TestSessions(t *testing.T) {
	now := time.Now()
	text := NewKey()
	key := StoredKey{ID: KeyID(text), Account: "a", Name: "k", SHA256: Hash(text),
		Scopes: []Scope{Read}, Expires: now.Add(time.Hour)}
	sessions := map[string]StoredKey{}
	s := &Sessions{Now: func() time.Time { return now },
		Read: func(context.Context) (list []StoredKey, err error) {
			for _, k := range sessions {
				list = append(list, k)
			}
			return list, nil
		},
		Write: func(_ context.Context, k StoredKey, life time.Duration) error {
			if life <= 0 || life > SessionLife {
				t.Errorf("it lives %s", life)
			}
			sessions[k.ID] = k
			return nil
		}}
	process := func() *Door { // each reads the store anew
		r, err := NewRegistry([]Account{{Name: "a"}})
		if err != nil {
			t.Fatal(err)
		}
		list, _ := s.Read(t.Context())
		r, errs := r.With(append(list, key)) // sessions may come before their keys
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		return NewDoor(func(ctx context.Context, k string) (Principal, error) {
			r.now = s.Now
			return r.Authenticate(ctx, k)
		})
	}
	begin := func() *http.Cookie {
		r := httptest.NewRequest(http.MethodPost, "http://ringwatch.example:9470/v1/session", nil)
		p, err := process().authenticate(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		token, ends, err := s.Begin(t.Context(), p, text)
		if err != nil || ends.After(key.Expires) {
			t.Fatal(ends, err)
		}
		w := httptest.NewRecorder()
		SetSession(w, r, token, ends, false)
		return w.Result().Cookies()[0]
	}
	ask := func(c *http.Cookie, headers ...string) (Principal, error) {
		r := httptest.NewRequest(http.MethodPost, "http://ringwatch.example:9470/v1/keys", nil)
		r.AddCookie(c)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		return process().Admit(r)
	}
	c, other := begin(), begin()
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode {
		t.Error("a script could read the cookie, or another site send it:", c)
	}
	for _, stored := range sessions {
		if stored.SHA256 != Hash(c.Value) && stored.SHA256 != Hash(other.Value) {
			t.Error("what is stored is no digest of a token")
		}
	}
	p, err := ask(c, ConsoleHeader, "1")
	if err != nil || p.Account != "a" || p.KeyName != "k" || !p.Can(Read) || p.Can(Admin) ||
		p.Session == "" {
		t.Fatal(p, err)
	}
	for _, headers := range [][]string{nil, {ConsoleHeader, "1", "Sec-Fetch-Site", "cross-site"},
		{ConsoleHeader, "1", "Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}} {
		if _, err := ask(c, headers...); !errors.Is(err, ErrNoKey) {
			t.Error(headers, err)
		}
	}
	if err := s.End(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if _, err := ask(c, ConsoleHeader, "1"); !errors.Is(err, ErrRevoked) {
		t.Error("it goes on after its end:", err)
	}
	if _, err := ask(other, ConsoleHeader, "1"); err != nil {
		t.Error("one session's end is another's:", err)
	}
	key.Revoked = now
	if _, err := ask(other, ConsoleHeader, "1"); !errors.Is(err, ErrRevoked) {
		t.Error("it goes on without its key:", err)
	}
	key.Revoked = time.Time{}
	now = key.Expires
	if _, err := ask(other, ConsoleHeader, "1"); !errors.Is(err, ErrExpired) {
		t.Error("it goes on after its key:", err)
	}
}
