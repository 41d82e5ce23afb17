/**
 * {@code GET /metrics}: the last pass as Prometheus text, for those who would rather scrape. One thread, one scrape at
 * a time, one metric's lines in memory; a scrape never makes a pass happen and holds one up for a metric at most.
 */
package dev.ringwatch.agent.pull;
