package blobs

import "github.com/ringwatch/ringwatch/window"

// Encoded is a window as it is stored. The head and the dictionaries with some of the parts answer
// for the metrics of these parts.
type Encoded struct {
	Head         []byte // times, dictionaries and which parts there are; small
	Dictionaries []EncodedDictionary
	Parts        []Part // by ascending PartID; of metrics that the head does not answer for
}

// EncodedDictionary is a dictionary's blob and its address.
type EncodedDictionary struct {
	Key  string // Dictionary.Key
	Hash window.Hash
	Blob []byte
}
