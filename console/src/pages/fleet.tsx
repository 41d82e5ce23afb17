// The fleet: every node that the key may see, worst first.
import { useMemo } from "preact/hooks";
import {
  type Alert,
  alerts,
  type CatalogValue,
  type Node,
  nodes,
  query,
  type Sample,
} from "../api";
import {
  broken,
  entryOf,
  expression,
  matchers,
  type Scope,
  titleOf,
  together,
  useCatalog,
} from "../ask";
import { type Cell, Cells } from "../cells";
import { useData, usePainted } from "../data";
import { Empty, Severity, Shown, State } from "../faces";
import { Filter, useFilter } from "../filter";
import { type Kind, kindName, kindOf, kinds, kindsOf, lastOf, nameOf, silent } from "../kinds";
import { Left } from "../left";
import { go, link, setParams, usePlace } from "../place";
import { type Column, Table } from "../table";
import { format, length, number } from "../units";

/** What a row of the fleet says. */
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

/** How bad a node is: down, alerts that matter, late, one of which nothing is known since its agent
 *  is paused, then how near it is to its limits. */
export function worthOf(r: Omit<Row, "worth">): number {
  const states: Record<string, number> = { down: 1e6, late: 1e4, paused: 1e3 };
  let worth = states[r.node.state] ?? 0;
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

/** The columns of nodes, of one cluster or of several, of one kind or of several. */
export function columnsOf(several: boolean, mixed = false): Column<Row>[] {
  const list: Column<Row>[] = [
    { id: "node", title: "node", width: 2, cell: (r) => r.name, order: (r) => r.name },
    {
      id: "state",
      title: "state",
      cell: (r) => <State state={r.node.state} />,
      order: (r) => ({ down: 3, late: 2, paused: 1 })[r.node.state as string] ?? 0,
    },
    {
      id: "kind",
      title: "kind",
      wide: true,
      cell: (r) => kindName(r.kind),
      order: (r) => kindName(r.kind),
    },
    {
      id: "cluster",
      title: "cluster",
      width: 1.3,
      wide: true,
      cell: (r) => (
        <a href={link(["cluster", r.node.cluster])} title={r.node.cluster}>
          {r.node.cluster}
        </a>
      ),
      order: (r) => r.node.cluster,
    },
    {
      id: "place",
      title: "datacenter / rack",
      width: 1.3,
      wide: true,
      cell: (r) => <span title={placeOf(r.node)}>{placeOf(r.node)}</span>,
      order: (r) => `${r.node.datacenter}/${r.node.rack}`,
    },
    {
      id: "alerts",
      title: "alerts",
      cell: (r) => <AlertCount list={r.alerts} />,
      order: (r) => firingOf(r.alerts).length + (r.alerts.length > 0 ? 0.5 : 0),
    },
    seconds("read", "read p99", (r) => r.read),
    seconds("write", "write p99", (r) => r.write),
    percent("disk", "disk", (r) => r.disk, 75),
    percent("cpu", "CPU", (r) => r.cpu, 90),
    {
      id: "age",
      title: "age",
      number: true,
      wide: true,
      cell: (r) => (r.node.age_seconds === undefined ? "–" : length(r.node.age_seconds)),
      order: (r) => r.node.age_seconds ?? Number.NaN,
    },
  ];
  return list.filter((c) => (several || c.id !== "cluster") && (mixed || c.id !== "kind"));
}

function seconds(id: string, title: string, of: (r: Row) => number): Column<Row> {
  return {
    id,
    title,
    hint: "Of the requests that the node coordinated in the last 5 min",
    number: true,
    wide: id === "write",
    order: of,
    cell: (r) => <Value of={r} text={format(of(r), "seconds")} bad={of(r) > 1} />,
  };
}

function percent(id: string, title: string, of: (r: Row) => number, most: number): Column<Row> {
  return {
    id,
    title,
    ...(id === "cpu" && { hint: "Over the last 5 min" }),
    number: true,
    wide: id === "cpu",
    order: of,
    cell: (r) => <Value of={r} text={format(of(r), "percent")} bad={of(r) > most} />,
  };
}

/** A value of a node. The last ones of a silent node say nothing of how it is now. */
export function Value({ of, text, bad = false }: { of: Row; text: string; bad?: boolean }) {
  const last = lastOf(of.node);
  if (last) {
    return (
      <span class="dim" title={last}>
        {text}
      </span>
    );
  }
  return <span class={bad ? "bad-value" : ""}>{text}</span>;
}

function AlertCount({ list }: { list: Alert[] }) {
  const firing = firingOf(list);
  if (firing.length === 0) return <span class="dim">{list.length ? "pending" : "–"}</span>;
  const worst = firing.some((a) => a.labels.severity === "critical") ? "critical" : "warning";
  return (
    <span class={`severity ${worst}`} title={firing.map((a) => a.labels.alertname).join(", ")}>
      <span aria-hidden="true">{worst === "critical" ? "▲" : "△"}</span> {firing.length}
    </span>
  );
}

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

/** Chooses what colours the map. Its many entries are made once. */
export function ColourBy({ groups, by }: { groups: ReturnType<typeof useCatalog>; by: string }) {
  return useMemo(
    () => (
      <label class="field">
        colour
        <select value={by} onChange={(e) => setParams({ by: e.currentTarget.value })}>
          {(groups.value ?? []).map((g) => {
            const list = g.entries.filter((e) => e.of === "node");
            if (list.length === 0) return null;
            return (
              <optgroup label={g.title} key={g.name}>
                {list.map((e) => (
                  <option value={e.name} key={e.name}>
                    {titleOf(e)}
                  </option>
                ))}
              </optgroup>
            );
          })}
        </select>
      </label>
    ),
    [groups.value, by],
  );
}

const defaultBy = "n::cpuUtilization";

/** The page. */
export function FleetPage() {
  const { params } = usePlace();
  const by = params.get("by") ?? defaultBy;
  const want = useFilter();
  const state = params.get("state") ?? "";
  const kind = params.get("kind") ?? "";
  const { all, rows: every, entry, value, groups, alerts: fired } = useRows(null, by);
  const known = useMemo(() => kindsOf(every.map((r) => r.node)), [every]);
  const rows = useMemo(() => (kind ? every.filter((r) => r.kind === kind) : every), [every, kind]);
  const columns = useMemo(
    () => columnsOf(true, known.length > 1).filter((c) => !c.number || of(rows, c)),
    [rows, known.length],
  );
  const shown = useMemo(
    () =>
      rows.filter(
        (r) =>
          (!state ||
            (state === "alerts" ? firingOf(r.alerts).length > 0 : r.node.state === state)) &&
          (!want ||
            `${r.name} ${r.node.id} ${r.node.cluster} ${r.node.datacenter} ${r.node.rack} ${r.kind}`
              .toLowerCase()
              .includes(want)),
      ),
    [rows, want, state],
  );
  const clusters = new Set(rows.map((r) => r.node.cluster)).size;
  const count = (s: string) => rows.filter((r) => r.node.state === s).length;
  const unit = value?.unit ?? "count";
  const cells = useMemo(
    () =>
      shown
        .map(
          (r): Cell => ({
            id: r.node.id,
            name: r.name,
            group: r.node.cluster,
            value: r.value,
            ...cellOf(r, entry ? titleOf(entry) : "", unit, value?.healthy),
          }),
        )
        .sort((a, b) =>
          a.group < b.group ? -1 : a.group > b.group ? 1 : a.name < b.name ? -1 : 1,
        ),
    [shown, entry, unit],
  );
  return (
    <>
      <h1 class="sr">Fleet</h1>
      <Shown data={all} what="the fleet" rows={8}>
        {(list) =>
          list.length === 0 ? (
            <Empty>
              <p>
                <strong>No node has sent anything yet.</strong>
              </p>
              <p>
                <a href={link(["add"])}>Add a node</a>: its agent is one line in Cassandra's
                configuration.
              </p>
            </Empty>
          ) : (
            <>
              {(known.length > 1 || kind) && <Kinds rows={every} known={known} kind={kind} />}
              <ul class="tiles" aria-label="Summary">
                <Tile name={clusters === 1 ? "cluster" : "clusters"} value={clusters} />
                <Tile name="up" value={count("up")} of="up" state={state} />
                <Tile name="late" value={count("late")} of="late" state={state} />
                {(count("paused") > 0 || state === "paused") && (
                  <Tile name="paused" value={count("paused")} of="paused" state={state} />
                )}
                <Tile name="down" value={count("down")} of="down" state={state} />
                <Tile
                  name="with alerts"
                  value={rows.filter((r) => firingOf(r.alerts).length > 0).length}
                  of="alerts"
                  state={state}
                />
                <AlertTiles list={fired.value ?? []} />
              </ul>
              <section class="panel">
                <div class="panel-head">
                  <h2>Map</h2>
                  <ColourBy groups={groups} by={by} />
                </div>
                <Cells
                  name={`Nodes by ${entry ? titleOf(entry) : by}`}
                  cells={cells}
                  scale={scaleOf(shown, unit, value?.healthy?.max)}
                  open={(id) => go(["node", id])}
                />
              </section>
              <section class="panel">
                <div class="panel-head">
                  <h2>Nodes, worst first</h2>
                  <Filter
                    name="Filter nodes"
                    hint="Filter: name, cluster, rack"
                    shown={shown.length}
                    all={rows.length}
                  />
                </div>
                {shown.length === 0 ? (
                  <Empty>
                    No node is like that.{" "}
                    <button
                      type="button"
                      onClick={() => setParams({ q: null, state: null, kind: null })}
                    >
                      Show all
                    </button>
                  </Empty>
                ) : (
                  <Table
                    name="Nodes, worst first"
                    columns={columns}
                    rows={shown}
                    id={(r) => r.node.id}
                    href={(r) => link(["node", r.node.id])}
                    bad={(r) => r.node.state === "down"}
                  />
                )}
              </section>
              <Left list={list} several />
            </>
          )
        }
      </Shown>
    </>
  );
}

/** Whether some rows have a number of a column; before any is known, they may. */
function of(rows: Row[], c: Column<Row>): boolean {
  const cassandra = rows.some((r) => r.kind === "cassandra");
  return cassandra || rows.length === 0 || rows.some((r) => !Number.isNaN(c.order?.(r)));
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

/** Chooses whose nodes are shown, by what they run. */
function Kinds({ rows, known, kind }: { rows: Row[]; known: Kind[]; kind: string }) {
  const chip = (name: string, of: string, count: number) => (
    <button
      type="button"
      key={of}
      aria-pressed={kind === of}
      onClick={() => setParams({ kind: of || null })}
    >
      {name} <span class="number">{count.toLocaleString("en-US")}</span>
    </button>
  );
  return (
    <div class="metric-groups" role="group" aria-label="What nodes run">
      {chip("all", "", rows.length)}
      {kinds
        .filter(([k]) => known.includes(k) || k === kind)
        .map(([k, name]) => chip(name, k, rows.filter((r) => r.kind === k).length))}
    </div>
  );
}

/** A number with its name; a click shows only those. */
function Tile({
  name,
  value,
  of,
  state,
}: {
  name: string;
  value: number;
  of?: string;
  state?: string;
}) {
  const text = (
    <>
      <strong class={of && value > 0 ? `tile-${of}` : ""}>{value.toLocaleString("en-US")}</strong>
      <span>{name}</span>
    </>
  );
  if (!of) return <li class="tile">{text}</li>;
  return (
    <li>
      <button
        type="button"
        class="tile"
        aria-pressed={state === of}
        onClick={() => setParams({ state: state === of ? null : of })}
      >
        {text}
      </button>
    </li>
  );
}

/** How many alerts fire, by how much they matter. */
function AlertTiles({ list }: { list: Alert[] }) {
  const firing = firingOf(list);
  if (firing.length === 0) return null;
  const counts = new Map<string, number>();
  for (const a of firing) {
    const name = a.labels.severity ?? "none";
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return (
    <>
      {[...counts].map(([name, n]) => (
        <li key={name}>
          <a class="tile" href={link(["alerts"])}>
            <strong>{n}</strong>
            <Severity name={name} />
          </a>
        </li>
      ))}
    </>
  );
}
