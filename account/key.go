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

// keyRandom is the number of random characters: 32 of 62 are 190 bits, so a plain SHA-256 is safe to store and no salt or slow hash is needed.
const keyRandom = 32

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// NewKey returns a fresh random key.
func NewKey() string {
	var sb strings.Builder
	sb.WriteString(KeyPrefix)
	var b [keyRandom]byte
	for n := 0; n < keyRandom; {
		_, _ = rand.Read(b[:]) // never fails
		for _, v := range b {
			// Bytes from 248 on would make the first eight characters likelier than the others.
			if int(v) < 256/len(base62)*len(base62) && n < keyRandom {
				sb.WriteByte(base62[int(v)%len(base62)])
				n++
			}
		}
	}
	return sb.String()
}

// Hash returns what configuration and stores keep of a key: its SHA-256 in lower-case hex.
func Hash(key string) string {
	d := sha256.Sum256([]byte(key))
	return hex.EncodeToString(d[:])
}

// FromRequest takes the key out of a request: the Bearer token, or the password of HTTP Basic whatever the user. Keys in the URL are
// not looked for, since URLs end in logs. The error is ErrNoKey.
func FromRequest(r *http.Request) (string, error) {
	if _, password, ok := r.BasicAuth(); ok && password != "" {
		return password, nil
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); strings.EqualFold(scheme, "Bearer") && token != "" {
		return token, nil
	}
	return "", ErrNoKey
}
