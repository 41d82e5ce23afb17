package cassandra

import (
	"errors"
	"fmt"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/store/rows"
)

// A schema that is being made gives another answer a moment later. Each node of Cassandra writes a
// change to system_schema, flushes that to disk, and only then knows it: in between it lists a
// table and says of a read that the table does not exist. Processes that start together on an empty
// keyspace meet that moment, because each looks while another creates.

// ErrSettling is wrapped by Apply's error while Cassandra contradicts itself about the schema. It
// is retryable, for Config.Settle.
var ErrSettling error = &rows.Error{Err: errors.New("store: Cassandra is still making the tables"),
	Retryable: true}

// errNotThere says that system_schema lacks something that was just created, or has only a part of
// it.
var errNotThere = errors.New("it is not as it was created; look at Cassandra's log")

// settleFor is after how long of contradictions the last one is the truth. The flush takes
// milliseconds, on a busy disk a second; what is missing for another reason (a right, a datacenter)
// has an error of its own, which does not wait for this.
const settleFor = 30 * time.Second

// unsettled reports whether an error of Apply's can be the moment's. All that Apply reads it has
// found in system_schema before, and all that it creates it has not, so that an Invalid of any kind
// contradicts what Cassandra said just now.
func unsettled(err error) bool {
	if errors.Is(err, errNotThere) {
		return true
	}
	var refused gocql.RequestError
	if !errors.As(err, &refused) {
		return false
	}
	switch refused.Code() {
	case gocql.ErrCodeInvalid:
		return true
	case gocql.ErrCodeConfig:
		// two nodes created the table; one of them is about to learn of the other's
		return strings.Contains(refused.Message(), "ID mismatch")
	}
	return false
}

// settling makes contradictions retryable until they have lasted for its bound.
type settling struct {
	bound time.Duration
	since time.Time // the first one of a row; zero: none
}

func (s *settling) judge(err error) error {
	if !unsettled(err) {
		s.since = time.Time{}
		return err
	}
	if s.since.IsZero() {
		s.since = time.Now()
	}
	if lasted := time.Since(s.since); lasted > s.bound {
		return fmt.Errorf("store: Cassandra contradicts itself about the schema for %s: %w",
			lasted.Round(time.Second), err)
	}
	return fmt.Errorf("%w: %w", ErrSettling, err)
}
