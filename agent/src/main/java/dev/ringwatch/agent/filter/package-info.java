/**
 * What of all there is gets sent: {@code filters} of {@code agent.yaml}. Asked when a metric is
 * registered, never on a pass: what is filtered out is not read at all.
 */
package dev.ringwatch.agent.filter;
