// What software a node runs, and how nodes are called.
import type { Node } from "./api";

/** Software that nodes run; other is whatever has /metrics. */
export type Kind = "cassandra" | "kafka" | "redis" | "other";

/** All kinds, and how they are called. */
export const kinds: [Kind, string][] = [
  ["cassandra", "Cassandra"],
  ["kafka", "Kafka"],
  ["redis", "Redis"],
  ["other", "other"],
];

/** What a node runs: an agent in Cassandra says nothing of it. */
export function kindOf(node: Node): Kind {
  const said = node.facts.kind ?? "cassandra";
  return kinds.find(([kind]) => kind === said)?.[0] ?? "other";
}

/** How a kind is called. */
export const kindName = (kind: Kind): string => kinds.find(([k]) => k === kind)![1];

/** The kinds of nodes, in the order of all kinds. */
export function kindsOf(list: Node[]): Kind[] {
  const there = new Set(list.map(kindOf));
  return kinds.map(([kind]) => kind).filter((kind) => there.has(kind));
}

/** Whether a node is read from outside. Its frames come from whoever reads it, so that they come
 *  while it does not answer: its own series up says whether it does. */
export const watched = (node: Node): boolean => Boolean(node.facts.job);

/** How people call a node. */
export const nameOf = (node: Node): string => node.address || node.facts.instance || node.id;
