/**
 * What happens on the node, beside what can be counted: events. Sources notice it on Cassandra's
 * threads and leave it in the {@link dev.ringwatch.agent.events.Inbox}, which is bounded and waits
 * for nobody; all that costs something (reading, taking literals out) is done on the agent's own
 * thread in a pass, which hands at most twenty to a frame.
 */
package dev.ringwatch.agent.events;
