// Which nodes of a cluster differ from their peers: the nodes of their datacenter.
import { useMemo } from "preact/hooks";
import { type CatalogEntry, type CatalogGroup, query, type Sample } from "./api";
import { entryOf, expression, titleOf, together } from "./ask";
import { useData } from "./data";
import { Empty, Shown } from "./faces";
import { link } from "./place";
import { type Column, Table } from "./table";
import { format, number, quote } from "./units";

/** What is compared here, over half an hour; rules of the catalogue record the rest, if asked
 *  to. */
const compared = [
  "n::cpuUtilization",
  "n::clientRequestRead",
  "n::clientRequestWrite",
  "n::reads",
  "n::writes",
  "n::load",
  "n::compactions",
  "n::gcTime",
  "n::diskBusy",
  "n::threads",
];
const window = 1800;

// As query/catalog/deviation.go has them: what is usual is the median, the spread comes from the
// median of the distances from it, a tenth of it at least.
const leastPeers = 4;
const madScale = 1.4826;
const floor = 0.1;
const far = 3;

/** A node that differs. */
interface Deviation {
  node: string;
  title: string;
  unit: string;
  value: number; // NaN: only the distance was recorded
  median: number;
  distance: number; // in usual spreads
}

function median(list: number[]): number {
  const sorted = [...list].sort((a, b) => a - b);
  const half = sorted.length / 2;
  return sorted.length % 2 ? sorted[Math.floor(half)]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

/** The nodes that are far from the median of their datacenter. */
function deviations(list: Sample[], entries: CatalogEntry[]): Deviation[] {
  const groups = new Map<string, { node: string; value: number }[]>();
  const out: Deviation[] = [];
  for (const { metric, value } of list) {
    const v = number(value?.[1]);
    const node = metric.node ?? "";
    if (!Number.isFinite(v)) continue;
    if (metric.q === String(entries.length)) {
      const entry = metric.entry ?? "";
      if (compared.includes(entry)) continue;
      const title = `${entry.replace(/^.*::/, "")} ${metric.type ?? ""}`;
      out.push({ node, title, unit: "", value: Number.NaN, median: Number.NaN, distance: v });
      continue;
    }
    const key = `${metric.q} ${metric.datacenter}`;
    groups.set(key, [...(groups.get(key) ?? []), { node, value: v }]);
  }
  for (const [key, peers] of groups) {
    if (peers.length < leastPeers) continue;
    const entry = entries[Number(key.split(" ", 1)[0])];
    if (!entry) continue;
    const mid = median(peers.map((p) => p.value));
    const mad = madScale * median(peers.map((p) => Math.abs(p.value - mid)));
    const spread = Math.max(mad, floor * Math.abs(mid));
    if (spread === 0) continue;
    for (const { node, value } of peers) {
      const distance = (value - mid) / spread;
      if (Math.abs(distance) < far) continue;
      const { unit, type } = entry.values.at(-1)!;
      const which = entry.values.length > 1 ? ` ${type.replace(/^(\d+)thPercentile$/, "p$1")}` : "";
      const title = titleOf(entry) + which;
      out.push({ node, title, unit, value, median: mid, distance });
    }
  }
  return out.sort((a, b) => Math.abs(b.distance) - Math.abs(a.distance));
}

const columns = (names: ReadonlyMap<string, string>): Column<Deviation>[] => [
  {
    id: "node",
    title: "node",
    width: 1.5,
    cell: (d) => names.get(d.node) ?? d.node,
    order: (d) => names.get(d.node) ?? d.node,
  },
  { id: "what", title: "of", width: 1.5, cell: (d) => d.title, order: (d) => d.title },
  { id: "value", title: "it has", number: true, cell: (d) => format(d.value, d.unit) },
  {
    id: "median",
    title: "its peers have",
    number: true,
    cell: (d) => format(d.median, d.unit),
  },
  {
    id: "distance",
    title: "distance",
    number: true,
    cell: (d) => `${d.distance > 0 ? "↑" : "↓"} ${format(Math.abs(d.distance))} ×`,
    order: (d) => Math.abs(d.distance),
  },
];

/** The section of a cluster's page. datacenters are numbers of nodes. */
export function Peers({
  cluster,
  datacenters,
  groups,
  names,
}: {
  cluster: string;
  datacenters: number[];
  groups: CatalogGroup[] | undefined;
  names: ReadonlyMap<string, string>;
}) {
  const entries = useMemo(() => compared.flatMap((name) => entryOf(groups, name) ?? []), [groups]);
  const enough = datacenters.some((n) => n >= leastPeers);
  const recorded = `{__name__=~"node:.+:deviation",cluster=${quote(cluster)}}`;
  const expr = together([
    ...entries.map((e) =>
      expression(e.values.at(-1)!, { cluster }, ["datacenter", "node"], window),
    ),
    `(${recorded} >= ${far} or ${recorded} <= -${far})`,
  ]);
  const data = useData(
    enough && entries.length ? `peers ${expr}` : null,
    async (signal) => deviations((await query(expr, signal)).result, entries),
    { every: 60_000, keep: true },
  );
  return (
    <section class="panel" aria-label="Who differs from its peers">
      <div class="panel-head">
        <h2>Who differs from its peers</h2>
        <span class="dim">of its datacenter, over the last 30 min</span>
      </div>
      {!enough ? (
        <Empty>A comparison needs a datacenter of four nodes or more.</Empty>
      ) : (
        <Shown data={data} what="the comparison">
          {(list) =>
            list.length === 0 ? (
              <Empty>
                No node is further from the median of its datacenter than three times the usual
                spread. To compare more, set <code>rules: {"{deviations: true}"}</code>.
              </Empty>
            ) : (
              <>
                <Table
                  name="Who differs from its peers"
                  columns={columns(names)}
                  rows={list}
                  id={(d) => `${d.node} ${d.title}`}
                  href={(d) => link(["node", d.node])}
                  height={320}
                />
                <p class="dim">
                  The distance is from the median, in usual spreads of the nodes. To compare more,
                  set <code>rules: {"{deviations: true}"}</code> in the configuration.
                </p>
              </>
            )
          }
        </Shown>
      )}
    </section>
  );
}
