/**
 * {@code GET /metrics}: the last pass as Prometheus text, for those who would rather scrape. A
 * scrape never makes a pass happen and holds one up for a piece of a page at most; ten scrapers of
 * one pass cost one page.
 *
 * <p>{@code Profile} → {@code Layout} (which families) → {@code Pages} (pieces, made anew where
 * cells changed) → {@code Page} → {@code Body} → {@code Connection}. One thread, no lock but the
 * model's.
 */
package dev.ringwatch.agent.pull;
