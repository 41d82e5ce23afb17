package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/bench/line"
)

// countTimeout bounds the wait for the last frames to be there.
const countTimeout = 5 * time.Minute

// countLost asks each cluster how many instants its nodes have, until that is as many as were
// acknowledged. Those that are not there in the end are lost.
func (r *report) countLost(ctx context.Context, l *system, f *fleetOf) error {
	wait, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	clusters := (f.nodes + fleet.NodesPerCluster - 1) / fleet.NodesPerCluster
	bench.Progress("counting the instants of %d clusters", clusters)
	for c := range clusters {
		lost := 0
		what := "the frames of " + f.cluster(c)
		err := line.Until(wait, what, func(ctx context.Context) (err error) {
			lost, err = f.missing(ctx, l, c)
			if err == nil && lost > 0 {
				err = fmt.Errorf("%d frames that were acknowledged are not there", lost)
			}
			return err
		})
		if err != nil && lost == 0 {
			return err
		}
		r.Lost += lost
	}
	for i := range f.acknowledged {
		r.Acknowledged += f.acknowledged[i].Load()
	}
	bench.Progress("%d frames were acknowledged, %d of them are lost", r.Acknowledged, r.Lost)
	return nil
}

// cluster is the name of cluster number c.
func (f *fleetOf) cluster(c int) string { return fleet.ClusterOf(c * fleet.NodesPerCluster) }

// missing returns how many frames of a cluster were acknowledged and are not there.
func (f *fleetOf) missing(ctx context.Context, l *system, c int) (lost int, err error) {
	end := time.Now().Truncate(time.Second).Add(time.Second)
	span := int(end.Sub(f.begin).Seconds()) + 1
	expr := fmt.Sprintf("count_over_time(jvm_heap_used_bytes{cluster=%q}[%ds])", f.cluster(c), span)
	b, err := l.get(ctx, "api", "/api/v1/query", url.Values{"query": {expr},
		"time": {strconv.FormatInt(end.Unix(), 10)}})
	if err != nil {
		return 0, err
	}
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := json.Unmarshal(b, &answer); err != nil {
		return 0, err
	}
	found := map[string]int{}
	for _, s := range answer.Data.Result {
		text, _ := s.Value[1].(string)
		if found[s.Metric["node"]], err = strconv.Atoi(text); err != nil {
			return 0, err
		}
	}
	for i := c * fleet.NodesPerCluster; i < min((c+1)*fleet.NodesPerCluster, f.nodes); i++ {
		lost += max(0, int(f.acknowledged[i].Load())-found[f.id(i)])
	}
	return lost, nil
}
