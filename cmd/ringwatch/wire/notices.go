package wire

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/api/request"
	people "github.com/ringwatch/ringwatch/notify"
	"github.com/ringwatch/ringwatch/query/nearest"
)

// Beside Alertmanager's own paths: a test of a receiver, and who is told of what.
const (
	testPath = alertmanagerPath + "/ringwatch/test"
	showPath = alertmanagerPath + "/ringwatch/show"
)

// maxTestBody is what a request for a test may have: a name.
const maxTestBody = 64 << 10

// testReceiver answers POST /alertmanager/ringwatch/test with {"receiver": "NAME"} when the
// receiver has answered.
func testReceiver(p *Process, w http.ResponseWriter, r *http.Request,
	who account.Principal) error {
	if err := tellsPeople(p, who); err != nil {
		return err
	}
	var body struct {
		Receiver string `json:"receiver"`
	}
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxTestBody)).Decode(&body)
	if err != nil || body.Receiver == "" {
		return &listener.Error{Status: http.StatusBadRequest, Reason: "bad_body", Cause: err,
			Message: `the body must be {"receiver": "NAME"}`}
	}
	list, err := p.people.Test(r.Context(), who.Account, body.Receiver)
	if unknown, is := errors.AsType[*people.UnknownReceiverError](err); is {
		return &listener.Error{Status: http.StatusNotFound, Reason: "unknown_receiver",
			Field: "receiver", Message: unknown.Error() + ": " +
				nearest.Offer(unknown.Name, unknown.Receivers)}
	}
	if errors.Is(err, people.ErrSendsNothing) {
		return &listener.Error{Status: http.StatusConflict, Reason: "sends_nothing",
			Field: "receiver", Message: err.Error()}
	}
	if err != nil {
		return asRefusal(err)
	}
	return reply.JSON(w, r, struct {
		Receiver   string            `json:"receiver"`
		Deliveries []people.Delivery `json:"deliveries"`
	}{body.Receiver, list})
}

// showNotices answers GET /alertmanager/ringwatch/show: who is told of what fires, or of the alerts
// with a name or fingerprint.
func showNotices(p *Process, w http.ResponseWriter, r *http.Request, who account.Principal) error {
	if err := tellsPeople(p, who); err != nil {
		return err
	}
	q, err := request.Parameters(r, "alert")
	if err != nil {
		return err
	}
	list, more, err := p.people.Show(r.Context(), who.Account, q.Get("alert"))
	if unknown, is := errors.AsType[*people.UnknownAlertError](err); is {
		return &listener.Error{Status: http.StatusNotFound, Reason: "unknown_alert", Field: "alert",
			Message: unknown.Error() + ": " + nearest.Offer(unknown.Name, unknown.Alerts)}
	}
	if err != nil {
		return asRefusal(err)
	}
	if list == nil {
		list = []people.Notice{}
	}
	return reply.JSON(w, r, struct {
		Notices []people.Notice `json:"notices"`
		More    int             `json:"more,omitempty"` // groups that are left out
	}{list, more})
}
