package throttle

// waiter is a request that waits.
type waiter struct {
	n      float64
	client *client
	tally  *tally
	state  state
	ended  chan struct{} // closed when state is no longer waits

	prev, next *waiter // of its client
}

// state is what became of a waiter.
type state int

const (
	waits state = iota
	admitted
	crowded // pushed out, because too many wait
)

// client is who must not starve others: its requests wait in line, and its tag says how much it
// has had.
type client struct {
	name string
	// virtual time at which all that it has had would have ended, had each client had the same
	tag         float64
	order       uint64 // of two with the same tag the one that came first
	first, last *waiter
	waiting     int
	at          int // in heap, -1: nothing waits
}

// queue is the requests of a class that wait. The next one is of the client that has had the fewest
// operations (start-time fair queueing). A client that asks for a thousand times as much as another
// waits a thousand times as long, and the other not at all. A client that comes back after a pause
// begins where the others are, so that nobody saves up.
//
// Cost: O(log clients) for each request. Memory: a client is forgotten when the others have had
// as much.
type queue struct {
	clients map[string]*client
	heap    []*client // of those with anything waiting, the least tag first
	now     float64   // tag of the last one served
	orders  uint64
	waiting int     // requests
	ops     float64 // operations
	swept   int     // pops since the last sweep
}

// push puts a request at its client's end.
func (q *queue) push(name string, w *waiter) {
	if q.clients == nil {
		q.clients = map[string]*client{}
	}
	c := q.clients[name]
	if c == nil {
		c = &client{name: name, at: -1}
		q.clients[name] = c
	}
	w.client, w.prev, w.next = c, c.last, nil
	if c.last != nil {
		c.last.next = w
	} else {
		c.first = w
	}
	c.last = w
	c.waiting++
	q.waiting++
	q.ops += w.n
	if c.at < 0 {
		c.tag = max(c.tag, q.now)
		q.orders++
		c.order, c.at = q.orders, len(q.heap)
		q.heap = append(q.heap, c)
		q.up(c.at)
	}
}

// head returns the next request, nil if none waits.
func (q *queue) head() *waiter {
	if len(q.heap) == 0 {
		return nil
	}
	return q.heap[0].first
}

// pop takes the head out as served.
func (q *queue) pop() *waiter {
	w := q.head()
	c := w.client
	q.now = max(q.now, c.tag)
	c.tag += w.n
	q.remove(w)
	if c.at >= 0 { // it goes behind those with the same tag
		q.orders++
		c.order = q.orders
		q.down(c.at)
	}
	if q.swept++; q.swept >= len(q.clients) {
		q.sweep()
	}
	return w
}

// remove takes a request out wherever it stands, as not served if it is not popped.
func (q *queue) remove(w *waiter) {
	c := w.client
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		c.first = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	} else {
		c.last = w.prev
	}
	w.prev, w.next = nil, nil
	c.waiting--
	q.waiting--
	q.ops -= w.n
	if c.first != nil {
		return
	}
	i, end := c.at, len(q.heap)-1
	q.swap(i, end)
	q.heap = q.heap[:end]
	c.at = -1
	if i < end {
		q.up(i)
		q.down(i)
	}
	if end == 0 { // nobody waits: everyone is equal again
		clear(q.clients)
		q.now, q.ops = 0, 0
	}
}

// longest returns the newest request of the client with the most waiting, nil if none waits.
func (q *queue) longest() *waiter {
	var most *client
	for _, c := range q.heap {
		if most == nil || c.waiting > most.waiting {
			most = c
		}
	}
	if most == nil {
		return nil
	}
	return most.last
}

// sweep forgets clients that have nothing waiting and are ahead of nobody.
func (q *queue) sweep() {
	q.swept = 0
	for name, c := range q.clients {
		if c.at < 0 && c.tag <= q.now {
			delete(q.clients, name)
		}
	}
}

func (q *queue) less(i, j int) bool {
	a, b := q.heap[i], q.heap[j]
	return a.tag < b.tag || a.tag == b.tag && a.order < b.order
}

func (q *queue) swap(i, j int) {
	q.heap[i], q.heap[j] = q.heap[j], q.heap[i]
	q.heap[i].at, q.heap[j].at = i, j
}

func (q *queue) up(i int) {
	for i > 0 && q.less(i, (i-1)/2) {
		q.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (q *queue) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(q.heap); child++ {
			if q.less(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		q.swap(i, least)
		i = least
	}
}
