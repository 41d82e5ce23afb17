package settings

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ringwatch/ringwatch/api/lookup"
	"github.com/ringwatch/ringwatch/ring/throttle"
)

// LookupOrStore is the section lookup, with the store's Cassandra if it has none of its own.
func (c *Config) LookupOrStore() lookup.Config {
	l := c.Lookup
	if len(l.Hosts) == 0 {
		l.Hosts, l.Datacenter, l.Username, l.Password = c.Cassandra.Hosts, c.Cassandra.Datacenter,
			c.Cassandra.Username, c.Cassandra.Password
		l.TLS = c.Cassandra.TLS
	}
	return l
}

// validateLookup also knows which accounts there are.
func (c *Config) validateLookup() error {
	errs := []error{c.Lookup.Validate()}
	if len(c.Lookup.Tables) > 0 && len(c.LookupOrStore().Hosts) == 0 {
		errs = append(errs,
			errors.New("hosts is empty, and so is cassandra.hosts: name the Cassandra that has "+
				"the tables"))
	}
	for _, t := range c.Lookup.Tables {
		if t.CacheTTL > 0 && c.Ring.CacheBytes == 0 {
			errs = append(errs,
				fmt.Errorf("tables %s.cache_ttl: set ring.cache_bytes, which is how much memory "+
					"rows may take", t.Table))
		}
		if _, own := c.Throttle.Classes[t.Class]; !own &&
			!slices.Contains([]string{"", throttle.Serving, throttle.Dashboard, throttle.Bulk},
				t.Class) && c.Throttle.DefaultClass == "" {
			errs = append(errs, fmt.Errorf("tables %s.class: throttle.classes has no class %q",
				t.Table, t.Class))
		}
		for _, name := range t.Accounts {
			if !c.hasAccount(name) && name != lookup.Everybody {
				errs = append(errs,
					fmt.Errorf("tables %s.accounts: there is no account %q in accounts",
						t.Table, name))
			}
		}
	}
	return errors.Join(errs...)
}
