/**
 * Names of other exporters that are made of management beans: each bean and attribute is named
 * once, by the rules of a profile, when the bean is registered; a pass then reads values only.
 *
 * <p>Cassandra's own metrics are read straight from its registry, behind the inventory's activity
 * gate. Other beans are read from the platform's MBean server by a thread of their own, at most
 * once a pass, and left out when they cost too much or never answer. Nothing here waits for a bean
 * while it holds a lock.
 */
package dev.ringwatch.agent.beans;
