package settings

import (
	"errors"
	"fmt"
	"os"

	"github.com/ringwatch/ringwatch/api/safe"
)

// Conditions are those of accounts, and those of all others under the empty name.
type conditions map[string]*safe.Conditions

// For returns an account's conditions.
func (c conditions) For(account string) *safe.Conditions {
	if own := c[account]; own != nil {
		return own
	}
	return c[""]
}

// Conditions reads the shipped conditions and the files of accounts that have one.
func (c *Config) Conditions() (conditions, error) {
	shipped, err := safe.Shipped()
	if err != nil {
		return nil, err
	}
	list := conditions{"": shipped}
	var wrong []error
	for _, a := range c.Accounts {
		if a.Safe == "" {
			continue
		}
		own, err := safe.LoadFile(a.Safe)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("account %s: %w", a.Name, err))
			continue
		}
		list[a.Name] = shipped.With(own)
	}
	return list, errors.Join(wrong...)
}

// ValidateConditions finds what is wrong with the accounts' files, as ValidateCatalogs does.
func (c *Config) ValidateConditions() error {
	if _, err := c.Conditions(); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
