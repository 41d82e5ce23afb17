/**
 * The way of a frame from the sampler to ingest: a bounded queue that drops its oldest, and one thread that posts its
 * head until it is answered. The ledger always holds: made = sent + dropped by reason + queued.
 */
package dev.ringwatch.agent.delivery;
