// Package query answers questions about what nodes have sent, in PromQL. Begin with Engine. A
// node's newest state, or a range of its values, is read.Reader's, and so are the sources: their
// interfaces and functions, which cmd fills in.
//
// The rooms, in the order in which a question passes them:
//
//	Engine.Range
//	  expression   the tree of the text, and what it may cost; how long its labels become
//	  results      the steps that an earlier question left
//	  limit        the queue: one of the account's places
//	  kernel/run   sum by (…) (rate(…[5m])): rows of numbers, block by block, by package kernel
//	  promql       the rest: Prometheus's own engine, over a storage.Querier
//	    selection    a selector's nodes, and each node's spans → series
//	      plan         its matchers, windows and spans; fleet and index say which nodes
//	      read         recent source │ store │ rollups: the Reader
//	        share        readings that several want at once, and their memory
//	        cache        what earlier readings found out
//	      series       what PromQL sees of it: samples, native histograms, where a series ended
//
// Beside them: metadata lists series and reads none (Engine.Lists), live is for who holds series in
// memory, selector reads the selectors of a request, roster knows who left, catalog has friendly
// names, and nearest finds what was meant.
//
// What it promises: an answer is right whether the recent source is there or not, and the metrics
// say which source gave it. It is of one account. What is stored and cannot be read, or may still
// be on its way to the store, is named in words (Missing) and never left out in silence. Readings
// of the same thing at the same time are one, and take their memory from the account's share of
// the budget.
//
// What bites: the list of an account's nodes is remembered, see read.Reader.Nodes. What a reading
// returns is shared between those who asked at the same time, so nobody changes it. It counts as
// memory in use until the context's scope ends, so whoever asks opens a scope of Reader.Shared, and
// a part of it for each of many nodes.
//
// It may import dictionary, frame, window, access and memory.
package query
