package ingest

import (
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// minReserved is what a request takes of the bytes in flight before its body begins, for its
// goroutine and buffers. So the shares also bound the number of requests under way. By default that
// is 8,192 of all senders, 4,096 of an account and 2,048 of an address.
const minReserved = 64 << 10

// shares counts the bytes in flight of the process, of each account and of each address. It counts
// what has arrived: a sender that announces much and sends little holds little.
type shares struct {
	total, account, address int64 // the most bytes of all, of one account, of one address

	mu        sync.Mutex
	held      int64
	took      time.Duration    // what requests take, the last ones most
	accounts  map[string]int64 // who holds nothing is not in it
	addresses map[netip.Prefix]int64
}

func newShares(c *Config) *shares {
	// A share is never too small for one frame, however the shares are set.
	share := func(of float64) int64 {
		return max(int64(of*float64(c.MaxInFlightBytes)), c.MaxFrameBytes+int64(c.MaxRawBytes))
	}
	return &shares{
		total: c.MaxInFlightBytes, account: share(c.AccountShare), address: share(c.AddressShare),
		accounts: map[string]int64{}, addresses: map[netip.Prefix]int64{},
	}
}

// bytes returns how many bytes are held now.
func (s *shares) bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

// claim is what one request holds. Only the request's own goroutine uses it.
type claim struct {
	shares  *shares
	account string
	address netip.Prefix
	begun   time.Time
	held    int64
}

// begin starts the claim of a request, which holds minReserved.
func (s *shares) begin(account string, address netip.Prefix) (*claim, *refusal) {
	c := &claim{shares: s, account: account, address: address, begun: time.Now()}
	if e := c.take(minReserved); e != nil {
		return nil, e
	}
	return c, nil
}

// take adds n bytes to the claim, or adds nothing and says whose share is used up.
func (c *claim) take(n int64) *refusal {
	s := c.shares
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.held+n > s.total:
		return busy(http.StatusServiceUnavailable, "overloaded", s.after(),
			"ingest holds %d bytes and may hold %d: send the frame again later, or run more "+
				"ingest processes", s.held, s.total)
	case s.accounts[c.account]+n > s.account:
		return busy(http.StatusTooManyRequests, "account_share", s.after(),
			"account %s has %d bytes under way and may have %d here: send the frame again later, "+
				"or ask the operator to raise ingest.account_share", c.account,
			s.accounts[c.account], s.account)
	case s.addresses[c.address]+n > s.address:
		return busy(http.StatusTooManyRequests, "address_share", s.after(),
			"your address has %d bytes under way and may have %d here: send the frame again "+
				"later, or ask the operator to raise ingest.address_share or to name your "+
				"proxy in ingest.trusted_proxies", s.addresses[c.address], s.address)
	}
	c.add(n)
	return nil
}

// add changes what the claim holds. The caller holds the lock.
func (c *claim) add(n int64) {
	s := c.shares
	c.held += n
	s.held += n
	if s.accounts[c.account] += n; s.accounts[c.account] == 0 {
		delete(s.accounts, c.account)
	}
	if s.addresses[c.address] += n; s.addresses[c.address] == 0 {
		delete(s.addresses, c.address)
	}
}

// give returns n bytes of the claim.
func (c *claim) give(n int64) {
	c.shares.mu.Lock()
	defer c.shares.mu.Unlock()
	c.add(-n)
}

// end returns all that the claim holds.
func (c *claim) end() {
	s := c.shares
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took += (time.Since(c.begun) - s.took) / 64
	c.add(-c.held)
}

// after is when to come again: those who are here now are done by then. The caller holds the lock.
func (s *shares) after() time.Duration { return min(max(retryAfter, s.took), mostRetryAfter) }
