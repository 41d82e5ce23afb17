package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/refusal"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/clock"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/disk"
	people "github.com/ringwatch/ringwatch/notify"
	"github.com/ringwatch/ringwatch/rules/notify"
)

// openPeople wires alerts → people, and the part that reads the configuration again and ends it.
// nil: this process has no directory for it, and nobody asks for it.
func openPeople(p *Process) (*people.Notifier, Part, error) {
	dir, err := p.Config.NotifyDir()
	if err != nil {
		return nil, nil, exit.Usage(err)
	}
	if dir == "" {
		return nil, nil, nil
	}
	o := people.DefaultOptions()
	o.Dir, o.Limits, o.Metrics, o.Log = dir, p.Config.Notify.Limits, p.Metrics, p.Log
	o.FiringLasts = p.Config.Notify.FiringLasts
	o.Gossip = p.Config.Notify.Gossip
	o.StopTimeout = max(p.Config.Notify.StopTimeout, time.Second)
	o.NameAccounts = len(p.Config.Accounts) > 1
	if o.Configs, err = p.Config.Notify.People(p.Config.File); err != nil {
		return nil, nil, exit.Usage(err)
	}
	if text := p.Config.API.PublicURL; text != "" {
		if o.Console, err = url.Parse(text); err != nil {
			return nil, nil, exit.Usage(err)
		}
	}
	o.Insights = p.besideAlerts
	n, err := people.Open(o)
	if errors.Is(err, disk.ErrInUse) {
		return nil, nil, exit.Usage(err)
	}
	if err != nil {
		return nil, nil, err
	}
	p.people = n
	if o.Gossip.On() {
		// Members exchange the state of accounts that are open: before the first alert comes.
		for _, a := range p.Config.Accounts {
			if _, err := n.Handler(a.Name); err != nil {
				return nil, nil, errors.Join(err, n.Close())
			}
		}
	}
	return n, func(ctx context.Context) error {
		reloadPeople(ctx, p, n, o.Configs)
		return n.Close()
	}, nil
}

// reloadPeople reads the files again as often as rule files, until ctx ends. What is wrong with
// them is said once, and what was in force stays.
func reloadPeople(ctx context.Context, p *Process, n *people.Notifier, inForce people.Configs) {
	read, refused := texts(p, inForce), ""
	for {
		clock.Pause(ctx, p.Config.Rules.Reload)
		if ctx.Err() != nil {
			return
		}
		now := texts(p, inForce)
		if now == read || now == refused {
			continue
		}
		configs, err := p.Config.Notify.People(p.Config.File)
		if err == nil {
			err = n.Reload(configs)
		}
		if err != nil {
			refused = now
			p.Log.Error("the receivers of alerts are wrong; the earlier ones stay in force",
				"error", err)
			continue
		}
		inForce = configs
		read, refused = texts(p, inForce), ""
		p.Log.Info("the receivers of alerts have changed")
	}
}

// texts is all that the files say from which receivers are made.
func texts(p *Process, c people.Configs) string {
	var all strings.Builder
	files := p.Config.Notify.Files()
	for _, one := range append(slices.Collect(maps.Values(c.Own)), c.Shared) {
		if one == nil {
			continue
		}
		for _, pattern := range one.Templates() {
			found, _ := filepath.Glob(pattern) // it was read
			files = append(files, found...)
		}
	}
	slices.Sort(files)
	for _, file := range slices.Compact(files) {
		text, err := os.ReadFile(file)
		fmt.Fprintln(&all, file, err, string(text))
	}
	return all.String()
}

// tellPeople sends alerts to people as well.
func tellPeople(p *Process, n *people.Notifier, alerts []notify.Alert) {
	list := make([]people.Alert, 0, len(alerts))
	for i := range alerts {
		a := &alerts[i]
		one := people.Alert{Account: a.Account, Labels: a.Labels, Annotations: a.Annotations,
			StartsAt: a.StartsAt, ValidUntil: a.ValidUntil, GeneratorURL: a.GeneratorURL,
			File: a.File, Group: a.Group}
		if a.State == notify.Resolved {
			one.EndsAt = a.EndsAt
		}
		list = append(list, one)
	}
	err := n.Put(context.Background(), list...)
	if err != nil && !errors.Is(err, people.ErrClosed) { // the rules say it again to who comes then
		p.Log.Error("alerts cannot be told to people", "alerts", len(list), "error", err)
	}
}

