// Nodes as rows: what is asked of each for the fleet, a cluster and lists, and how bad it is.
import { useMemo } from "preact/hooks";
import { type Alert, alerts, type CatalogValue, type Node, nodes, query, type Sample } from "./api";
import { broken, entryOf, expression, matchers, type Scope, together, useCatalog } from "./ask";
import { useData, usePainted } from "./data";
import { type Kind, kindName, kindOf, lastOf, nameOf, silent } from "./kinds";
import { worthOfState } from "./states";
import { format, number } from "./units";

/** What a row of nodes says. */
export interface Row {
  node: Node;
  name: string;
  kind: Kind;
  alerts: Alert[];
  read: number; // p99, seconds
  write: number;
  disk: number; // percent
  cpu: number;
  value: number; // of what the map shows
  worth: number; // the higher, the worse
}

const rate = "5m";
const latency = (request: string) =>
  "histogram_quantile(0.99, sum by (node) " +
  `(rate(cassandra_client_request_latency_seconds{$scope,request="${request}"}[${rate}])))`;

/** What the table shows of each node, asked at once. */
const figures = (scope: Scope) =>
  together([
    latency("Read"),
    latency("Write"),
    "100 * max by (node) " +
      "(1 - os_filesystem_available_bytes{$scope} / os_filesystem_size_bytes{$scope})",
    `100 * (1 - sum by (node) (rate(os_cpu_seconds_total{$scope,mode=~"idle|iowait"}[${rate}]))` +
      ` / sum by (node) (rate(os_cpu_seconds_total{$scope}[${rate}])))`,
  ]).replaceAll("$scope", () => matchers(scope));

/** By node and place in the question, the number. */
function byNode(list: Sample[] | undefined): Map<string, number[]> {
  const map = new Map<string, number[]>();
  for (const s of list ?? []) {
    const node = s.metric.node ?? "";
    const values = map.get(node) ?? [];
    values[Number(s.metric.q ?? 0)] = number(s.value?.[1]);
    map.set(node, values);
  }
  return map;
}

/** Where a node is; what is read from outside may have no rack. */
export const placeOf = (n: Node): string => [n.datacenter, n.rack].filter(Boolean).join(" / ");

/** How bad a node is: its state, alerts that matter, then how near it is to its limits. */
export function worthOf(r: Omit<Row, "worth">): number {
  let worth = worthOfState(r.node.state);
  for (const a of r.alerts) {
    if (a.state === "firing") worth += a.labels.severity === "critical" ? 1e5 : 1e3;
  }
  // What is no alert, or none yet, never stands above one that fires.
  let near = Math.max(0, (r.disk || 0) - 75) * 20;
  near += Math.min(500, ((r.read || 0) + (r.write || 0)) * 100);
  near += Math.max(0, (r.cpu || 0) - 80) * 5;
  return worth + Math.min(999, near);
}

/** The alerts that fire. */
export const firingOf = (list: Alert[]) => list.filter((a) => a.state === "firing");

/** The nodes of the fleet, or of a cluster, with their figures, worst first. */
export function useRows(cluster: string | null, by: string) {
  const of = cluster === null ? {} : { cluster };
  const all = useData(`nodes ${cluster}`, (s) => nodes(of, s), { keep: true });
  const many = (all.value?.length ?? 0) > 500;
  const every = many ? 20_000 : 5000;
  // The nodes come first: what else the page has waits until they stand there, as the answers to it
  // take the processor from their drawing.
  const there = usePainted(all.value !== undefined);
  const fired = useData(there ? "alerts" : null, alerts, { every: 10_000, keep: true });
  const scope: Scope = cluster === null ? {} : { cluster };
  const numbers = useData(there ? `figures ${many}` : null, (s) => query(figures(scope), s), {
    every,
    keep: true,
  });
  const groups = useCatalog(there);
  const entry = entryOf(groups.value, by);
  const value = entry?.values.at(-1);
  const expr = value && expression(value, scope, ["node"], 300);
  const coloured = useData(expr ? `by ${expr} ${many}` : null, (s) => query(expr!, s), {
    every,
    keep: true,
  });
  const rows = useMemo(() => {
    const figure = byNode(numbers.value?.result);
    const colours = byNode(coloured.value?.result);
    const ofNode = new Map<string, Alert[]>();
    for (const a of fired.value ?? []) {
      const id = a.labels.node;
      if (id) ofNode.set(id, [...(ofNode.get(id) ?? []), a]);
    }
    const list: Row[] = [];
    for (const node of all.value ?? []) {
      if (node.left) continue;
      const [read, write, disk, cpu] = figure.get(node.id) ?? [];
      const row = {
        node,
        name: nameOf(node),
        kind: kindOf(node),
        alerts: ofNode.get(node.id) ?? [],
        read: read ?? Number.NaN,
        write: write ?? Number.NaN,
        disk: disk ?? Number.NaN,
        cpu: cpu ?? Number.NaN,
        value: colours.get(node.id)?.[0] ?? Number.NaN,
      };
      list.push({ ...row, worth: worthOf(row) });
    }
    return list.sort((a, b) => b.worth - a.worth || (a.name < b.name ? -1 : 1));
  }, [all.value, numbers.value, coloured.value, fired.value]);
  return { all, rows, entry, value, groups, alerts: fired };
}

/** The ends of the colours: the healthy range if there is one, else what there is. */
export function scaleOf(rows: Row[], unit: string, most?: number) {
  let high = 0;
  for (const r of rows) if (r.value > high && !silent(r.node)) high = r.value;
  if (unit === "percent") high = 100;
  else if (most !== undefined) high = Math.max(most, Math.min(high, 2 * most));
  return { low: 0, high: high || 1, show: (v: number) => format(v, unit) };
}

/** A node's state as a cell has it, and what is said of it. What runs no Cassandra may have nothing
 *  of what colours the map: then its state does. */
export function cellOf(r: Row, title: string, unit: string, healthy: CatalogValue["healthy"]) {
  if (r.kind !== "cassandra" && Number.isNaN(r.value)) {
    return { state: r.node.state, plain: true, text: `${kindName(r.kind)}, ${r.node.state}` };
  }
  const last = lastOf(r.node);
  const more = last ? ` ${last}` : broken(r.value, healthy) ? ", not healthy" : "";
  return { state: r.node.state, text: `${r.node.state}, ${title} ${format(r.value, unit)}${more}` };
}
