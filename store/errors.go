package store

import (
	"errors"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/store/cutovers"
	"github.com/ringwatch/ringwatch/store/keys"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/cassandra"
)

var (
	// ErrNotConnected is returned by all that needs Cassandra before Connect has succeeded, and
	// after Close. It is retryable.
	ErrNotConnected = rows.ErrNotConnected
	// ErrInUse is wrapped by Connect's error about a directory that another process has.
	ErrInUse = disk.ErrInUse
	// ErrLayout is wrapped by Apply's error about a table that is there with other columns than
	// ours.
	ErrLayout = rows.ErrLayout
	// ErrLoss is wrapped by ApplyChanges' errors about changes that would lose data.
	ErrLoss = rows.ErrLoss
	// ErrRights is wrapped by Apply's error if this role of Cassandra's may not change the schema
	// and it has to be changed.
	ErrRights = rows.ErrRights
	// ErrDisagreement is wrapped by Apply's error about nodes that do not have one schema, because
	// one of them is away or frozen. It is retryable.
	ErrDisagreement = cassandra.ErrDisagreement
	// ErrSettling is wrapped by Apply's error while Cassandra contradicts itself about the schema.
	// It is retryable, for half a minute.
	ErrSettling = cassandra.ErrSettling
	// ErrKeysRights is wrapped by CreateKey's and RevokeKey's errors if this role of Cassandra's
	// may not write API keys.
	ErrKeysRights = keys.ErrRights
	// ErrCutovers is returned for windows of which this process cannot know what generation serves
	// them, because it could not read the cutover table for too long. It is retryable.
	ErrCutovers = cutovers.ErrUnknown
	// ErrGeneration is wrapped by the error about a generation that this program does not know.
	ErrGeneration = errors.New("store: unknown generation")
	// ErrCutover is wrapped by the error about a cutover that cannot be.
	ErrCutover = errors.New("store: cutover refused")
	// ErrDrop is wrapped by Drop's error about a generation that has data.
	ErrDrop = errors.New("store: drop refused")
	// ErrTooLarge is returned for a frame that Cassandra would refuse.
	ErrTooLarge = errors.New("store: frame too large")
)

// Retryable reports whether the same call may succeed later without anybody changing anything:
// Cassandra is away, overloaded, starting or did not answer in time, or the throttle had no room.
// What Cassandra refuses for what it is (bad credentials, missing tables, missing rights) is not,
// nor is the end of a context.
func Retryable(err error) bool { return rows.Retryable(err) }
