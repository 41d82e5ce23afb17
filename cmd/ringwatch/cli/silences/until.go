package silences

import (
	"errors"
	"fmt"
	"os/user"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
)

// Until is how long a silence lasts.
type Until struct {
	For   string `help:"How long: 30m, 2h or 1d." placeholder:"DURATION"`
	Until string `help:"Until when, instead of --for: 18:00 or \"2026-12-01 18:00\" by this machine's clock, or a time of RFC 3339." placeholder:"TIME"`
}

// end is when the silence ends, which is after now.
func (u *Until) end(now time.Time) (time.Time, error) {
	switch {
	case u.For != "" && u.Until != "":
		return time.Time{}, exit.Usage(errors.New("--for and --until both say when it ends: " +
			"give one of them"))
	case u.For != "":
		span, err := screen.ParseSpan("for", u.For)
		return now.Add(span), err
	case u.Until == "":
		return time.Time{}, exit.Usage(errors.New("say how long with --for 1h, or until when " +
			"with --until 18:00"))
	}
	at, err := parseUntil(u.Until, now)
	if err == nil && !at.After(now) {
		err = exit.Usage(fmt.Errorf("--until: %s has passed (%s): name a time in the future",
			screen.Plain(u.Until), local(at)))
	}
	return at, err
}

// parseUntil reads a time as people write it by their own clock, or as the API does.
func parseUntil(text string, now time.Time) (time.Time, error) {
	if at, err := time.ParseInLocation("15:04", text, time.Local); err == nil {
		y, m, d := now.Local().Date()
		return time.Date(y, m, d, at.Hour(), at.Minute(), 0, 0, time.Local), nil
	}
	for _, form := range []string{"2006-01-02 15:04", time.DateTime, "2006-01-02T15:04",
		time.DateOnly} {
		if at, err := time.ParseInLocation(form, text, time.Local); err == nil {
			return at, nil
		}
	}
	at, err := screen.ParseTime("until", text, now)
	if err != nil {
		err = exit.Usage(fmt.Errorf("--until: %q is not a time: use 18:00, \"2026-12-01 18:00\" "+
			"or 2026-12-01T18:00:00Z", text))
	}
	return at, err
}

// local is a time by this machine's clock, as --until takes it.
func local(at time.Time) string { return at.Local().Format(time.DateTime) }

// Author is who makes a silence.
type Author struct {
	Author string `help:"Who does it. Without it: the user who runs this." placeholder:"NAME"`
}

func (a *Author) name() string {
	if a.Author != "" {
		return a.Author
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "somebody"
}
