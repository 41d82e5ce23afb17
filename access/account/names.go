package account

import (
	"net/http"
	"slices"
	"strings"
)

// Names returns who decides for a request whether the names in an account's metrics are shown, as
// listener.Exposition asks it. A key with the scope admin shows its own account's; one of the
// operators' accounts shows all. Without such a key there are none, nil. A key that is wrong is an
// error, admit's; credentials that are no keys of ours are a proxy's and count as none.
func Names(admit func(*http.Request) (Principal, error),
	operators []string) func(*http.Request) (func(string) bool, error) {
	return func(r *http.Request) (func(string) bool, error) {
		if key, err := FromRequest(r); err != nil || !strings.HasPrefix(key, KeyPrefix) {
			return nil, nil
		}
		p, err := admit(r)
		if err != nil || !p.Can(Admin) {
			return nil, err
		}
		all := slices.Contains(operators, p.Account)
		return func(account string) bool { return all || account == p.Account }, nil
	}
}
