package store

import (
	"errors"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/store/closing"
	"github.com/ringwatch/ringwatch/store/cutovers"
	"github.com/ringwatch/ringwatch/store/generations"
	"github.com/ringwatch/ringwatch/store/keys"
	"github.com/ringwatch/ringwatch/store/moving"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/cassandra"
	"github.com/ringwatch/ringwatch/store/schedule"
	"github.com/ringwatch/ringwatch/store/schema"
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
	ErrGeneration = generations.ErrUnknown
	// ErrCutover is wrapped by the error about a cutover that cannot be.
	ErrCutover = schema.ErrCutover
	// ErrDrop is wrapped by Drop's error about a generation that has data.
	ErrDrop = schema.ErrDrop
	// ErrBehind is returned by Handle while closing windows is a whole window behind.
	ErrBehind = closing.ErrBehind
	// ErrExpired says that a window's frames may have expired before it was closed, because
	// Cassandra was away for too long: they must be read from the stream again.
	ErrExpired = schedule.ErrExpired
	// ErrOccupied is wrapped by the error about a keyspace that has other data than a directory's
	// that is moved there.
	ErrOccupied = moving.ErrOccupied
	// ErrAccount is wrapped by the error about rows of an account that is not known where they are
	// moved to.
	ErrAccount = moving.ErrAccount
	// ErrMoving is wrapped by the error about rows that could not be moved for now. What was moved
	// stays.
	ErrMoving = moving.ErrMoving
	// ErrTooLarge is returned for a frame that Cassandra would refuse.
	ErrTooLarge = errors.New("store: frame too large")
)

// Retryable reports whether the same call may succeed later without anybody changing anything:
// Cassandra is away, overloaded, starting or did not answer in time, or the throttle had no room.
// What Cassandra refuses for what it is (bad credentials, missing tables, missing rights) is not,
// nor is the end of a context.
func Retryable(err error) bool { return rows.Retryable(err) }
