package dictionaries

import (
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/store/cache"
)

const (
	// sentBytes is what is kept of the dictionaries of an account's key frames, sentAccounts for
	// how many accounts. One of 1,100 metrics takes 300 kB.
	sentBytes    = 2 << 20
	sentAccounts = 32
)

// Sent are the dictionaries of key frames that were read, by account. An account's
// nodes send the same ones again and again.
type Sent struct {
	accounts *cache.Cache[string, *frame.Dictionaries]
}

// NewSent has none yet.
func NewSent() Sent {
	return Sent{cache.New[string, *frame.Dictionaries](sentAccounts)}
}

// Of returns an account's. Two that ask for a new account's at once may get different ones, which
// costs one reading more.
func (s Sent) Of(account string) *frame.Dictionaries {
	known, found := s.accounts.Get(account)
	if !found {
		known = frame.NewDictionaries(sentBytes)
		s.accounts.Put(account, known, 1)
	}
	return known
}
