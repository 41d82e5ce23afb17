package query

// Running returns how many queries hold a place.
func (e *Engine) Running() int {
	e.queue.mu.Lock()
	defer e.queue.mu.Unlock()
	return e.queue.running
}
