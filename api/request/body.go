package request

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/refusal"
)

// Body says what the JSON of a request is to be, where it is something else.
type Body struct {
	Less    string // how to make it shorter
	Binary  string // what to do with bytes that are no UTF-8
	Types   string // which fields have which types
	Fields  string // which fields there are
	Example string
}

// Decode reads a request's body, which the server has bounded, into a struct.
func (b Body) Decode(r *http.Request, into any) error {
	text, err := io.ReadAll(r.Body)
	if large, is := errors.AsType[*http.MaxBytesError](err); is {
		e := refusal.Bad("body_too_large", "body", "the body has more than %d bytes: %s",
			large.Limit, b.Less)
		e.Status = http.StatusRequestEntityTooLarge
		return e
	}
	switch {
	case err != nil:
		return refusal.Bad("bad_body", "body", "the body broke off: send it again")
	case !utf8.Valid(text):
		return refusal.Bad("bad_body", "body", "the body is not UTF-8: %s", b.Binary)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return b.refuse(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return refusal.Bad("bad_body", "body",
			"the body has more after its JSON object: leave it out")
	}
	return nil
}

// refuse says what of a body cannot be decoded.
func (b Body) refuse(err error) *listener.Error {
	if wrong, is := errors.AsType[*json.UnmarshalTypeError](err); is && wrong.Field != "" {
		return refusal.Bad("bad_body", wrong.Field, "%s cannot be %s: %s", wrong.Field,
			wrong.Value, b.Types)
	}
	if name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		return refusal.Bad("unknown_field", strings.Trim(name, `"`), "unknown field: %s", b.Fields)
	}
	return refusal.Bad("bad_body", "body", "the body is not JSON such as %s", b.Example)
}
