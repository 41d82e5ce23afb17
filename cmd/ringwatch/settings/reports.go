package settings

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api/report"
	"github.com/ringwatch/ringwatch/stream"
)

// ReportConfig is the section report: the role api makes reports of each cluster once a day.
// Without a time of day it makes none. It is one process's task: several would need claims, and a
// rule for claims whose process died. So in two processes it calls each webhook twice.
type ReportConfig struct {
	At        string   // time of day in UTC, "01:30"; empty: never
	Accounts  []string // whose clusters; none: all accounts of the configuration
	Clusters  []string // globs, * for any run of characters; none: all
	Directory string   // text, HTML and JSON go to DIRECTORY/ACCOUNT/CLUSTER-DAY.*; empty: nowhere
	Webhook   string   // JSON is posted there; empty: nowhere
	Topic     string   // JSON is the last entry of the cluster and day; empty: nowhere
}

// TimeOfDay returns how long after midnight reports are made.
func (c *ReportConfig) TimeOfDay() (time.Duration, error) {
	t, err := time.Parse("15:04", c.At)
	if err != nil {
		return 0, fmt.Errorf("at: %q is not a time of day: write one such as 01:30, in UTC", c.At)
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, nil
}

// ValidateReport reports everything that is wrong at once.
func (c *Config) ValidateReport() error {
	r := &c.Report
	if r.At == "" {
		if r.Directory != "" || r.Webhook != "" || r.Topic != "" {
			return errors.New("at is missing: set the time of reports, for instance at: \"01:30\"")
		}
		return nil
	}
	_, err := r.TimeOfDay()
	wrong := []error{err, DirectoryKey("directory", r.Directory)}
	if r.Directory == "" && r.Webhook == "" && r.Topic == "" {
		wrong = append(wrong,
			errors.New("nothing takes the reports: name a directory, webhook or topic"))
	}
	if r.Webhook != "" {
		_, err := report.Webhook(r.Webhook)
		wrong = append(wrong, err)
	}
	if r.Topic != "" {
		wrong = append(wrong, c.ReportsLog().Validate())
	}
	for _, name := range r.Accounts {
		if !slices.ContainsFunc(c.Accounts, func(a account.Account) bool {
			return a.Name == name
		}) {
			wrong = append(wrong,
				fmt.Errorf("there is no account %q: use one of the section accounts", name))
		}
	}
	return errors.Join(wrong...)
}

// maxReportBytes bounds a report in the topic: one of 10,000 tables has some 4 MB.
const maxReportBytes = 16 << 20

// ReportsLog is the topic of the daily reports.
func (c *Config) ReportsLog() stream.LogConfig {
	l := stream.DefaultLogConfig(c.Report.Topic)
	l.Partitions, l.MaxEntryBytes = c.Kafka.Partitions, maxReportBytes
	return l
}
