package api

import (
	"net/http"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api/literal"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/api/request"
)

// Installation is how this Ringwatch is installed, as far as words depend on it.
type Installation struct {
	Stream string `json:"stream"` // what keeps frames on their way: kafka or directory
	Store  string `json:"store"`  // what keeps values: cassandra or directory
	Recent string `json:"recent"` // what keeps the last minutes: redis or memory
	// Ingest is where its configuration has ingest.
	Ingest InstalledIngest `json:"ingest"`
	// Jar is where the agent's jar is beside the program.
	Jar string `json:"jar,omitempty"`
}

// InstalledIngest is how agents reach ingest: whatever the machine is called, at a port.
type InstalledIngest struct {
	TLS  bool `json:"tls"`
	Port int  `json:"port"`
}

// installation says also when Ringwatch itself was away: what charts lack of that time no
// node is to blame for.
type installation struct {
	Installation
	Away []absence `json:"away"`
}

// absence is a time in which no process took frames. Without To it lasts.
type absence struct {
	From string `json:"from"`
	To   string `json:"to,omitempty"`
}

// getInstallation answers /v1/installation.
func (d *Deps) getInstallation(w http.ResponseWriter, r *http.Request,
	_ account.Principal) error {
	if _, err := request.Parameters(r); err != nil {
		return err
	}
	answer := installation{Installation: d.Installed, Away: []absence{}}
	if d.Away != nil {
		for _, span := range d.Away() {
			away := absence{From: literal.Time(span.From)}
			if span.To != 0 {
				away.To = literal.Time(span.To)
			}
			answer.Away = append(answer.Away, away)
		}
	}
	return reply.JSON(w, r, answer)
}