// alertmanagerPath is where an account's Alertmanager answers.
const alertmanagerPath = "/alertmanager"

// alertmanagerAPI is Alertmanager's API of the account of a key. Silencing and adding alerts need
// the scope of who may change rules: agents' keys lie on every node, and must not quiet anything.
func alertmanagerAPI(p *Process) []listener.Route {
	ask := func(pattern string, scope account.Scope) listener.Route {
		return listener.Route{Pattern: pattern, Scope: scope,
			Handle: func(w http.ResponseWriter, r *http.Request, who account.Principal) error {
				return askAlertmanager(p, w, r, who)
			}}
	}
	return []listener.Route{
		ask("GET "+alertmanagerPath+"/{rest...}", account.Read),
		ask("POST "+alertmanagerPath+"/api/v2/alerts", account.Rules),
		ask("POST "+alertmanagerPath+"/api/v2/silences", account.Rules),
		ask("DELETE "+alertmanagerPath+"/api/v2/silence/{silence}", account.Rules),
		{Pattern: "POST " + testPath, Scope: account.Rules,
			Handle: func(w http.ResponseWriter, r *http.Request, who account.Principal) error {
				return testReceiver(p, w, r, who)
			}},
		{Pattern: "GET " + showPath,
			Handle: func(w http.ResponseWriter, r *http.Request, who account.Principal) error {
				return showNotices(p, w, r, who)
			}},
		{Pattern: "GET " + messagesPath,
			Handle: func(w http.ResponseWriter, r *http.Request, who account.Principal) error {
				return listMessages(p, w, r, who)
			}},
		{Pattern: "GET " + silencedPath,
			Handle: func(w http.ResponseWriter, r *http.Request, who account.Principal) error {
				return listSilenced(p, w, r, who)
			}},
	}
}

func askAlertmanager(
	p *Process, w http.ResponseWriter, r *http.Request, who account.Principal,
) error {
	if err := tellsPeople(p, who); err != nil {
		return err
	}
	h, err := p.people.Handler(who.Account)
	if err != nil {
		return asRefusal(err)
	}
	http.StripPrefix(alertmanagerPath, h).ServeHTTP(w, r)
	return nil
}

// tellsPeople refuses a key that sees a part of an account, and where nobody is told.
func tellsPeople(p *Process, who account.Principal) error {
	if who.Limited() {
		return &listener.Error{Status: http.StatusForbidden, Reason: "limited_key",
			Field: "Authorization",
			Message: "this key sees some of the account's clusters, and Alertmanager's API is of " +
				"all of them: use a key without clusters"}
	}
	if p.people == nil {
		return &listener.Error{Status: http.StatusNotImplemented, Reason: "no_alertmanager",
			Message: "nobody is told of alerts in this process: ask ringwatch all, or give the " +
				"role rules notify.dir and ask it"}
	}
	return nil
}

// asRefusal is an error of people's in the words of the API.
func asRefusal(err error) error {
	if errors.Is(err, people.ErrClosed) {
		return &listener.Error{Status: http.StatusServiceUnavailable, Reason: "stopping",
			Message: "this process is about to end: ask again", RetryAfter: 1}
	}
	return err
}

// admitted lets a route answer on a listener without an API.
func (p *Process) admitted(route listener.Route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, err := p.Door.Admit(r)
		if scope := cmp.Or(route.Scope, account.Read); err == nil && !who.Can(scope) {
			err = &listener.Error{Status: http.StatusForbidden, Reason: "no_scope",
				Field: "Authorization",
				Message: fmt.Sprintf("this key does not have the scope %s: use one that has it, "+
					"such as ringwatch key create --scopes operator makes", scope)}
		}
		if err == nil {
			err = route.Handle(w, r, who)
		}
		if err != nil {
			refusal.Write(w, r, refusal.Of(r.Context(), err), route.Fail)
		}
	}
}
