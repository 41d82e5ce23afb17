package account

// remembered is a map of at most limit entries. Two generations bound it without a list: when the
// young one is full it becomes the old one, and what nobody asks for in a whole generation is
// forgotten.
type remembered[K comparable, V any] struct {
	limit      int
	young, old map[K]V
}

func (m *remembered[K, V]) get(key K) (V, bool) {
	if v, ok := m.young[key]; ok {
		return v, true
	}
	v, ok := m.old[key]
	if ok {
		delete(m.old, key)
		m.put(key, v)
	}
	return v, ok
}

func (m *remembered[K, V]) put(key K, v V) {
	if m.young == nil || len(m.young) >= m.limit/2 {
		m.old, m.young = m.young, map[K]V{}
	}
	m.young[key] = v
}

func (m *remembered[K, V]) len() int { return len(m.young) + len(m.old) }
