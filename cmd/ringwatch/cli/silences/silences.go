// Package silences has the commands that keep alerts quiet: silence, for whatever matches, and
// maintenance, for one node that somebody works on. Begin with SilenceCmd and MaintenanceCmd.
//
// Both ask Alertmanager's API v2 below /alertmanager, so other tools of Alertmanager list and end
// the same silences. A maintenance is a silence whose comment begins with "maintenance: ", and
// which matches a cluster and the id of a node, nothing less: so it keeps no alert of another node
// quiet, and none that is about the cluster, such as CassandraNodesDown.
//
// What bites: times are those of the machine that runs the command, and the label node is a node's
// id. Who writes node=db-3 gets the id of the node that is called so.
package silences

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/prometheus/alertmanager/pkg/labels"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
)

// SilenceCmd is ringwatch silence.
type SilenceCmd struct {
	Add  AddCmd  `cmd:"" help:"Keep alerts quiet for a time."`
	List ListCmd `cmd:"" help:"List what is kept quiet, until when, by whom and why."`
	End  EndCmd  `cmd:"" help:"End silences before their time."`
}

// MaintenanceCmd is ringwatch maintenance.
type MaintenanceCmd struct {
	Begin BeginCmd `cmd:"" help:"Ask whether it is safe to work on a node, and keep its alerts quiet."`
	End   DoneCmd  `cmd:"" help:"Wait until the node is well again, and end its silence."`
	List  WorkCmd  `cmd:"" help:"List the nodes in maintenance."`
}

// States of a silence.
const (
	active  = "active"
	pending = "pending"
	expired = "expired"
)

// Silence is one as Alertmanager's API has it.
type Silence struct {
	ID        string          `json:"id,omitempty"`
	Status    *Status         `json:"status,omitempty"`
	Matchers  labels.Matchers `json:"matchers"`
	StartsAt  time.Time       `json:"startsAt"`
	EndsAt    time.Time       `json:"endsAt"`
	CreatedBy string          `json:"createdBy"`
	Comment   string          `json:"comment"`
	// Alerts is how many alerts it keeps quiet that fire now. The API does not have it.
	Alerts *int `json:"alerts,omitempty"`
}

// Status is what a silence does.
type Status struct {
	State string `json:"state"`
}

// is reports whether a silence is in one of these states.
func (s *Silence) is(states ...string) bool {
	for _, one := range states {
		if s.Status != nil && s.Status.State == one {
			return true
		}
	}
	return false
}

// alertmanager is where the API is.
const alertmanager = "/alertmanager/api/v2"

// AskSilences returns all silences that are known: active ones, then pending, then expired ones,
// each by their end.
func AskSilences(ctx context.Context, api *client.Client) ([]Silence, error) {
	var list []Silence
	return list, api.Ask(ctx, alertmanager+"/silences", nil, &list)
}

// mayChange refuses a key that may not silence, before anything is waited for. Where nothing says
// what a key may do, the API decides when the silence comes.
func mayChange(ctx context.Context, api *client.Client) error {
	var me struct{ Scopes []account.Scope }
	err := api.Ask(ctx, "/v1/me", nil, &me)
	if err != nil || slices.Contains(me.Scopes, account.Rules) {
		return nil
	}
	return fmt.Errorf("this key does not have the scope %s: use one that has it, such as "+
		"ringwatch key create --scopes operator makes", account.Rules)
}

// told makes an interruption a failure: a script must not go on as if a silence began or ended.
func told(err error) error {
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted: ringwatch silence list says what is quiet")
	}
	return err
}

// startsEarly is how far before now a silence is said to start: Alertmanager makes it now by its
// own clock, and with a clock that goes slower the silence would wait.
const startsEarly = 24 * time.Hour

// post makes a silence that starts now, and returns its id.
func post(ctx context.Context, api *client.Client, s Silence, now time.Time) (string, error) {
	s.StartsAt = now.Add(-startsEarly)
	body, err := api.Post(ctx, alertmanager+"/silences", s)
	if err != nil {
		return "", err
	}
	var answer struct{ SilenceID string }
	if err := json.Unmarshal(body, &answer); err != nil || answer.SilenceID == "" {
		return "", fmt.Errorf("the API's answer cannot be read (%v): use a program of the API's "+
			"version", err)
	}
	return answer.SilenceID, nil
}

// expire ends a silence.
func expire(ctx context.Context, api *client.Client, id string) error {
	_, err := api.Send(ctx, http.MethodDelete, alertmanager+"/silence/"+url.PathEscape(id), nil)
	return err
}

// firing is an alert that fires, told of or not.
type firing struct {
	Labels map[string]string
	Status struct{ SilencedBy []string }
}

// askMatching returns the alerts that fire now and match.
func askMatching(ctx context.Context, api *client.Client, matchers labels.Matchers) ([]firing,
	error) {
	of := url.Values{}
	for _, m := range matchers {
		of.Add("filter", m.String())
	}
	var list []firing
	return list, api.Ask(ctx, alertmanager+"/alerts", of, &list)
}

// countQuiet says of silences that are active how many alerts each keeps quiet.
func countQuiet(ctx context.Context, api *client.Client, list []Silence) error {
	var alerts []firing
	err := api.Ask(ctx, alertmanager+"/alerts", url.Values{"active": {"false"}}, &alerts)
	if err != nil {
		return err
	}
	counts := map[string]int{}
	for i := range alerts {
		for _, id := range alerts[i].Status.SilencedBy {
			counts[id]++
		}
	}
	for i := range list {
		if list[i].is(active) {
			n := counts[list[i].ID]
			list[i].Alerts = &n
		}
	}
	return nil
}

// quietText says how many alerts that fire now are kept quiet.
func quietText(n int) string {
	switch n {
	case 0:
		return "No alert fires now that it keeps quiet."
	case 1:
		return "It keeps 1 alert quiet that fires now."
	}
	return fmt.Sprintf("It keeps %d alerts quiet that fire now.", n)
}
