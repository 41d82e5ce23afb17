package store

import (
	"github.com/ringwatch/ringwatch/ring/throttle"
	"github.com/ringwatch/ringwatch/store/rows"
)

// Bulk is work that nobody waits for.
func Bulk(client string) rows.Work { return rows.Work{Class: throttle.Bulk, Client: client} }

// Dashboard is work of an account that somebody looks at.
func Dashboard(account string) rows.Work {
	return rows.Work{Class: throttle.Dashboard, Client: account}
}
