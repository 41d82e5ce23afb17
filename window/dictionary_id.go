package window

import "github.com/google/uuid"

// DictionaryID says where a dictionary is kept and of which day: windows of that day refer to it.
// One that stands for weeks has an ID for each day, all with one Hash.
type DictionaryID struct {
	Node uuid.UUID
	Day  int64 // its start, milliseconds since the Unix epoch
	Key  string
	Hash Hash
}
