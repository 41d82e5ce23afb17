package window

// Slice returns the part of a window that is within a span, such as five minutes of an hour. It has
// the window's dictionaries, and so also entities that were not there.
func (w *Window) Slice(start, length int64) *Window {
	if start == w.Start && length == w.Length {
		return w
	}
	return Union(start, length, []*Window{w})
}
