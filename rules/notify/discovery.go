package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	promdiscovery "github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/notifier"
)

// discovery finds Alertmanagers with Prometheus's service discovery. That by DNS has no test with a
// server: it reads /etc/resolv.conf and nothing else, so a test would change the machine's own.
type discovery struct {
	configs map[string]promdiscovery.Configs
	metrics *promdiscovery.SDMetrics
	reg     prometheus.Registerer
	log     *slog.Logger
}

func newDiscovery(
	list []Alertmanager, reg prometheus.Registerer, log *slog.Logger,
) (*discovery, error) {
	m, err := promdiscovery.CreateAndRegisterSDMetrics(reg)
	if err != nil {
		return nil, fmt.Errorf("notify: cannot register discovery's metrics: %w", err)
	}
	d := &discovery{configs: map[string]promdiscovery.Configs{}, metrics: m, reg: reg, log: log}
	for i := range list {
		d.configs[fmt.Sprintf("alertmanagers-%d", i)] = list[i].Prometheus.ServiceDiscoveryConfigs
	}
	return d, nil
}

// discovered is what is found for one outlet.
type discovered struct {
	name   string
	of     *discovery
	groups chan []*targetgroup.Group
}

func (d *discovery) of(name string) *discovered {
	return &discovered{name: name, of: d, groups: make(chan []*targetgroup.Group)}
}

// run looks until ctx ends; the channel it returns is closed then.
func (d *discovered) run(ctx context.Context) <-chan struct{} {
	ended := make(chan struct{})
	m := promdiscovery.NewManager(ctx, d.of.log, d.of.reg, d.of.metrics,
		promdiscovery.Name("notify-"+d.name), promdiscovery.Updatert(time.Second))
	err := errors.New("it cannot be registered: the line before this one says why")
	if m != nil {
		err = m.ApplyConfig(map[string]promdiscovery.Configs{d.name: d.of.configs[d.name]})
	}
	if err != nil {
		d.of.log.Error("discovery of Alertmanagers cannot start", "outlet", d.name, "error", err)
		close(ended)
		return ended
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = m.Run() // it ends with ctx and says only that
	}()
	go func() {
		defer close(ended)
		defer func() { <-done }()
		for {
			select {
			case <-ctx.Done():
				return
			case sets := <-m.SyncCh():
				select {
				case d.groups <- sets[d.name]:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return ended
}

// addresses are where alerts are posted to: what Prometheus's notifier makes of a group's targets
// with relabel_configs, scheme and path_prefix.
func addresses(g *targetgroup.Group, c *config.AlertmanagerConfig) ([]string, error) {
	found, _, err := notifier.AlertmanagerFromGroup(g, c)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, f := range found {
		of, ok := any(f).(interface{ Get(string) string })
		if !ok {
			return nil, fmt.Errorf("notifier's %T has no labels in this version of Prometheus", f)
		}
		u := url.URL{
			Scheme: of.Get(model.SchemeLabel), Host: of.Get(model.AddressLabel),
			Path: of.Get("__alerts_path__"),
		}
		list = append(list, u.String())
	}
	return list, nil
}
