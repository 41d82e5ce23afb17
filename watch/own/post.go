package own

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/ringwatch/ringwatch/frame"
)

// answer is what ingest says of a frame that it does not take.
type answer struct {
	status  int
	message string
}

func (a *answer) Error() string { return fmt.Sprintf("%d: %s", a.status, a.message) }

// again reports whether a frame is to be sent again: all but what ingest says of the frame itself,
// as with agents. A key that is refused may be put right.
func again(err error) bool {
	if said, is := errors.AsType[*answer](err); is {
		switch said.status {
		case http.StatusBadRequest, http.StatusRequestEntityTooLarge,
			http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
			return false
		}
	}
	return err != nil
}

// sentHeader has our clock, by which ingest tells a frame that waited from a clock that is wrong.
const sentHeader = "Ringwatch-Sent"

// maxAnswer bounds what is read of ingest's answer.
const maxAnswer = 4 << 10

// post sends one frame. The error is an *answer if ingest said no.
func (s *Sender) post(ctx context.Context, b []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.address, bytes.NewReader(b))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", frame.ContentType)
	r.Header.Set("Authorization", "Bearer "+s.key)
	r.Header.Set(sentHeader, strconv.FormatInt(s.deps.Clock().UnixMilli(), 10))
	said, err := s.client.Do(r)
	if err != nil {
		return err
	}
	defer said.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(said.Body, maxAnswer))
	if said.StatusCode/100 == 2 {
		return nil
	}
	var body struct{ Error struct{ Message string } }
	if json.Unmarshal(text, &body) != nil || body.Error.Message == "" {
		body.Error.Message = strings.TrimSpace(string(text))
	}
	return &answer{said.StatusCode, body.Error.Message}
}

// health is what the log was told of ingest last.
type health struct {
	failed int    // passes in a row
	said   string // what the log has of it; empty: nothing
}

// patience is how many passes may fail in a row before the log says so, unless ingest refuses:
// processes start together, and ingest is seldom the first that is ready.
const patience = 3

// note writes a line when sending begins to fail, fails for another reason, or works again.
func (s *Sender) note(err error) {
	h := &s.state
	if err == nil {
		if h.said != "" {
			s.deps.Log.Info("ingest takes the process's own metrics again", "url", s.config.URL)
		}
		*h = health{}
		return
	}
	h.failed++
	why, remedy := "away", "they wait; check self.url if this goes on"
	if said, is := errors.AsType[*answer](err); is && said.status < 500 &&
		said.status != http.StatusTooManyRequests {
		why = strconv.Itoa(said.status)
		remedy = "correct self.key or the account; nothing else is affected"
	} else if h.failed < patience {
		return
	}
	if h.said == why {
		return
	}
	h.said = why
	s.deps.Log.Warn("ingest does not take the process's own metrics: "+remedy,
		"url", s.config.URL, "error", err)
}
