package account

import (
	"net/http"
	"slices"
	"strings"
)

// Names returns what listener.Exposition asks for each request: a function that says of which
// accounts the metrics may show names. A key with the scope admin shows its own account's names,
// and one of an operator's account shows all. Without such a key the function is nil: no names
// are shown. A wrong key is an error, admit's. Credentials that are no keys of ours are a
// proxy's, and count as none.
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
