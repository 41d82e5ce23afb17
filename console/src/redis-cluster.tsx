// Several Redis servers: what hurts, which of them does what, and their charts.
import { useMemo } from "preact/hooks";
import { type Alert, query } from "./api";
import { Board, type Spec } from "./board";
import { MarkList } from "./chart";
import { useData } from "./data";
import { State } from "./faces";
import { type Finding, Hurts } from "./hurts";
import { silent } from "./kinds";
import { List } from "./list";
import { useMarks } from "./marks";
import { Value } from "./node-columns";
import type { Row } from "./node-rows";
import { link, usePlace } from "./place";
import { readFindings, useReads } from "./reads";
import { expressionOf, mostMemory, roleOf } from "./redis";
import { mostNodes } from "./specs";
import { type Column } from "./table";
import { intervalOf, rangeOf } from "./time";
import { format, number } from "./units";

/** A Redis among others. */
interface Server {
  row: Row;
  role: string;
  link: number; // 0: its master is away
  values: number[]; // in the order of serverFigures
}

const byNode = (name: string) => `max by (node) (redis_${name}{$scope})`;
const ofNode = (name: string) => `sum by (node) (rate(redis_${name}{$scope}[$w]))`;
const serverFigures: [id: string, title: string, unit: string, expr: string][] = [
  [
    "memory",
    "memory",
    "percent",
    `100 * ${byNode("memory_used_bytes")} / (${byNode("memory_max_bytes")} > 0)`,
  ],
  ["used", "used", "bytes", byNode("memory_used_bytes")],
  ["commands", "commands", "per_second", ofNode("commands_processed_total")],
  ["evicted", "evicted", "per_second", ofNode("evicted_keys_total")],
  ["clients", "clients", "count", byNode("connected_clients")],
];

const serverColumns: Column<Server>[] = [
  { id: "node", title: "node", width: 2, cell: (s) => s.row.name, order: (s) => s.row.name },
  {
    id: "state",
    title: "state",
    cell: (s) => <State state={s.row.node.state} />,
    order: (s) => Number(s.row.node.state === "down"),
  },
  {
    id: "role",
    title: "role",
    cell: (s) =>
      s.link === 0 && !silent(s.row.node) ? (
        <span class="bad-value" title="The link to its master is down">
          ! {s.role}
        </span>
      ) : (
        <Value of={s.row} text={s.role || "–"} />
      ),
    order: (s) => s.role,
  },
  ...serverFigures.map(
    ([id, title, unit], i): Column<Server> => ({
      id,
      title,
      number: true,
      wide: !["memory", "commands"].includes(id),
      cell: (s) => (
        <Value
          of={s.row}
          text={format(s.values[i], unit)}
          bad={id === "memory" && s.values[i]! > mostMemory}
        />
      ),
      order: (s) => s.values[i]!,
    }),
  ),
];

/** The Redis servers of a cluster. */
export function RedisCluster({
  scope,
  rows,
  alerts,
  names,
  findings,
}: {
  scope: string;
  rows: Row[];
  alerts: Alert[];
  names: ReadonlyMap<string, string>;
  findings: Finding[];
}) {
  const range = rangeOf(usePlace());
  const reads = useReads(scope);
  const marks = useMarks(scope, range, names);
  const expr = expressionOf(
    [
      ...serverFigures.map(([, , , e]) => e),
      "max by (node, role) (redis_instance_info{$scope})",
      "min by (node) (redis_master_link_up{$scope})",
    ],
    scope,
  );
  const data = useData(`servers ${scope}`, (s) => query(expr, s), { keep: true });
  const list = useMemo(() => {
    const none = () => serverFigures.map(() => Number.NaN);
    const servers = new Map<string, Server>(
      rows.map((row) => [row.node.id, { row, role: "", link: Number.NaN, values: none() }]),
    );
    for (const { metric, value } of data.value?.result ?? []) {
      const server = servers.get(metric.node ?? "");
      if (!server) continue;
      const q = Number(metric.q);
      if (q < serverFigures.length) server.values[q] = number(value?.[1]);
      else if (q === serverFigures.length) server.role = roleOf(metric.role);
      else server.link = number(value?.[1]);
    }
    return [...servers.values()];
  }, [rows, data.value]);
  const broken = list.filter((s) => s.link === 0 && !silent(s.row.node));
  const cut: Finding[] = broken.map((s) => ({
    severity: "critical",
    name: "Replication is broken",
    text: `The link of ${s.row.name} to its master is down: what clients read there is old.`,
  }));
  return (
    <>
      <Hurts
        alerts={alerts}
        findings={[
          ...findings,
          ...readFindings(
            reads.value,
            rows.map((r) => r.node),
          ),
          ...cut.slice(0, 3),
        ]}
        names={names}
        well="All of them answer, replicas have their masters, and no alert fires."
      />
      <List
        title="Redis servers, worst first"
        what="the servers"
        data={data}
        rows={list}
        columns={serverColumns}
        id={(s) => s.row.node.id}
        href={(s) => link(["node", s.row.node.id])}
        bad={(s) => s.row.node.state === "down"}
      />
      <Board
        specs={clusterSpecs(rows.length)}
        subjects={[{ matchers: scope }]}
        range={range}
        interval={intervalOf(rows.map((r) => r.node))}
        marks={marks}
        names={names}
      />
      <MarkList marks={marks} />
    </>
  );
}

/** The charts of several servers: each a line, or, of many, the highest, median and lowest. */
function clusterSpecs(nodes: number): Spec[] {
  const each = (expr: string): Spec["asks"] =>
    nodes <= mostNodes
      ? [[expr, "{node}"]]
      : [
          [`max(${expr})`, "highest of the servers"],
          [`quantile(0.5, ${expr})`, "median of the servers"],
          [`min(${expr})`, "lowest of the servers"],
        ];
  return [
    { title: "Commands", unit: "per_second", asks: each(ofNode("commands_processed_total")) },
    { title: "Memory", unit: "bytes", asks: each(byNode("memory_used_bytes")) },
    { title: "Keys evicted", unit: "per_second", asks: each(ofNode("evicted_keys_total")) },
    { title: "Clients", unit: "count", asks: each(byNode("connected_clients")) },
  ];
}
