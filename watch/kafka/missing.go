package kafka

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// missing gathers what a reading lacks. Its size does not depend on how much that is.
type missing struct {
	timeout time.Duration
	mu      sync.Mutex
	count   int
	causes  []cause
	more    int // causes that have no room
}

// cause is one sentence in the making.
type cause struct {
	what, err string
	count     int
	names     []string
}

const (
	mostCauses = 12
	mostNamed  = 3
)

// add counts what is missing: "brokers gave no ends of logs", of whom, why.
func (m *missing) add(what, name string, err error) {
	var coded *kerr.Error
	var text string
	if errors.As(err, &coded) || err == errNonsense { // millions may come of one answer
		text = explained(err, m.timeout).Error()
	} else {
		text = "" // addresses of sockets would make each another cause
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count++
	i := slices.IndexFunc(m.causes, func(c cause) bool {
		return c.what == what && (text == "" || c.err == text)
	})
	if i < 0 {
		if len(m.causes) == mostCauses {
			m.more++
			return
		}
		if text == "" {
			text = explained(err, m.timeout).Error()
		}
		m.causes = append(m.causes, cause{what: what, err: text})
		i = len(m.causes) - 1
	}
	c := &m.causes[i]
	c.count++
	if len(c.names) < mostNamed && !slices.Contains(c.names, name) {
		if len(name) > 200 {
			name = name[:200] + "…"
		}
		c.names = append(c.names, strings.ToValidUTF8(name, "?"))
	}
}

// code is add with an error code of Kafka's. It reports whether it was one.
func (m *missing) code(what, name string, code int16) bool {
	err := kerr.ErrorForCode(code)
	if err != nil {
		m.add(what, name, err)
	}
	return err != nil
}

func (m *missing) err() error {
	if m.count == 0 {
		return nil
	}
	p := &Partial{Count: m.count}
	for _, c := range m.causes {
		names := strings.Join(c.names, ", ")
		if c.count > len(c.names) {
			names = fmt.Sprintf("%d, such as %s", c.count, names)
		}
		p.Sentences = append(p.Sentences, fmt.Sprintf("%s (%s): %s", c.what, names, c.err))
	}
	if m.more > 0 {
		p.Sentences = append(p.Sentences, fmt.Sprintf("%d more of other causes", m.more))
	}
	return p
}
