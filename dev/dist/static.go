package main

import (
	"debug/elf"
	"fmt"
)

// isStatic says what of a program is not as it should be: it needs no library and no loader, and
// has no symbols.
func isStatic(file string) error {
	f, err := elf.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			return fmt.Errorf("%s is linked to libraries", file)
		}
	}
	if f.Section(".symtab") != nil || f.Section(".debug_info") != nil {
		return fmt.Errorf("%s has symbols", file)
	}
	return nil
}
