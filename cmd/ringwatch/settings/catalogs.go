package settings

import (
	"errors"
	"fmt"
	"os"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/ringwatch/ringwatch/query/catalog"
	"github.com/ringwatch/ringwatch/query/expression"
)

// Catalogs are the catalogues of accounts, and that of all others under the empty name.
type Catalogs map[string]*catalog.Catalog

// For returns an account's catalogue.
func (c Catalogs) For(account string) *catalog.Catalog {
	if own := c[account]; own != nil {
		return own
	}
	return c[""]
}

// Catalogs reads the shipped catalogue and the files of accounts that have one.
func (c *Config) Catalogs() (Catalogs, error) {
	shipped, err := catalog.Shipped()
	if err != nil {
		return nil, err
	}
	list := Catalogs{"": shipped}
	var wrong []error
	for _, a := range c.Accounts {
		if a.Catalog == "" {
			continue
		}
		own, err := catalog.LoadFile(a.Catalog)
		if err == nil {
			err = c.checkLabels(own, a.Catalog)
		}
		if err == nil {
			own, err = shipped.With(own, a.Catalog)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("account %s: %w", a.Name, err))
			continue
		}
		list[a.Name] = own
	}
	return list, errors.Join(wrong...)
}

// checkLabels refuses entries whose labels become longer than a query's may.
func (c *Config) checkLabels(of *catalog.Catalog, file string) error {
	parse := parser.NewParser(parser.Options{EnableExperimentalFunctions: true})
	var wrong []error
	for _, e := range of.All() {
		for i := range e.Values {
			expr := e.Values[i].Expr(catalog.Scope{}, catalog.Labels(e.Of, catalog.NodeLabels...),
				catalog.DefaultWindow)
			tree, err := parse.ParseExpr(expr)
			if err == nil {
				err = expression.NewLabelGrowth(tree, 0, 1, c.Query.MaxLabelBytes).Check()
			}
			if err != nil {
				wrong = append(wrong, fmt.Errorf("%s: entry %s: %w", file, e.Name, err))
			}
		}
	}
	return errors.Join(wrong...)
}

// ValidateCatalogs finds what is wrong with the accounts' files. One that is not there is no
// error of the configuration: only the role api reads it, which may run on another machine and
// does say so.
func (c *Config) ValidateCatalogs() error {
	_, err := c.Catalogs()
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
