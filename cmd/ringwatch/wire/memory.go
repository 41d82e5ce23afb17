package wire

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

// MostRows is what rows of a directory take however much memory there is: what is not in files is
// read again at the start. Tests have less.
var MostRows int64 = 64 << 20

// sampleBytes is what PromQL's engine takes for a sample.
const sampleBytes = 16

// rulesBudget returns what rules may keep in memory. It is apart from that of other work, which
// comes and goes.
func rulesBudget(p *Process) (*memory.Budget, error) {
	bytes := p.limit.Bytes / rulesPart
	if p.Role == "rules" { // that is all that the process does
		bytes *= 3
	}
	return memory.NewBudget("rules", bytes, p.Metrics)
}

// bound finds how much memory the process may have, divides it, and lowers what the configuration
// would take of it.
func (p *Process) bound() error {
	p.limit = memory.Find(p.Config.Memory.LimitBytes)
	if p.Role == "rules" || p.Role == "all" && p.Config.Keeps() {
		memory.CollectOften()
	}
	var err error
	if p.budget, err = memory.NewBudget("work", p.limit.Bytes/budgetPart, p.Metrics); err != nil {
		return err
	}
	p.Config.Ingest.MaxInFlightBytes = min(p.Config.Ingest.MaxInFlightBytes,
		p.limit.Bytes/inFlightPart)
	p.Config.API.AnswersBytes = min(p.Config.API.AnswersBytes, p.limit.Bytes/answersPart)
	p.Config.API.KeptBytes = min(p.Config.API.KeptBytes, p.limit.Bytes/keptPart)
	p.Config.API.HeardBytes = min(p.Config.API.HeardBytes, p.limit.Bytes/heardPart)
	p.Config.Query.ColumnsBytes = min(p.Config.Query.ColumnsBytes, p.limit.Bytes/columnsPart)
	p.Config.Cassandra.KeptBytes = int(p.Config.Query.ColumnsBytes)
	p.Config.Cassandra.DirMemory = min(MostRows, p.limit.Bytes/rowsPart)
	p.Config.Query.ResultsBytes = min(p.Config.Query.ResultsBytes, p.limit.Bytes/resultsPart)
	p.Config.Series.MaxBytes = min(p.Config.Series.MaxBytes, int(p.limit.Bytes/seriesPart))
	p.Config.Redis.KnownBytes = min(p.Config.Redis.KnownBytes, p.limit.Bytes/knownPart)
	if len(p.Config.Redis.Addresses) == 0 {
		p.Config.Redis.Memory = recent.NewMemory(p.limit.Bytes/recentPart, p.Config.Redis.Clock,
			p.Metrics)
	}
	p.Config.Query.MaxSamples = min(p.Config.Query.MaxSamples,
		int(p.limit.Bytes/samplesPart/sampleBytes)/p.Config.Query.MaxConcurrent)
	return p.Metrics.Register(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "ringwatch_memory_limit_bytes",
			Help: "What the process may have of memory; near it, new work is refused."},
			func() float64 { return float64(p.limit.Bytes) }))
}
