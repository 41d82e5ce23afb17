package wire

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/prometheus/alertmanager/api/v2/models"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/api/request"
	people "github.com/ringwatch/ringwatch/notify"
)

// messagesPath is what receivers were told, and what became of it.
const messagesPath = alertmanagerPath + "/ringwatch/messages"

// messagesLimit is how many messages an answer has unless limit= says otherwise.
const messagesLimit = 100

// listMessages answers GET /alertmanager/ringwatch/messages with what receivers were told, the
// newest first. from=, to=, period=, limit=, cluster=, node= and alert= narrow it.
func listMessages(p *Process, w http.ResponseWriter, r *http.Request,
	who account.Principal) error {
	if err := tellsPeople(p, who); err != nil {
		return err
	}
	values, err := request.Parameters(r, "from", "to", "period", "limit", "cluster", "node",
		"alert")
	if err != nil {
		return err
	}
	q := people.HistoryQuery{Labels: map[string]string{}}
	if q.From, q.To, q.Limit, err = spanOf(values); err != nil {
		return err
	}
	for parameter, label := range map[string]string{"cluster": "cluster", "node": "node",
		"alert": "alertname"} {
		if value := values.Get(parameter); value != "" {
			q.Labels[label] = value
		}
	}
	list, more, err := p.people.Messages(who.Account, q)
	if err != nil {
		return asRefusal(err)
	}
	if list == nil {
		list = []people.Told{}
	}
	return reply.JSON(w, r, struct {
		Messages []people.Told `json:"messages"`
		More     bool          `json:"more"` // there are older ones
	}{list, more})
}

// spanOf reads from=, to=, period= and limit=. Without them it is all that is known, until now.
func spanOf(values url.Values) (from, to time.Time, limit int, err error) {
	to, limit = time.Now(), messagesLimit
	span, err := request.ParseRange(values, to.UnixMilli())
	if err != nil {
		return from, to, 0, err
	}
	if !span.Latest {
		from, to = time.UnixMilli(span.From), time.UnixMilli(span.To)
	}
	if values.Has("limit") {
		if limit, err = strconv.Atoi(values.Get("limit")); err != nil || limit < 1 ||
			limit > people.MaxHistory {
			return from, to, 0, &listener.Error{Status: http.StatusBadRequest, Reason: "bad_limit",
				Field: "limit", Message: "limit must be a number from 1 to " +
					strconv.Itoa(people.MaxHistory)}
		}
	}
	return from, to, limit, nil
}

// silencedPath is which silences held, also those that Alertmanager's API does not know any more.
const silencedPath = alertmanagerPath + "/ringwatch/silences"

// listSilenced answers GET /alertmanager/ringwatch/silences with silences that held at some time,
// in Alertmanager's form, those that began last first. from=, to=, period= and limit= narrow it.
func listSilenced(p *Process, w http.ResponseWriter, r *http.Request, who account.Principal) error {
	if err := tellsPeople(p, who); err != nil {
		return err
	}
	values, err := request.Parameters(r, "from", "to", "period", "limit")
	if err != nil {
		return err
	}
	from, to, limit, err := spanOf(values)
	if err != nil {
		return err
	}
	list, more, err := p.people.Silenced(who.Account, from, to, limit)
	if err != nil {
		return asRefusal(err)
	}
	if list == nil {
		list = []*models.GettableSilence{}
	}
	return reply.JSON(w, r, struct {
		Silences []*models.GettableSilence `json:"silences"`
		More     bool                      `json:"more"` // there are others, which began earlier
	}{list, more})
}
