package window

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/google/uuid"
)

// DictionaryID says where a dictionary is kept and of which day: windows of that day refer to it.
// One that stands for weeks has an ID for each day, all with one Hash.
type DictionaryID struct {
	Node uuid.UUID
	Day  int64 // its start, milliseconds since the Unix epoch
	Key  string
	Hash Hash
}

// Hash addresses a dictionary by its content: the first 8 bytes of the SHA-256 of its blob.
type Hash [8]byte

// String returns the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// HashOf returns the hash of a dictionary's blob.
func HashOf(blob []byte) Hash {
	sum := sha256.Sum256(blob)
	return Hash(sum[:len(Hash{})])
}

// Dictionaries finds a decoded dictionary by key and hash. Its error should wrap ErrDictionary or
// be a blob's error.
type Dictionaries func(key string, hash Hash) (*Dictionary, error)
