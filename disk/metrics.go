package disk

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are those of a directory that is open.
type Metrics struct {
	registerer prometheus.Registerer
	registered []prometheus.Collector
}

// Register has collectors gathered until Unregister; nil: nobody gathers them.
func (m *Metrics) Register(registerer prometheus.Registerer, list ...prometheus.Collector) error {
	if registerer == nil {
		return nil
	}
	m.registerer = registerer
	var errs []error
	for _, c := range list {
		err := registerer.Register(c)
		if err == nil {
			m.registered = append(m.registered, c)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Unregister ends that.
func (m *Metrics) Unregister() {
	for _, c := range m.registered {
		m.registerer.Unregister(c)
	}
	m.registered = nil
}
