package promapi

import (
	"net/http"
	"strings"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
)

// Routes returns the endpoints, each for keys with the scope read.
func (a *API) Routes() []listener.Route {
	var list []listener.Route
	status := &status{&a.Deps, a.started}
	add := func(methods, path string, h func(http.ResponseWriter, *http.Request,
		account.Principal) error) {
		for _, method := range strings.Fields(methods) {
			list = append(list, listener.Route{Pattern: method + " " + path, Handle: h, Fail: fail})
		}
	}
	get := func(path string, h func(r *http.Request, p account.Principal) (answer, error)) {
		add("GET", path, a.json(h))
	}
	form := func(path string, h func(r *http.Request, p account.Principal) (answer, error)) {
		add("GET POST", path, a.json(h))
	}
	add("GET POST", "/api/v1/query", a.query)
	add("GET POST", "/api/v1/query_range", a.queryRange)
	form("/api/v1/query_exemplars", a.exemplars)
	form("/api/v1/series", a.series)
	form("/api/v1/labels", a.labels)
	get("/api/v1/label/{name}/values", a.labelValues)
	get("/api/v1/metadata", a.metadata)
	form("/api/v1/format_query", a.formatQuery)
	form("/api/v1/parse_query", a.parseQuery)
	get("/api/v1/status/buildinfo", status.buildInfo)
	get("/api/v1/status/runtimeinfo", status.runtimeInfo)
	get("/api/v1/status/flags", status.flags)
	get("/api/v1/status/config", status.configuration)
	get("/api/v1/status/tsdb", a.tsdb)
	get("/api/v1/status/tsdb/blocks", a.blocks)
	get("/api/v1/status/walreplay", a.walReplay)
	get("/api/v1/features", status.features)
	get("/api/v1/notifications", status.notifications)
	add("GET", "/api/v1/notifications/live", status.liveNotifications)
	get("/api/v1/rules", status.rules)
	get("/api/v1/alerts", status.alerts)
	get("/api/v1/alertmanagers", status.alertmanagers)
	get("/api/v1/targets", a.targets)
	add("GET", "/api/v1/targets/metadata", a.targetMetadata)
	add("POST", "/api/v1/read", a.read)
	add("GET", "/federate", a.federate)
	return list
}
