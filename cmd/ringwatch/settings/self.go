package settings

import (
	"errors"
	"fmt"

	"github.com/ringwatch/ringwatch/access/account"
)

// validateSelf checks the section, and that a key which the process makes could write.
func (c *Config) validateSelf() error {
	err := c.Self.Validate()
	switch {
	case !c.Self.Enabled || c.Self.On():
	case len(c.Accounts) == 0:
		err = errors.Join(err, errors.New("enabled: there is no account to send for: add one "+
			"below accounts"))
	case !account.Inside(c.Accounts[0].Name, c.Accounts[0].Clusters...).Owns(c.Self.Cluster):
		err = errors.Join(err, fmt.Errorf("enabled: account %s does not own the cluster %s: add "+
			"it to the account's clusters", c.Accounts[0].Name, c.Self.Cluster))
	}
	return err
}
