// The names of nodes, for whoever knows only their ids.
import { useMemo } from "preact/hooks";
import { nodes } from "./api";
import { useData } from "./data";
import { nameOf } from "./kinds";

/** The names by id of a cluster's nodes, or of all; the same map until they are asked for again.
 *  Nobody asks while they are not wanted. */
export function useNames(cluster?: string, wanted = true): ReadonlyMap<string, string> {
  const { value } = useData(
    wanted ? `names ${cluster ?? ""}` : null,
    (s) => nodes(cluster ? { cluster } : {}, s),
    { every: 60_000, keep: true },
  );
  return useMemo(() => new Map(value?.map((n) => [n.id, nameOf(n)])), [value]);
}
