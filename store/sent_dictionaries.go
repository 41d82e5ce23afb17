package store

import "github.com/ringwatch/ringwatch/frame"

const (
	// sentBytes is what is kept of the dictionaries of an account's key frames, sentAccounts for
	// how many accounts. One of 1,100 metrics takes 300 kB.
	sentBytes    = 2 << 20
	sentAccounts = 32
)

// sentDictionaries are the dictionaries of key frames that were read, by account. An account's
// nodes send the same ones again and again.
type sentDictionaries struct {
	accounts *recentCache[string, *frame.Dictionaries]
}

func newSentDictionaries() sentDictionaries {
	return sentDictionaries{newRecentCache[string, *frame.Dictionaries](sentAccounts)}
}

// of returns an account's. Two that ask for a new account's at once may get different ones, which
// costs one reading more.
func (s sentDictionaries) of(account string) *frame.Dictionaries {
	known, found := s.accounts.get(account)
	if !found {
		known = frame.NewDictionaries(sentBytes)
		s.accounts.put(account, known, 1)
	}
	return known
}
