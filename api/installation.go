package api

import (
	"net/http"

	"github.com/ringwatch/ringwatch/access/account"
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

// getInstallation answers /v1/installation.
func (s *Server) getInstallation(w http.ResponseWriter, r *http.Request,
	_ account.Principal) error {
	if _, err := parameters(r); err != nil {
		return err
	}
	answer := installationAnswer{Installation: s.deps.Installed, Away: []awayTime{}}
	if s.deps.Away != nil {
		for _, span := range s.deps.Away() {
			of := awayTime{From: formatTime(span.From)}
			if span.To != 0 {
				of.To = formatTime(span.To)
			}
			answer.Away = append(answer.Away, of)
		}
	}
	return writeJSON(w, r, answer)
}

// installationAnswer says also when Ringwatch itself was away: what charts lack of that time no
// node is to blame for.
type installationAnswer struct {
	Installation
	Away []awayTime `json:"away"`
}

// awayTime is a time in which no process took frames. Without To it lasts.
type awayTime struct {
	From string `json:"from"`
	To   string `json:"to,omitempty"`
}
