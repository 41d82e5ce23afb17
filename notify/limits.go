package notify

import (
	"errors"
	"fmt"
)

// Limits bound what one account may take. All are at least 1.
type Limits struct {
	MaxSilences     int `yaml:"max_silences"`      // those that ended less than Retention ago, too
	MaxSilenceBytes int `yaml:"max_silence_bytes"` // one silence with its comment
	MaxAlerts       int `yaml:"max_alerts"`        // that fire, or ended within half an hour
	MaxAlertBytes   int `yaml:"max_alert_bytes"`   // labels and annotations of one alert
	MaxBytes        int `yaml:"max_bytes"`         // of all alerts
	MaxGroups       int `yaml:"max_groups"`        // a group is a message, a timer and a goroutine
	// MaxMessageAlerts is how many alerts one message has at most; webhooks are told how many more.
	MaxMessageAlerts int `yaml:"max_message_alerts"`
	MaxHistoryBytes  int `yaml:"max_history_bytes"` // of messages and silences, on disk
}

// DefaultLimits are for a fleet of some thousand nodes: about 50 MB of alerts if all of it fires.
func DefaultLimits() Limits {
	return Limits{
		MaxSilences: 1000, MaxSilenceBytes: 16 << 10,
		MaxAlerts: 20_000, MaxAlertBytes: 64 << 10, MaxBytes: 32 << 20,
		MaxGroups: 2000, MaxMessageAlerts: 500, MaxHistoryBytes: 64 << 20,
	}
}

// Validate reports everything that is wrong at once.
func (l Limits) Validate() error {
	var errs []error
	for _, one := range []struct {
		name  string
		value int
	}{
		{"max_silences", l.MaxSilences}, {"max_silence_bytes", l.MaxSilenceBytes},
		{"max_alerts", l.MaxAlerts}, {"max_alert_bytes", l.MaxAlertBytes},
		{"max_bytes", l.MaxBytes}, {"max_groups", l.MaxGroups},
		{"max_message_alerts", l.MaxMessageAlerts}, {"max_history_bytes", l.MaxHistoryBytes},
	} {
		if one.value < 1 {
			errs = append(errs, fmt.Errorf("%s is %d: use 1 or more", one.name, one.value))
		}
	}
	return errors.Join(errs...)
}

// MaxNumberOfAggregationGroups implements dispatch.Limits.
func (l Limits) MaxNumberOfAggregationGroups() int { return l.MaxGroups }
