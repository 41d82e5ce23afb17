// What is known of a node of which no page knows more: its labels, its last reading, its metrics.
import { useMemo } from "preact/hooks";
import { type Alert, metadata, type Node, query } from "./api";
import { together } from "./ask";
import { useData } from "./data";
import { State } from "./faces";
import { useFilter } from "./filter";
import { Facts, Values } from "./head";
import { type Finding, Hurts } from "./hurts";
import { List } from "./list";
import { found, lookOf } from "./metrics";
import { Value } from "./node-columns";
import { placeOf, type Row } from "./node-rows";
import { link } from "./place";
import { type Read, readFacts, readFindings, useReads } from "./reads";
import { type Column } from "./table";
import { stamp } from "./time";
import { format, number } from "./units";

/** What is said of every node, and so is no fact of its own. */
const common = new Set(["job", "instance", "kind"]);

/** The page of a node that is none of the other kinds, below its head. */
export function Target({
  node,
  read,
  scope,
  alerts,
  names,
  findings,
}: {
  node: Node;
  read: Read | undefined;
  scope: string;
  alerts: Alert[];
  names: ReadonlyMap<string, string>;
  findings: Finding[];
}) {
  const more = Object.entries(node.facts).filter(([name]) => !common.has(name));
  return (
    <>
      <Hurts
        alerts={alerts}
        findings={findings}
        names={names}
        well="It answers, and no alert fires."
      />
      <Values of={node}>
        <Facts
          list={[
            ...readFacts(node, read),
            ["Cluster", node.cluster],
            ["Place", placeOf(node)],
            ...more.map(([name, text]): [string, string] => [name, text]),
            ["Id", node.id],
          ]}
        />
        <Metrics scope={scope} />
      </Values>
    </>
  );
}

/** A metric of a node. */
interface Metric {
  name: string;
  type: string;
  help: string;
  unit: string;
  series: number;
  value: number; // of its only series; NaN: there are several, or it is a histogram
}

const columns: Column<Metric>[] = [
  {
    id: "metric",
    title: "metric",
    width: 6,
    order: (m) => m.name,
    cell: (m) => (
      <>
        <span class="mono">{m.name}</span>
        <span class="metric-help dim" title={m.help}>
          {m.help}
        </span>
      </>
    ),
  },
  { id: "type", title: "type", wide: true, order: (m) => m.type, cell: (m) => m.type || "–" },
  {
    id: "series",
    title: "series",
    number: true,
    order: (m) => m.series,
    cell: (m) => format(m.series),
  },
  {
    id: "value",
    title: "value",
    number: true,
    order: (m) => m.value,
    cell: (m) =>
      /_(timestamp|time)_seconds$/.test(m.name) && m.value > 0
        ? stamp(m.value)
        : format(m.value, m.unit),
  },
];

/** All metrics of a node, to be searched; each leads to Explore. */
export function Metrics({ scope }: { scope: string }) {
  const want = useFilter();
  const described = useData("metadata", metadata, { every: 300_000, keep: true });
  const expr = together([
    `count by (__name__) ({__name__!="",${scope}})`,
    `sum by (__name__) ({__name__!="",${scope}})`,
  ]);
  const data = useData(`metrics ${scope}`, (s) => query(expr, s), { every: 15_000, keep: true });
  const all = useMemo(() => {
    const map = new Map<string, Metric>();
    for (const { metric, value } of data.value?.result ?? []) {
      const { __name__: name = "", q } = metric;
      let m = map.get(name);
      if (!m) {
        const said = described.value?.[name]?.[0];
        const { type = "", help = "" } = said ?? {};
        const unit = said?.unit || /_(bytes|seconds)(?:_total)?$/.exec(name)?.[1] || "";
        m = { name, type, help, unit, series: 0, value: Number.NaN };
        map.set(name, m);
      }
      if (q === "0") m.series = number(value?.[1]);
      else m.value = number(value?.[1]);
    }
    for (const m of map.values()) if (m.series !== 1) m.value = Number.NaN;
    return [...map.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }, [data.value, described.value]);
  const shown = useMemo(() => found(all, want), [all, want]);
  return (
    <List
      title="All metrics"
      what="the metrics"
      none="Nothing was read of it in the last minutes."
      data={data}
      bones={8}
      rows={all}
      shown={shown}
      filter={["Search metrics", "Search: name or description"]}
      columns={columns}
      id={(m) => m.name}
      href={(m) => link(["explore"], { expr: lookOf(m, scope) })}
      height={560}
      tall
    />
  );
}

/** A node among others. */
interface Other {
  row: Row;
  read: Read | undefined;
}

const otherColumns: Column<Other>[] = [
  { id: "node", title: "node", width: 2, cell: (o) => o.row.name, order: (o) => o.row.name },
  {
    id: "state",
    title: "state",
    cell: (o) => <State state={o.row.node.state} />,
    order: (o) => Number(o.row.node.state === "down"),
  },
  {
    id: "job",
    title: "job",
    width: 1.5,
    wide: true,
    cell: (o) => <span title={o.row.node.facts.job}>{o.row.node.facts.job ?? "–"}</span>,
    order: (o) => o.row.node.facts.job ?? "",
  },
  {
    id: "took",
    title: "read in",
    number: true,
    cell: (o) => <Value of={o.row} text={format(o.read?.took, "seconds")} />,
    order: (o) => o.read?.took ?? Number.NaN,
  },
  {
    id: "samples",
    title: "samples",
    number: true,
    wide: true,
    cell: (o) => <Value of={o.row} text={format(o.read?.samples)} />,
    order: (o) => o.read?.samples ?? Number.NaN,
  },
  {
    id: "error",
    title: "what failed",
    width: 3,
    wide: true,
    cell: (o) => <span title={o.read?.errors.join(" ")}>{o.read?.errors.join(" ") || "–"}</span>,
    order: (o) => o.read?.errors.join(" ") ?? "",
  },
];

/** The nodes of a cluster that are of none of the other kinds. */
export function Targets({
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
  const reads = useReads(scope);
  const nodes = rows.map((r) => r.node);
  return (
    <>
      <Hurts
        alerts={alerts}
        findings={[...findings, ...readFindings(reads.value, nodes).slice(0, 5)]}
        names={names}
        well="All of them answer, and no alert fires."
      />
      <List
        title="Targets, worst first"
        rows={rows.map((row) => ({ row, read: reads.value?.get(row.node.id) }))}
        columns={otherColumns}
        id={(o) => o.row.node.id}
        href={(o) => link(["node", o.row.node.id])}
        bad={(o) => o.row.node.state === "down"}
        height={560}
      />
    </>
  );
}
