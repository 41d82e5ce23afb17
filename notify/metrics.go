package notify

import (
	"context"
	"strings"

	"github.com/prometheus/alertmanager/silence"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// metrics are of all accounts together; Handler's /metrics has Alertmanager's own of one account.
// accepted = held alerts and their repeats + dropped.
type metrics struct {
	accepted prometheus.Counter
	dropped  *prometheus.CounterVec
	all      func() []*account
	members  func() int
}

func newMetrics() *metrics {
	return &metrics{
		accepted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ringwatch_alertmanager_accepted_total",
			Help: "Alerts that came, repeats included.",
		}),
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ringwatch_alertmanager_dropped_total",
			Help: "Alerts that are left out: full (max_alerts, max_bytes), too_large " +
				"(max_alert_bytes), repeated (its end is known), closed (the account's directory " +
				"cannot be opened, or the process ends).",
		}, []string{"reason"}),
		all:     func() []*account { return nil },
		members: func() int { return 1 },
	}
}

func (m *metrics) drop(reason string) { m.dropped.WithLabelValues(reason).Inc() }

var (
	alertsDesc = prometheus.NewDesc("ringwatch_alertmanager_alerts",
		"Alerts in memory, those included that ended within half an hour.", nil, nil)
	bytesDesc = prometheus.NewDesc("ringwatch_alertmanager_alert_bytes",
		"About what the alerts in memory take.", nil, nil)
	groupsDesc = prometheus.NewDesc("ringwatch_alertmanager_groups",
		"Groups of alerts.", nil, nil)
	refusedDesc = prometheus.NewDesc("ringwatch_alertmanager_groups_refused_total",
		"Times that an alert found no group because there are max_groups.", nil, nil)
	silencesDesc = prometheus.NewDesc("ringwatch_alertmanager_silences",
		"Silences that hold, or will.", nil, nil)
	membersDesc = prometheus.NewDesc("ringwatch_alertmanager_members",
		"Processes that tell as one and answer, with this one: see notify.gossip.", nil, nil)
	sentDesc = prometheus.NewDesc("ringwatch_alertmanager_notifications_total",
		"Messages to receivers, by what they are sent with.", []string{"integration"}, nil)
	failedDesc = prometheus.NewDesc("ringwatch_alertmanager_notifications_failed_total",
		"Messages that were given up until the group's next interval.", []string{"integration"},
		nil)
)

// sums are the metrics of Alertmanager's that are added up over accounts.
var sums = map[string]*prometheus.Desc{
	"alertmanager_dispatcher_aggregation_groups":                    groupsDesc,
	"alertmanager_dispatcher_aggregation_group_limit_reached_total": refusedDesc,
	"alertmanager_notifications_total":                              sentDesc,
	"alertmanager_notifications_failed_total":                       failedDesc,
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(c chan<- *prometheus.Desc) {
	m.accepted.Describe(c)
	m.dropped.Describe(c)
	for _, d := range []*prometheus.Desc{alertsDesc, bytesDesc, groupsDesc, refusedDesc,
		silencesDesc, membersDesc, sentDesc, failedDesc} {
		c <- d
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(c chan<- prometheus.Metric) {
	m.accepted.Collect(c)
	m.dropped.Collect(c)
	var alerts, bytes, silences int
	added := map[*prometheus.Desc]map[string]float64{groupsDesc: {"": 0}, refusedDesc: {"": 0},
		sentDesc: {}, failedDesc: {}}
	for _, a := range m.all() {
		n, size := a.board.collected()
		alerts, bytes = alerts+n, bytes+size
		hold, err := a.silences.CountState(context.Background(), silence.SilenceStateActive,
			silence.SilenceStatePending)
		if err == nil {
			silences += hold
		}
		families, _ := a.reg.Gather() // what can be gathered
		for _, f := range families {
			if d := sums[f.GetName()]; d != nil {
				addUp(added[d], f)
			}
		}
	}
	gauge := func(d *prometheus.Desc, v int) {
		c <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v))
	}
	gauge(alertsDesc, alerts)
	gauge(bytesDesc, bytes)
	gauge(silencesDesc, silences)
	gauge(membersDesc, m.members())
	gauge(groupsDesc, int(added[groupsDesc][""]))
	c <- prometheus.MustNewConstMetric(refusedDesc, prometheus.CounterValue, added[refusedDesc][""])
	for _, d := range []*prometheus.Desc{sentDesc, failedDesc} {
		for integration, v := range added[d] {
			// Of the many that there are, those that are used.
			if v > 0 || added[sentDesc][integration] > 0 {
				c <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, integration)
			}
		}
	}
}

// addUp adds a family's values, by the label integration.
func addUp(into map[string]float64, f *dto.MetricFamily) {
	for _, s := range f.Metric {
		integration := ""
		for _, l := range s.Label {
			if l.GetName() == "integration" {
				integration = strings.Clone(l.GetValue())
			}
		}
		into[integration] += s.GetCounter().GetValue() + s.GetGauge().GetValue()
	}
}
