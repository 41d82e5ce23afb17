package settings

import (
	"errors"
	"fmt"
	"os"

	"github.com/ringwatch/ringwatch/api/advice"
)

// Advices are what accounts are told of their alerts, and all others under the empty name.
type Advices map[string]*advice.Rules

// For returns an account's advice.
func (a Advices) For(account string) *advice.Rules {
	if own := a[account]; own != nil {
		return own
	}
	return a[""]
}

// Advice reads the shipped advice and the files of accounts that have one.
func (c *Config) Advice() (Advices, error) {
	shipped, err := advice.Shipped()
	if err != nil {
		return nil, err
	}
	list := Advices{"": shipped}
	var wrong []error
	for _, a := range c.Accounts {
		if a.Advice == "" {
			continue
		}
		own, err := advice.LoadFile(a.Advice)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("account %s: %w", a.Name, err))
			continue
		}
		list[a.Name] = shipped.With(own)
	}
	return list, errors.Join(wrong...)
}

// ValidateAdvice finds what is wrong with the accounts' files, as ValidateCatalogs does.
func (c *Config) ValidateAdvice() error {
	if _, err := c.Advice(); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
