package settings

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// validateThrottle checks the classes, and that each can do what ring asks for at once.
func (c *Config) validateThrottle() error {
	wrong := []error{c.Throttle.Validate()}
	largest := c.Throttle.Largest()
	for _, name := range slices.Sorted(maps.Keys(largest)) {
		if n := largest[name]; n < c.Ring.GroupKeys {
			wrong = append(wrong,
				fmt.Errorf("classes.%s: %d operations at once, the least of burst and "+
					"concurrency, are fewer than ring.group_keys (%d), so a group of keys could "+
					"never be read: raise them, or lower that", name, n, c.Ring.GroupKeys))
		}
	}
	return errors.Join(wrong...)
}
