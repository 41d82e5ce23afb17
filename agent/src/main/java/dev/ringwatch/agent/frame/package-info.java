/**
 * The Ringwatch frame format, version 1, as seen by its writer: {@code frame/FORMAT.md} in Java.
 *
 * <p>A {@link dev.ringwatch.agent.frame.Model} holds one node's values as flat columns, twice: as
 * they are now and as the window's key frame said. A {@link dev.ringwatch.agent.frame.FrameEncoder}
 * scans the two for differences. So a pass on which nothing moved allocates nothing and writes a
 * few dozen bytes.
 *
 * <p>What bites: nothing here is thread-safe, one thread owns a model and its encoder. Slots are
 * positions within one window; they move when a key frame is begun.
 */
package dev.ringwatch.agent.frame;
