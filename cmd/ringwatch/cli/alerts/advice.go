package alerts

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/ringwatch/ringwatch/api/advice"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
)

// AskAdvice asks what the numbers beside firing alerts suggest; at zero: now. Who gets none has the
// alerts all the same, so nothing is said of what failed.
func AskAdvice(ctx context.Context, c *client.Client, cluster string,
	at time.Time) []advice.Advice {
	var answer struct{ Advice []advice.Advice }
	of := url.Values{}
	if cluster != "" {
		of.Set("cluster", cluster)
	}
	if !at.IsZero() {
		of.Set("at", strconv.FormatInt(at.UnixMilli(), 10))
	}
	if err := c.Ask(ctx, "/v1/advice", of, &answer); err != nil {
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
