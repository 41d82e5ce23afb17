package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api/advice"
	"github.com/ringwatch/ringwatch/api/report"
	"github.com/ringwatch/ringwatch/window/events"
)

// advices are what accounts are told of their alerts, and all others under the empty name.
type advices map[string]*advice.Rules

// of returns an account's advice.
func (a advices) of(account string) *advice.Rules {
	if own := a[account]; own != nil {
		return own
	}
	return a[""]
}

// advice reads the shipped advice and the files of accounts that have one.
func (c *config) advice() (advices, error) {
	shipped, err := advice.Shipped()
	if err != nil {
		return nil, err
	}
	list := advices{"": shipped}
	var wrong []error
	for _, a := range c.Accounts {
		if a.Advice == "" {
			continue
		}
		own, err := advice.LoadFile(a.Advice)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("account %s: %w", a.Name, err))
			continue
		}
		list[a.Name] = shipped.With(own)
	}
	return list, errors.Join(wrong...)
}

// validateAdvice finds what is wrong with the accounts' files, as validateCatalogs does.
func (c *config) validateAdvice() error {
	if _, err := c.advice(); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// eventReader reads events of an account; nil: nothing is known of events.
type eventReader func(ctx context.Context, account string, q events.Query) (events.Page, error)

// of returns the events that who asks may see.
func (read eventReader) of(who account.Principal) advice.Events {
	if read == nil {
		return nil
	}
	return advice.EventsOf(who.Owns,
		func(ctx context.Context, q events.Query) (events.Page, error) {
			return read(ctx, who.Account, q)
		})
}

// adviser says in reports what the numbers beside alerts suggest.
func adviser(rules *advice.Rules, source report.Source, happened advice.Events) report.Advise {
	return func(ctx context.Context, alerts []map[string]string, at time.Time,
		name func(string) string) []advised {
		list, err := rules.Ask(ctx, advice.Question{Source: adviceSource{source}, Name: name,
			At: at, Events: happened}, alerts)
		if err != nil {
			return nil // the context's, which the report says
		}
		return advisedOf(list)
	}
}

type advised = report.Advised

func advisedOf(list []advice.Advice) (of []advised) {
	for _, a := range list {
		of = append(of, advised{Alert: a.Labels, Text: a.Text})
	}
	return of
}

// adviceSource asks what a report asks. It implements advice.Source.
type adviceSource struct{ report.Source }

// Query implements advice.Source.
func (s adviceSource) Query(ctx context.Context, expr string, at time.Time) ([]advice.Series,
	error) {
	list, err := s.Source.Query(ctx, expr, at)
	if err != nil {
		return nil, err
	}
	var of []advice.Series
	for _, one := range list {
		of = append(of, advice.Series{Labels: one.Labels,
			Value: one.Points[len(one.Points)-1].Value})
	}
	return of, nil
}

// advice asks what the numbers beside firing alerts suggest; at zero: now. Who gets none has the
// alerts all the same, so nothing is said of what failed.
func (c *client) advice(ctx context.Context, cluster string, at time.Time) []advice.Advice {
	var answer struct{ Advice []advice.Advice }
	of := url.Values{}
	if cluster != "" {
		of.Set("cluster", cluster)
	}
	if !at.IsZero() {
		of.Set("at", strconv.FormatInt(at.UnixMilli(), 10))
	}
	if err := c.ask(ctx, "/v1/advice", of, &answer); err != nil {
		return nil
	}
	return answer.Advice
}

// adviceTo returns what is suggested of an alert.
func adviceTo(list []advice.Advice, labels map[string]string) string {
	i := slices.IndexFunc(list, func(a advice.Advice) bool { return maps.Equal(a.Labels, labels) })
	if i < 0 {
		return ""
	}
	return list[i].Text
}
