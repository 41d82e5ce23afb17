package query

// Running returns how many queries hold a place.
func (e *Engine) Running() int {
	e.queue.mu.Lock()
	defer e.queue.mu.Unlock()
	return e.queue.running
}

// Alone lets Prometheus's engine compute everything, as if there were no kernels.
func (e *Engine) Alone() { e.alone = true }

// Kernels returns how many parts of expressions kernels have answered.
func (e *Engine) Kernels() int64 { return e.kernels.Load() }
