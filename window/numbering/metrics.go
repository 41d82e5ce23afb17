package numbering

// Metrics is how the metrics of one template translate.
type Metrics struct {
	Dictionary   *Dictionary
	toDictionary []int32 // metric of the template → metric of the dictionary
	// metric of the dictionary → metric of the template or −1, of those that were known then
	toTemplate []int32
}

// Has reports whether the template has a metric of the dictionary.
func (m *Metrics) Has(metric int) bool {
	return metric < len(m.toTemplate) && m.toTemplate[metric] >= 0
}
