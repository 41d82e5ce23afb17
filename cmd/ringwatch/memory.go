package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/recent"
)

// What of the process's memory a kind of thing may take at most. The rest is for what does not
// follow from what accounts send and ask: code, connections, indexes, garbage.
const (
	budgetPart   = 2  // a half: frames that are read, windows that are closed, answers
	inFlightPart = 4  // a quarter: bodies of frames on their way
	answersPart  = 16 // kept answers
	keptPart     = 64 // what PromQL asked newest states
	heardPart    = 64 // when nodes were heard of
	knownPart    = 64 // windows of frames as Redis gave them
	columnsPart  = 8  // columns of what is stored
	resultsPart  = 32 // steps of range queries
	seriesPart   = 8  // the index of an account's series
	recentPart   = 8  // the last 15 minutes, where there is no Redis
	samplesPart  = 8  // what PromQL's engine makes of samples, for all queries at once
	rowsPart     = 32 // rows of a directory that are not in files yet, and blocks of files
	// series that rules look back at; three quarters where that is all a process does
	rulesPart = 4
)

// mostRows is what rows of a directory take however much memory there is: what is not in files is
// read again at the start. Tests have less.
var mostRows int64 = 64 << 20

// sampleBytes is what PromQL's engine takes for a sample.
const sampleBytes = 16

// rulesBudget returns what rules may keep in memory. It is apart from that of other work, which
// comes and goes.
func (p *process) rulesBudget() (*memory.Budget, error) {
	bytes := p.limit.Bytes / rulesPart
	if p.alone {
		bytes *= 3
	}
	return memory.NewBudget("rules", bytes, p.metrics)
}

// bound finds how much memory the process may have, divides it, and lowers what the configuration
// would take of it.
func (p *process) bound() error {
	p.limit = memory.Find(p.Memory.LimitBytes)
	if p.role == "rules" || p.role == "all" && p.keeps() {
		memory.CollectOften()
	}
	var err error
	if p.budget, err = memory.NewBudget("work", p.limit.Bytes/budgetPart, p.metrics); err != nil {
		return err
	}
	p.Ingest.MaxInFlightBytes = min(p.Ingest.MaxInFlightBytes, p.limit.Bytes/inFlightPart)
	p.API.AnswersBytes = min(p.API.AnswersBytes, p.limit.Bytes/answersPart)
	p.API.KeptBytes = min(p.API.KeptBytes, p.limit.Bytes/keptPart)
	p.API.HeardBytes = min(p.API.HeardBytes, p.limit.Bytes/heardPart)
	p.Query.ColumnsBytes = min(p.Query.ColumnsBytes, p.limit.Bytes/columnsPart)
	p.Cassandra.KeptBytes = int(p.Query.ColumnsBytes)
	p.Cassandra.DirMemory = min(mostRows, p.limit.Bytes/rowsPart)
	p.Query.ResultsBytes = min(p.Query.ResultsBytes, p.limit.Bytes/resultsPart)
	p.Series.MaxBytes = min(p.Series.MaxBytes, int(p.limit.Bytes/seriesPart))
	p.Redis.KnownBytes = min(p.Redis.KnownBytes, p.limit.Bytes/knownPart)
	if len(p.Redis.Addresses) == 0 {
		p.Redis.Memory = recent.NewMemory(p.limit.Bytes/recentPart, p.Redis.Clock, p.metrics)
	}
	p.Query.MaxSamples = min(p.Query.MaxSamples,
		int(p.limit.Bytes/samplesPart/sampleBytes)/p.Query.MaxConcurrent)
	return p.metrics.Register(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "ringwatch_memory_limit_bytes",
			Help: "What the process may have of memory; near it, new work is refused."},
			func() float64 { return float64(p.limit.Bytes) }))
}
