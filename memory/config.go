package memory

import "fmt"

// Config is how much memory a process may have.
type Config struct {
	// LimitBytes is what a role may have; 0: GOMEMLIMIT, or what the cgroup allows, or three
	// quarters of the machine's but 4 GiB at most.
	LimitBytes int64 `yaml:"limit_bytes"`
}

// Validate returns what is wrong with the configuration.
func (c *Config) Validate() error {
	if c.LimitBytes != 0 && c.LimitBytes < least {
		return fmt.Errorf("limit_bytes is %d: a role needs at least %d; use 0 to take what the "+
			"machine or its cgroup allows", c.LimitBytes, least)
	}
	return nil
}
