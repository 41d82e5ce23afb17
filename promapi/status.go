package promapi

import (
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/ringwatch/ringwatch/account"
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

func (a *API) buildInfo(*http.Request, account.Principal) (answer, error) {
	return answer{data: map[string]string{
		"application": "Ringwatch", "version": prometheusVersion, "revision": a.Version, "branch": "", "buildUser": "", "buildDate": "", "goVersion": runtime.Version(),
	}}, nil
}

func (a *API) runtimeInfo(*http.Request, account.Principal) (answer, error) {
	return answer{data: map[string]any{
		"startTime": a.started.UTC().Format(time.RFC3339), "serverTime": a.Clock().UTC().Format(time.RFC3339), "CWD": "", "hostname": "",
		"reloadConfigSuccess": true, "lastConfigTime": a.started.UTC().Format(time.RFC3339), "corruptionCount": 0, "goroutineCount": runtime.NumGoroutine(),
		"GOMAXPROCS": runtime.GOMAXPROCS(0), "GOMEMLIMIT": debug.SetMemoryLimit(-1), "GOGC": "", "GODEBUG": "", "storageRetention": "",
	}}, nil
}

func (a *API) flags(*http.Request, account.Principal) (answer, error) {
	if a.Flags == nil {
		return answer{data: map[string]string{}}, nil
	}
	return answer{data: a.Flags}, nil
}

func (a *API) configuration(*http.Request, account.Principal) (answer, error) {
	text := ""
	if a.Config != nil {
		text = a.Config()
	}
	return answer{data: map[string]string{"yaml": text}}, nil
}

func (a *API) rules(r *http.Request, who account.Principal) (answer, error) {
	if a.Rules == nil {
		return answer{data: map[string]any{"groups": []string{}}}, nil
	}
	data, err := a.Rules(who, r.Form)
	return answer{data: data}, err
}

func (a *API) alerts(_ *http.Request, who account.Principal) (answer, error) {
	if a.Alerts == nil {
		return answer{data: map[string]any{"alerts": []string{}}}, nil
	}
	return answer{data: a.Alerts(who)}, nil
}

func (a *API) alertmanagers(*http.Request, account.Principal) (answer, error) {
	return answer{data: map[string]any{"activeAlertmanagers": []string{},
		"droppedAlertmanagers": []string{}}}, nil
}
