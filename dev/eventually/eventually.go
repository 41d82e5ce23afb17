// Package eventually waits in tests for what comes about by itself. A test that waits for a
// condition here does not depend on how fast the machine is.
package eventually

import (
	"errors"
	"testing"
	"time"
)

// Patience bounds a wait. It only ends a test that has failed: a machine may be ten times slower
// from one minute to the next.
const Patience = 6 * time.Minute

// pause is how long a condition that does not hold is left alone.
const pause = 10 * time.Millisecond

// True polls a condition until it holds. A test that waits in vain fails with what it waited for.
func True(t testing.TB, what string, holds func() bool) {
	t.Helper()
	Nil(t, what, func() error {
		if holds() {
			return nil
		}
		return errors.New("it is not so")
	})
}

// Nil polls what can say why it does not hold, until it returns no error.
func Nil(t testing.TB, what string, try func() error) {
	t.Helper()
	for deadline := time.Now().Add(Patience); ; {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s: %v", what, err)
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("waiting for %s: %v", what, t.Context().Err())
		case <-time.After(pause):
		}
	}
}
