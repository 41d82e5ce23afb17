/**
 * The way of a frame from the sampler to ingest: a bounded queue, one thread that posts what is
 * fresh first and the backlog beside it, and a spool on disk for what memory should not hold. At
 * every instant
 *
 * <pre>  made + recovered = sent + dropped by reason + queued + spooled</pre>
 *
 * <p>It promises that the sampler's thread waits for neither network nor disk; that an outage,
 * however long, does not delay what is made after it by more than some frames; and that what was
 * spooled survives the process.
 *
 * <p>What bites: frames may arrive twice (a repetition is a repetition, FORMAT.md §8) and, after
 * trouble, out of order.
 */
package dev.ringwatch.agent.delivery;
