// What software a node runs, and how nodes are called.
import type { Cluster, Node } from "./api";
import { stamp } from "./time";

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

/** Whether a node is read from outside. Its frames come from whoever reads it. */
export const watched = (node: Node): boolean => Boolean(node.facts.job);

/** Whether nothing comes of a node. One that is read from outside is down also if it does not
 *  answer, while what comes says so. */
export const silent = (node: Node): boolean =>
  node.state === "down" && !(watched(node) && (node.age_seconds ?? 60) < 60);

/** Of when the values of a silent or paused node are, in words; nothing of another. */
export function lastOf(node: Node): string {
  const paused = node.state === "paused";
  if (!silent(node) && !paused) return "";
  const at = Date.parse((paused ? node.paused_since : node.last_seen) ?? "") / 1000;
  if (!Number.isNaN(at)) return `as of ${stamp(at)}`;
  return paused ? "from before it was paused" : "from before it fell silent";
}

/** Whether a cluster has nodes of Cassandra. */
export const hasCassandra = ({ kinds }: Cluster & { kinds?: readonly string[] }): boolean =>
  kinds?.includes("cassandra") ?? true;

/** How people call a node: its host, and its address behind it, since a host may have several
 *  nodes. The API's names are the same, see Identity.Name in frame/frame.go. */
export function nameOf(node: Node): string {
  const address = node.address || node.facts.instance || "";
  const host = node.facts.hostname ?? "";
  if (!host || address === host || address.startsWith(`${host}:`)) return address || node.id;
  return address ? `${host} (${address})` : host;
}
