// The names of nodes, for whoever knows only their ids.
import { useMemo } from "preact/hooks";
import { type Node, nodes } from "./api";
import { useData } from "./data";
import { nameOf } from "./kinds";

/** A cluster's nodes, or all, asked for once a minute; undefined until they are known. Nobody asks
 *  while they are not wanted. */
export function useNodes(cluster?: string, wanted = true): Node[] | undefined {
  return useData(
    wanted ? `names ${cluster ?? ""}` : null,
    (s) => nodes(cluster ? { cluster } : {}, s),
    { every: 60_000, keep: true },
  ).value;
}

/** Their names by id; the same map until they are asked for again. */
export function useNames(cluster?: string, wanted = true): ReadonlyMap<string, string> {
  const list = useNodes(cluster, wanted);
  return useMemo(() => new Map(list?.map((n) => [n.id, nameOf(n)])), [list]);
}
