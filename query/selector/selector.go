// Package selector parses the series selectors of a request, and bounds what their regular
// expressions cost before they are compiled.
//
// A regular expression of some kilobytes can compile to a gigabyte: repetitions multiply, classes
// of characters are long lists, and Prometheus spells out small sets of texts. So a Request
// measures each expression on its syntax tree, where nothing is expanded yet, and refuses what is
// too large with the figure and the limit. Start with Parser, whose Request is one request's.
//
// What it promises: the selectors of one Request allocate some 40 MB at most with the default
// limits, whatever their text. What was compiled is kept, so that the same selector costs nothing
// the next time. At most as many are compiled at once as there are processors.
//
// What bites: matching is bounded by the program's size and the text's length only. Whoever
// matches many texts checks the request's context in between.
//
// It may import query/cache.
package selector

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/strutil"

	"github.com/ringwatch/ringwatch/query/cache"
)

// Config bounds the selectors of one request.
type Config struct {
	// MaxRegexpBytes bounds the length of one regular expression. 200 host ids take 7,400 bytes.
	MaxRegexpBytes int `yaml:"max_regexp_bytes"`
	// MaxTotalBytes bounds the length of all regular expressions of a request.
	MaxTotalBytes int `yaml:"max_total_bytes"`
	// MaxInstructions bounds the size of all compiled regular expressions of a request. A literal
	// character is one instruction; while it is compiled it takes up to 1 KB.
	MaxInstructions int `yaml:"max_instructions"`
	// MaxMatchers bounds the matchers (such as keyspace="shop") of all selectors of a request.
	MaxMatchers int `yaml:"max_matchers"`
	// CacheBytes bounds what is kept of compiled selectors (an estimate). 0 keeps none.
	CacheBytes int64 `yaml:"cache_bytes"`
}

// DefaultConfig returns limits that a dashboard with a choice of 200 nodes stays below.
func DefaultConfig() Config {
	return Config{
		MaxRegexpBytes: 8 << 10, MaxTotalBytes: 16 << 10, MaxInstructions: 20_000,
		MaxMatchers: 128, CacheBytes: 16 << 20,
	}
}

// Validate returns everything that is wrong with the configuration, at once.
func (c *Config) Validate() error {
	var wrong []error
	for _, n := range []struct {
		name  string
		value int
	}{{"max_regexp_bytes", c.MaxRegexpBytes}, {"max_total_bytes", c.MaxTotalBytes},
		{"max_instructions", c.MaxInstructions}, {"max_matchers", c.MaxMatchers}} {
		if n.value < 1 {
			wrong = append(wrong, fmt.Errorf("%s is %d: use more than 0", n.name, n.value))
		}
	}
	if c.CacheBytes < 0 {
		wrong = append(wrong, fmt.Errorf("cache_bytes is %d: use 0 to keep nothing, or more",
			c.CacheBytes))
	}
	return errors.Join(wrong...)
}

// Parser reads selectors. Its methods may be called from many goroutines.
type Parser struct {
	config Config
	promql parser.Parser
	slots  chan struct{} // a token per selector that is being compiled
	cache  cache.Cache[string, *compiled]
}

// compiled is a selector with what it costs a request.
type compiled struct {
	matchers []*labels.Matcher
	cost     cost
}

// What a compiled selector takes in memory, measured on programs of 1 to 20,000 instructions.
const (
	keptBytes            = 2000
	keptInstructionBytes = 110
)

// New checks the configuration and returns a Parser.
func New(c Config) (*Parser, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("selectors: %w", err)
	}
	p := &Parser{config: c, promql: parser.NewParser(parser.Options{}),
		slots: make(chan struct{}, runtime.GOMAXPROCS(0))}
	var err error
	p.cache, err = cache.New("compiled selectors", c.CacheBytes,
		func(text string, of *compiled) int64 {
			return int64(keptBytes + 3*len(text) + keptInstructionBytes*of.cost.instructions)
		})
	if err != nil {
		return nil, fmt.Errorf("selectors: %w", err)
	}
	return p, nil
}

// Request adds up what the selectors of one request cost. It is for one goroutine.
type Request struct {
	parser *Parser
	ctx    context.Context
	cost   cost
}

// Request begins a request, which waits for a processor no longer than ctx.
func (p *Parser) Request(ctx context.Context) *Request { return &Request{parser: p, ctx: ctx} }

// Selector parses a series selector such as up{job=~"a.*"} and compiles it, if the request is
// still within its limits. The error is a *LimitError, ctx's, or the parser's. The matchers are
// shared, so nobody changes them.
func (r *Request) Selector(text string) ([]*labels.Matcher, error) {
	if known := r.parser.cache.Get(text); known != nil {
		r.cost.add(known.cost)
		return known.matchers, r.check()
	}
	select {
	case r.parser.slots <- struct{}{}:
		defer func() { <-r.parser.slots }()
	case <-r.ctx.Done():
		return nil, r.ctx.Err()
	}
	before := r.cost
	if err := r.Check(text); err != nil {
		return nil, err
	}
	matchers, err := r.parser.promql.ParseMetricSelector(text)
	if err != nil {
		return nil, err
	}
	if r.parser.cache.Keeps() {
		of := &compiled{matchers: matchers, cost: r.cost}
		of.cost.sub(before)
		r.parser.cache.Put(text, of)
	}
	return matchers, nil
}

// Check measures all regular expressions in the matchers of a PromQL expression and compiles none.
// Who goes on to parse the expression, which compiles them, calls it first. It does not know which
// texts a function takes as a regular expression, as label_replace does: those are for Regexp.
// What is no PromQL is the parser's to refuse. The error is a *LimitError or says which regular
// expression is wrong.
func (r *Request) Check(expr string) error {
	lexer := parser.Lex(expr)
	var before parser.ItemType
	for {
		var item parser.Item
		switch lexer.NextItem(&item); item.Typ {
		case parser.EOF, parser.ERROR:
			return nil
		case parser.COMMENT:
			continue
		case parser.EQL, parser.NEQ, parser.EQL_REGEX, parser.NEQ_REGEX:
			r.cost.matchers++
			if err := r.check(); err != nil {
				return err
			}
		case parser.STRING:
			if before == parser.EQL_REGEX || before == parser.NEQ_REGEX {
				text, err := strutil.Unquote(item.Val)
				if err != nil {
					return fmt.Errorf("%s is not a quoted string: %w", item.Val, err)
				}
				if err := r.Regexp(text); err != nil {
					return err
				}
			}
		}
		before = item.Typ
	}
}
