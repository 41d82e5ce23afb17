package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"
)

// readyTimeout bounds how long an engine may take to answer before it counts as away.
const readyTimeout = 3 * time.Second

func getHealthy(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "healthy\n")
}

// readiness says what the server can reach. Without the recent source every answer is still
// right, so that does not make it unready; nor does the index of series while it is loaded,
// because its answers say what they lack and all others need none of it.
type readiness struct {
	Ready  bool   `json:"ready"`
	Store  string `json:"store"`  // "ok" or what is wrong
	Recent string `json:"recent"` // the same, or "off"
	Series string `json:"series"` // "ok", "off", or what the index of series lacks

	// what an operator should know although the server is ready
	Warning string `json:"warning,omitempty"`
}

// getReady answers /-/ready.
func (d *Deps) getReady(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	recent := make(chan string, 1)
	go func() {
		if d.RecentReady == nil {
			recent <- "off"
			return
		}
		recent <- ok(d.RecentReady(ctx))
	}()
	a := readiness{Store: ok(d.StoreReady(ctx)), Recent: <-recent, Series: "off"}
	if d.SeriesState != nil {
		a.Series = d.SeriesState()
	}
	if a.Ready = a.Store == "ok"; a.Ready && d.Warning != nil {
		a.Warning = d.Warning(ctx)
	}
	w.Header().Set("Content-Type", "application/json")
	if !a.Ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(a) // a client that went away misses nothing
}

func ok(err error) string {
	if err != nil {
		return err.Error()
	}
	return "ok"
}
