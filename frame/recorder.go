package frame

import (
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// A recorder is a virtual node: the frames of what recording rules compute are its. Its id has a
// mark of its own, so that everybody who reads a frame or a row knows that it is none of a
// fleet's nodes. Its series have the labels of their entities and no others: the cluster of the
// header says whose they are and is no label of theirs.

// recorderMark begins the ids of recorders. The version of these UUIDs, 8, is the one that leaves
// their bits to us (RFC 9562).
const recorderMark = "record\x80"

// EveryCluster is the cluster of recorders that compute over all clusters of an account.
const EveryCluster = "*"

// RecorderID returns the id of the recorder of a group of rules in a cluster of an account.
func RecorderID(account, cluster, group string) uuid.UUID {
	return marked(recorderMark, account, cluster, group)
}

// processMark begins the ids of processes of Ringwatch, which send their own metrics. Such a
// process is a recorder, too: its series have the labels of their entities and no others. Unlike
// what rules record, its frames come through ingest.
const processMark = "rwproc\x80"

// ProcessID returns the id under which a process of a role sends its own metrics as an instance.
func ProcessID(cluster, instance, role string) uuid.UUID {
	return marked(processMark, cluster, instance, role)
}

// targetMark begins the ids of targets: nodes that have no agent and are read by the role watch.
// For who reads frames they are nodes like all others.
const targetMark = "target\x80"

// TargetID returns the id of the node that a target of a job is, by its instance.
func TargetID(cluster, job, instance string) uuid.UUID {
	return marked(targetMark, cluster, job, instance)
}

// IsTarget reports whether an id is that of a target.
func IsTarget(id uuid.UUID) bool { return string(id[:len(targetMark)]) == targetMark }

// brokerMark begins the ids of Kafka's brokers and controllers with an agent: they have no id of
// their own that is a UUID. For who reads frames they are nodes like all others.
const brokerMark = "broker\x80"

// BrokerID returns the node id of a broker, or of a controller, of the cluster of that id. The
// agent makes the same (BrokerBeans.java).
func BrokerID(clusterID string, broker int) uuid.UUID {
	return marked(brokerMark, clusterID, strconv.Itoa(broker))
}

// marked returns an id of a mark and what it is of.
func marked(mark string, of ...string) uuid.UUID {
	sum := sha256.Sum256([]byte(strings.Join(of, "\x00")))
	var id uuid.UUID
	copy(id[:], sum[:])
	copy(id[:], mark)
	id[8] = id[8]&0x3f | 0x80 // the variant of RFC 9562
	return id
}

// IsRecorder reports whether an id is a recorder's, those of processes among them.
func IsRecorder(id uuid.UUID) bool {
	return string(id[:len(recorderMark)]) == recorderMark || IsProcess(id)
}

// IsProcess reports whether an id is that of a process that sends its own metrics.
func IsProcess(id uuid.UUID) bool { return string(id[:len(processMark)]) == processMark }

// placePrefix stands before those label names of recorders' entities that are a node's elsewhere.
const placePrefix = "recorded_"

// RecordedLabel returns the name under which a recorder's frame has a label: some names are no
// entity's in other frames (FORMAT.md).
func RecordedLabel(name string) string {
	switch name {
	case "cluster", "datacenter", "rack", "node", "le", "quantile":
		return placePrefix + name
	}
	if strings.HasPrefix(name, placePrefix) {
		return placePrefix + name
	}
	return name
}

// quantileLabel is the label quantile in a frame: of the names that RecordedLabel makes, the one
// that every node's entities may have. Targets have summaries.
const quantileLabel = placePrefix + "quantile"

// RecordersLabel returns one of a template's label names that only recorders may have; "" if there
// is none. Who takes frames of other nodes refuses it.
func RecordersLabel(names []string) string {
	for _, name := range names {
		if strings.HasPrefix(name, placePrefix) && name != quantileLabel {
			return name
		}
	}
	return ""
}

// LabelsOf returns the label names that a template's entities have for readers: in a recorder's
// frames those that RecordedLabel made of them, else the template's own but for quantile.
func LabelsOf(node uuid.UUID, names []string) []string {
	recorder := IsRecorder(node)
	if !recorder && !slices.Contains(names, quantileLabel) {
		return names
	}
	list := make([]string, len(names))
	for i, name := range names {
		if list[i] = name; recorder || name == quantileLabel {
			list[i] = strings.TrimPrefix(name, placePrefix)
		}
	}
	return list
}
