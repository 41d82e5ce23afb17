package table

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/files/failure"
	"github.com/ringwatch/ringwatch/store/rows/files/values"
)

// FileName is the file of a directory that says which tables there are.
const FileName = "TABLES"

var tableName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)

// Catalog says which tables a directory has.
type Catalog struct {
	path     string
	disk     *disk.Disk
	changing sync.Mutex // held by change

	mu     sync.RWMutex
	tables map[string]*Table // replaced, not changed
}

// NewCatalog returns the catalog of a directory. It has no table yet: call Load.
func NewCatalog(dir string, d *disk.Disk) *Catalog {
	return &Catalog{path: filepath.Join(dir, FileName), disk: d, tables: map[string]*Table{}}
}

// Load takes what the file says. nil says nothing: tables are not known then until they are
// created, and their rows are left.
func (c *Catalog) Load(b []byte) error {
	if b == nil {
		return nil
	}
	var list []*Table
	if err := json.Unmarshal(b, &list); err != nil {
		return fmt.Errorf("rows: %s: %w", FileName, err)
	}
	tables := map[string]*Table{}
	for _, k := range list {
		k.Width = widthOf(&k.Table)
		tables[k.Name] = k
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tables = tables
	return nil
}

// Get returns a table, or an error whose cause is rows.ErrUnknown.
func (c *Catalog) Get(name string) (*Table, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if k := c.tables[name]; k != nil {
		return k, nil
	}
	return nil, failure.Unknown("there is no table %s", name)
}

// Named returns a table that files or the log have, whether or not it is in the catalog.
func (c *Catalog) Named(name string) *Table {
	if k, err := c.Get(name); err == nil {
		return k
	}
	return &Table{Table: rows.Table{Name: name, Compression: rows.Fast}}
}

// List returns the tables by name.
func (c *Catalog) List() []*Table {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return sorted(c.tables)
}

func sorted(tables map[string]*Table) []*Table {
	return slices.SortedFunc(maps.Values(tables),
		func(a, b *Table) int { return cmp.Compare(a.Name, b.Name) })
}

// Create makes tables, or what is missing of them.
func (c *Catalog) Create(list ...*rows.Table) error {
	return c.change(func(tables map[string]*Table) error {
		for _, t := range list {
			if !tableName.MatchString(t.Name) || len(t.Partition) == 0 ||
				len(t.Values) > values.MaxColumns {
				return fmt.Errorf("rows: %q cannot be a table", t.Name)
			}
			k, err := Extend(tables[t.Name], t)
			if err != nil {
				return err
			}
			tables[t.Name] = k
		}
		return nil
	})
}

// Drop forgets a table.
func (c *Catalog) Drop(name string) error {
	return c.change(func(tables map[string]*Table) error {
		delete(tables, name)
		return nil
	})
}

// change changes which tables there are.
func (c *Catalog) change(to func(map[string]*Table) error) error {
	c.changing.Lock()
	defer c.changing.Unlock()
	c.mu.RLock()
	next := maps.Clone(c.tables)
	c.mu.RUnlock()
	if err := to(next); err != nil {
		return err
	}
	b, err := json.MarshalIndent(sorted(next), "", " ")
	if err != nil {
		return err
	}
	if before, err := disk.Read(c.path); err != nil || !bytes.Equal(before, b) {
		if err := c.disk.Replace(c.path, b); err != nil {
			return failure.Writing(filepath.Dir(c.path), err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tables = next
	return nil
}
