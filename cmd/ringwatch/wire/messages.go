package wire

import (
	"net/http"
	"strconv"
	"time"

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
	q := people.HistoryQuery{To: time.Now(), Limit: messagesLimit, Labels: map[string]string{}}
	span, err := request.ParseRange(values, q.To.UnixMilli())
	if err != nil {
		return err
	}
	if !span.Latest {
		q.From, q.To = time.UnixMilli(span.From), time.UnixMilli(span.To)
	}
	if values.Has("limit") {
		if q.Limit, err = strconv.Atoi(values.Get("limit")); err != nil || q.Limit < 1 ||
			q.Limit > people.MaxHistory {
			return &listener.Error{Status: http.StatusBadRequest, Reason: "bad_limit",
				Field: "limit", Message: "limit must be a number from 1 to " +
					strconv.Itoa(people.MaxHistory)}
		}
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
