package account

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
)

// KeyPrefix begins every key, so that scanners for leaked secrets can find them.
const KeyPrefix = "rw_"

// A key is rw_ID_SECRET. The id is no secret: it names the key in lists and logs. The secret's 43
// of 62 characters are 256 bits, so a plain SHA-256 is safe to store and no salt or slow hash is
// needed.
const (
	keyIDLength  = 10
	secretLength = 43
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// NewKey returns a fresh random key.
func NewKey() string {
	return KeyPrefix + random62(keyIDLength) + "_" + random62(secretLength)
}

func random62(n int) string {
	var sb strings.Builder
	var b [64]byte
	for sb.Len() < n {
		_, _ = rand.Read(b[:]) // never fails
		for _, v := range b {
			// Bytes from 248 on would make the first eight characters likelier than the others.
			if int(v) < 256/len(base62)*len(base62) && sb.Len() < n {
				sb.WriteByte(base62[int(v)%len(base62)])
			}
		}
	}
	return sb.String()
}

// KeyID returns the id in a key of NewKey's form, or "": keys in a configuration may be of any
// form.
func KeyID(key string) string {
	id, secret, _ := strings.Cut(strings.TrimPrefix(key, KeyPrefix), "_")
	if !strings.HasPrefix(key, KeyPrefix) || len(id) != keyIDLength ||
		len(secret) != secretLength || strings.Trim(id+secret, base62) != "" {
		return ""
	}
	return id
}

// Hash returns what configuration and stores keep of a key: its SHA-256 in lower-case hex.
func Hash(key string) string {
	d := sha256.Sum256([]byte(key))
	return hex.EncodeToString(d[:])
}

// FromRequest takes the key out of a request: the Bearer token, or the password of HTTP Basic
// whatever the user, or else the console's session. Keys in the URL are not looked for, since URLs
// end in logs. The error is ErrNoKey.
func FromRequest(r *http.Request) (string, error) {
	if _, password, ok := r.BasicAuth(); ok && password != "" {
		return password, nil
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); strings.EqualFold(scheme, "Bearer") && token != "" {
		return token, nil
	}
	if token := sessionOf(r); token != "" {
		return token, nil
	}
	return "", ErrNoKey
}
