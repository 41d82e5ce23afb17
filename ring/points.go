package ring

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// ContactPoints reads a list of "host" or "host:port" for gocql.ClusterConfig, which has one Port
// for all its Hosts. Without a port it is Cassandra's own, 9042. The error says all that is wrong.
func ContactPoints(list []string) (hosts []string, port int, err error) {
	var errs []error
	for _, point := range list {
		host, text, err := net.SplitHostPort(point)
		if err != nil {
			host, text = point, "9042"
		}
		p, err := strconv.ParseUint(text, 10, 16)
		switch {
		case err != nil || p == 0 || host == "" || strings.ContainsAny(host, " /"):
			errs = append(errs, fmt.Errorf("hosts: %q is neither host nor host:port", point))
		case port != 0 && int(p) != port:
			errs = append(errs, fmt.Errorf("hosts: ports %d and %d differ; all nodes of a cluster "+
				"must use one port", port, p))
		default:
			hosts, port = append(hosts, host), int(p)
		}
	}
	return hosts, port, errors.Join(errs...)
}
