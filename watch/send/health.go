package send

import (
	"errors"
	"log/slog"
	"net/http"
	"strconv"
)

// Health is what the log was told last of sending something.
type Health struct {
	What    string // of which frames are made: "the process's own metrics"
	Section string // of the configuration: "self"
	Log     *slog.Logger

	failed int    // times in a row
	said   string // what the log has of it; empty: nothing
}

// patience is how many times sending may fail in a row before the log says so, unless ingest
// refuses: processes start together, and ingest is seldom the first that is ready.
const patience = 3

// Note writes a line when sending begins to fail, fails for another reason, or works again.
func (h *Health) Note(err error) {
	if err == nil {
		if h.said != "" {
			h.Log.Info("ingest takes " + h.What + " again")
		}
		h.failed, h.said = 0, ""
		return
	}
	h.failed++
	why, remedy := "away", "they wait; check "+h.Section+".url if this goes on"
	if said, is := errors.AsType[*Answer](err); is && said.Status < 500 &&
		said.Status != http.StatusTooManyRequests {
		why = strconv.Itoa(said.Status)
		remedy = "correct " + h.Section + ".key or the account; nothing else is affected"
	} else if h.failed < patience {
		return
	}
	if h.said == why {
		return
	}
	h.said = why
	h.Log.Warn("ingest does not take "+h.What+": "+remedy, "error", err)
}
