package rules

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	selectors "github.com/ringwatch/ringwatch/query/selector"
)

// PromRules answers Prometheus's /api/v1/rules. match reads match[].
func (s *Status) PromRules(
	match *selectors.Parser,
) func(account.Principal, url.Values) (any, error) {
	bad := func(field, text string) error {
		return &listener.Error{Status: http.StatusBadRequest, Reason: "bad_data", Field: field,
			Message: text}
	}
	return func(who account.Principal, q url.Values) (any, error) {
		f := Filter{Type: q.Get("type"), Files: q["file[]"], Groups: q["rule_group[]"],
			Names: q["rule_name[]"], Owns: who.Owns,
			WithoutAlerts: q.Get("exclude_alerts") == "true"}
		if f.Type != "" && f.Type != "alert" && f.Type != "record" {
			return nil, bad("type", "type must be alert or record: leave it out for all rules")
		}
		read := match.Request(context.Background())
		for _, text := range q["match[]"] {
			m, err := read.Selector(text)
			if err != nil {
				return nil, bad("match[]", fmt.Sprintf("match[]: %v", err))
			}
			f.Match = append(f.Match, m)
		}
		limit, token := 0, q.Get("group_next_token")
		if text := q.Get("group_limit"); text != "" {
			var err error
			if limit, err = strconv.Atoi(text); err != nil || limit < 0 {
				return nil, bad("group_limit",
					"group_limit must be a number of groups: 0 means all")
			}
		} else if token != "" {
			return nil, bad("group_next_token", "group_next_token needs group_limit: set both")
		}
		page, next, ok := Page(s.Groups(who.Account, f), limit, token)
		if !ok {
			return nil, bad("group_next_token",
				"no group has this group_next_token, since rules have changed: begin without it")
		}
		data := map[string]any{"groups": page}
		if next != "" {
			data["groupNextToken"] = next
		}
		return data, nil
	}
}

// PromAlerts answers Prometheus's /api/v1/alerts.
func (s *Status) PromAlerts(who account.Principal) any {
	return map[string]any{"alerts": s.Alerts(who.Account, who.Owns)}
}
