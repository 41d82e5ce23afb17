package promapi

import (
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/prometheus/prometheus/template"
	"github.com/prometheus/prometheus/util/features"

	"github.com/ringwatch/ringwatch/access/account"
)

// prometheusVersion is the release of Prometheus whose engine this is: v0.315.0 of its Go module is
// release 3.15.0.
var prometheusVersion = func() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "github.com/prometheus/prometheus" {
				var minor, patch int
				if _, err := fmt.Sscanf(m.Version, "v0.3%d.%d", &minor, &patch); err == nil {
					return fmt.Sprintf("3.%d.%d", minor, patch)
				}
			}
		}
	}
	return "3.0.0"
}()

// status answers what the process is, and what does not depend on values.
type status struct {
	deps    *Deps
	started time.Time
}

func (s *status) buildInfo(*http.Request, account.Principal) (answer, error) {
	return answer{data: map[string]string{
		"application": "Ringwatch", "version": prometheusVersion, "revision": s.deps.Version,
		"branch": "", "buildUser": "", "buildDate": "", "goVersion": runtime.Version(),
	}}, nil
}

func (s *status) runtimeInfo(*http.Request, account.Principal) (answer, error) {
	return answer{data: map[string]any{
		"startTime":  s.started.UTC().Format(time.RFC3339),
		"serverTime": s.deps.Clock().UTC().Format(time.RFC3339), "CWD": "", "hostname": "",
		"reloadConfigSuccess": true, "lastConfigTime": s.started.UTC().Format(time.RFC3339),
		"corruptionCount": 0, "goroutineCount": runtime.NumGoroutine(),
		"GOMAXPROCS": runtime.GOMAXPROCS(0), "GOMEMLIMIT": debug.SetMemoryLimit(-1), "GOGC": "",
		"GODEBUG": "", "storageRetention": "",
	}}, nil
}

func (s *status) flags(*http.Request, account.Principal) (answer, error) {
	if s.deps.Flags == nil {
		return answer{data: map[string]string{}}, nil
	}
	return answer{data: s.deps.Flags}, nil
}

func (s *status) configuration(*http.Request, account.Principal) (answer, error) {
	text := ""
	if s.deps.Config != nil {
		text = s.deps.Config()
	}
	return answer{data: map[string]string{"yaml": text}}, nil
}

func (s *status) rules(r *http.Request, who account.Principal) (answer, error) {
	if s.deps.Rules == nil {
		return answer{data: map[string]any{"groups": []string{}}}, nil
	}
	data, err := s.deps.Rules(who, r.Form)
	return answer{data: data}, err
}

func (s *status) alerts(_ *http.Request, who account.Principal) (answer, error) {
	if s.deps.Alerts == nil {
		return answer{data: map[string]any{"alerts": []string{}}}, nil
	}
	return answer{data: s.deps.Alerts(who)}, nil
}

func (s *status) alertmanagers(*http.Request, account.Principal) (answer, error) {
	return answer{data: map[string]any{"activeAlertmanagers": []string{},
		"droppedAlertmanagers": []string{}}}, nil
}

// has are the features of Prometheus beside PromQL that are here, or not; those that no client asks
// for, such as how it finds targets, are not named.
var has = map[string]map[string]bool{
	"api": {
		"admin": false, "exclude_alerts": true, "label_values_match": true, "lifecycle": false,
		"openapi_3.1": false, "openapi_3.2": false, "otlp_write_receiver": false,
		"query_stats":    true,
		"query_warnings": true, "remote_write_receiver": false, "search": false,
		"time_range_labels": true, "time_range_series": true,
	},
	"otlp_receiver": {"delta_conversion": false, "native_delta_ingestion": false},
	"prometheus":    {"agent_mode": false, "auto_reload_config": false, "server_mode": true},
	"rules":         {"concurrent_rule_eval": false, "keep_firing_for": true, "query_offset": true},
	"tsdb":          {"exemplar_storage": false, "native_histograms": true},
	"ui":            {"ui_v2": false, "ui_v3": false},
}

func (s *status) features(*http.Request, account.Principal) (answer, error) {
	templates := features.NewRegistry()
	template.RegisterFeatures(templates)
	all := s.deps.Engine.Features()
	maps.Copy(all, templates.Get())
	maps.Copy(all, has)
	return answer{data: all}, nil
}

// notifications tells nothing: what goes wrong is in alerts and in /-/ready.
func (s *status) notifications(*http.Request, account.Principal) (answer, error) {
	return answer{data: []string{}}, nil
}

// liveNotifications answers as a Prometheus that has no place for one more listener: a browser's
// EventSource does not come again then.
func (s *status) liveNotifications(w http.ResponseWriter, _ *http.Request,
	_ account.Principal) error {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusNoContent)
	return nil
}
