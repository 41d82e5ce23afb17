// Maintenance: silences that somebody gave this reason, as charts mark them.
import { useMemo } from "preact/hooks";
import type { Silence } from "./api";
import type { Mark } from "./marks";
import { isAbout, reasonOf, secondsAt } from "./quiet";
import { useQuiet } from "./silences";
import { live, type Range } from "./time";

/** Marks of maintenance of a cluster, or of nodes of it, within a range. */
export function maintenanceOf(
  list: Silence[],
  cluster: string,
  nodes: string[],
  range: { from: number; to: number },
): Mark[] {
  return list.flatMap((s): Mark[] => {
    const [isMaintenance, why] = reasonOf(s);
    const at = Math.max(secondsAt(s.startsAt), range.from);
    const until = Math.min(secondsAt(s.endsAt), range.to);
    if (!isMaintenance || at >= until || !isAbout(s, cluster, nodes)) return [];
    const text = `Maintenance by ${s.createdBy || "nobody"}${why && `: ${why}`}`;
    return [{ at, until, kind: "maintenance", text }];
  });
}

/** The same, of what is known now: maintenance that ended days ago is forgotten. */
export function useMaintenance(cluster: string, nodes: string[], range: Range): Mark[] {
  const list = useQuiet().value?.silences;
  return useMemo(
    () => maintenanceOf(list ?? [], cluster, nodes, range.live ? live(range) : range),
    [list, cluster, nodes.join(), range.from, range.to],
  );
}
