package own

// What waits for ingest is bounded: an hour's outage costs the oldest frames, not memory.
const (
	queueFrames = 45 // a quarter of an hour at the usual interval
	queueBytes  = 4 << 20
)

// queue holds frames that ingest has not taken yet.
type queue struct {
	frames [][]byte
	bytes  int
}

// put enters a frame and returns how many of the oldest had to leave for it.
func (q *queue) put(b []byte) (dropped int) {
	q.frames = append(q.frames, b)
	q.bytes += len(b)
	for len(q.frames) > queueFrames || q.bytes > queueBytes {
		q.drop()
		dropped++
	}
	return dropped
}

// oldest returns the frame that is sent next, or nil.
func (q *queue) oldest() []byte {
	if len(q.frames) == 0 {
		return nil
	}
	return q.frames[0]
}

// drop lets go of the oldest frame.
func (q *queue) drop() {
	q.bytes -= len(q.frames[0])
	q.frames[0] = nil
	q.frames = q.frames[1:]
}
