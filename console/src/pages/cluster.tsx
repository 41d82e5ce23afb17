// A cluster: what hurts now, its charts, its map, its nodes.
import { useMemo } from "preact/hooks";
import { type Alert, ApiError, type Node, query, type Sample } from "../api";
import { matchers, titleOf, together } from "../ask";
import { Board } from "../board";
import { type Cell, Cells } from "../cells";
import { MarkList } from "../chart";
import { useData } from "../data";
import { Empty, Failed, Loading, sentence, Shown } from "../faces";
import { type Finding, Hurts } from "../hurts";
import { Kafka } from "../kafka";
import { kindName, kindOf, kindsOf, silent } from "../kinds";
import { Happened, useHappened } from "../lanes";
import { Left } from "../left";
import { List } from "../list";
import { useMaintenance } from "../maintenance";
import { useMarks } from "../marks";
import { columnsOf } from "../node-columns";
import { cellOf, type Row, scaleOf, useRows } from "../node-rows";
import { Ways } from "../parts";
import { Peers } from "../peers";
import { go, link, usePlace } from "../place";
import { QuietButton } from "../quiet-open";
import { QuietAbove } from "../quiet-notes";
import { RedisCluster } from "../redis-cluster";
import { Snapshots } from "../snapshots";
import { clusterSpecs } from "../specs";
import { isRare, signOf, states, wordOf } from "../states";
import { Tasks } from "../tasks";
import { Targets } from "../target";
import { intervalOf, rangeOf } from "../time";
import { format, number } from "../units";
import { ColourBy } from "./fleet";

const order = new Intl.Collator("en", { numeric: true }).compare;
const defaultBy = "n::cpuUtilization";

/** The page. */
export function ClusterPage() {
  const { path, params } = usePlace();
  const cluster = path[1] ?? "";
  const by = params.get("by") ?? defaultBy;
  const view = useRows(cluster, by);
  return (
    <>
      <div class="page-head">
        <span class="crumbs dim">
          <a href={link(["fleet"])}>Fleet</a> / cluster
        </span>
        <h1 class="name" title={cluster}>
          {cluster}
        </h1>
        {view.rows.length > 0 && (
          <>
            <Counts rows={view.rows} />
            <QuietButton of={{ cluster }} what={cluster} />
          </>
        )}
        {view.rows.every((r) => r.kind !== "cassandra") && view.rows.length > 0 ? null : (
          <Ways of={{ cluster }}>
            <a href={link(["tables", cluster])}>Tables of this cluster</a>
          </Ways>
        )}
      </div>
      <QuietAbove cluster={cluster} nodes={view.rows.map((r) => r.node.id)} />
      <Shown data={view.all} what="the cluster" rows={8}>
        {(list) =>
          view.rows.length === 0 && list.length > 0 ? (
            <Left list={list} several={false} />
          ) : view.rows.length === 0 ? (
            <Empty>
              This key sees no node of a cluster of this name.{" "}
              <a href={link(["fleet"])}>All nodes</a>
            </Empty>
          ) : (
            <Kinds cluster={cluster} view={view} by={by} />
          )
        }
      </Shown>
    </>
  );
}

/** How many nodes are in which state. */
function Counts({ rows }: { rows: Row[] }) {
  const count = (s: string) => rows.filter((r) => r.node.state === s).length;
  const shown = states.filter((s) => !isRare(s) || count(s) > 0);
  return (
    <span class="counts">
      {shown.map((s) => (
        <span key={s} class={count(s) > 0 ? `state ${s}` : "dim"} data-count={s}>
          <span aria-hidden="true">{signOf(s)}</span> {count(s)} {wordOf(s)}
        </span>
      ))}
    </span>
  );
}

type View = ReturnType<typeof useRows>;

/** What the cluster's nodes run, a section each if they run several things. */
function Kinds({ cluster, view, by }: { cluster: string; view: View; by: string }) {
  const nodes = view.rows.map((r) => r.node);
  const known = kindsOf(nodes);
  const of = new Map(nodes.map((n) => [n.id, kindOf(n)]));
  const names = useNames(view.rows);
  const scope = matchers({ cluster });
  const fired = (view.alerts.value ?? []).filter((a) => a.labels.cluster === cluster);
  return (
    <>
      {known.map((kind) => {
        const rows = view.rows.filter((r) => r.kind === kind);
        // What is about no node stands with what came first.
        const alerts = fired.filter((a) => (of.get(a.labels.node ?? "") ?? known[0]) === kind);
        // Of what does not answer its reader each section tells.
        const findings = downOf(rows);
        const common = { scope, rows, alerts, names, findings };
        const content =
          kind === "kafka" ? (
            <>
              <Kafka {...common} nodes={rows.map((r) => r.node)} />
              {rows.length > 1 && <NodeTable rows={rows} />}
            </>
          ) : kind === "redis" ? (
            <RedisCluster {...common} />
          ) : kind === "other" ? (
            <Targets {...common} />
          ) : (
            <Whole cluster={cluster} view={{ ...view, rows }} by={by} own={alerts} />
          );
        if (known.length === 1) return <div key={kind}>{content}</div>;
        return (
          <section key={kind} aria-labelledby={`kind-${kind}`}>
            <h2 class="group" id={`kind-${kind}`}>
              {kind === "other" ? "Other software" : kindName(kind)}
            </h2>
            {content}
          </section>
        );
      })}
      <Left list={view.all.value ?? []} several={false} />
    </>
  );
}

function NodeTable({ rows }: { rows: Row[] }) {
  return (
    <List
      title="Nodes, worst first"
      rows={rows}
      columns={columnsOf(false)}
      id={(r) => r.node.id}
      href={(r) => link(["node", r.node.id])}
      bad={(r) => r.node.state === "down"}
    />
  );
}

/** The nodes of Cassandra. */
function Whole({
  cluster,
  view,
  by,
  own,
}: {
  cluster: string;
  view: View;
  by: string;
  own: Alert[];
}) {
  const { rows } = view;
  const range = rangeOf(usePlace());
  const scope = matchers({ cluster });
  const names = useNames(rows);
  const recorded = useRecorded(scope);
  const texts = useTexts(scope);
  const disks = useDisks(scope);
  const happening = useMarks(scope, range, names);
  const maintained = useMaintenance(
    cluster,
    rows.map((r) => r.node.id),
    range,
  );
  const marks = useMemo(() => [...happening, ...maintained], [happening, maintained]);
  const full = disks.value && fullIn(disks.value, names);
  const findings: Finding[] = [
    ...downOf(rows),
    ...(texts.value ? texts.value.findings : []),
    ...(full?.finding ? [full.finding] : []),
  ];
  const subjects = [{ matchers: scope }];
  const interval = intervalOf(rows.map((r) => r.node));
  const happened = useHappened({ cluster }, range);
  return (
    <Happened.Provider value={happened}>
      <Hurts
        alerts={own}
        findings={findings}
        names={names}
        well="All nodes are up and no alert fires."
      />
      <dl class="facts" aria-label="Facts">
        {(texts.value?.facts ?? []).map(([name, text, title]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd title={title}>{text}</dd>
          </div>
        ))}
        {rows.length === 1 && (
          <div>
            <dt>Node</dt>
            <dd>
              <a href={link(["node", rows[0]!.node.id])}>{rows[0]!.name}</a>
            </dd>
          </div>
        )}
        <div>
          <dt>Disks</dt>
          <dd>{full ? (full.finding ? sentence(full.short) : full.text) : "…"}</dd>
        </div>
      </dl>
      {recorded.names ? (
        <Board
          specs={clusterSpecs(recorded.names, rows.length, range, interval, full?.short ?? "")}
          subjects={subjects}
          range={range}
          marks={marks}
          names={names}
          interval={interval}
        />
      ) : recorded.busy ? (
        <Failed error={recorded.busy} />
      ) : (
        <Loading rows={6} what="the charts" />
      )}
      <MarkList marks={marks} />
      <Tasks of={{ cluster }} />
      {rows.length > 1 && (
        <>
          <NodeMap view={view} by={by} />
          <NodeTable rows={rows} />
          <Peers
            cluster={cluster}
            datacenters={[...countBy(rows.map((r) => r.node.datacenter)).values()]}
            groups={view.groups.value}
            names={names}
          />
        </>
      )}
      <Snapshots scope={scope} />
    </Happened.Provider>
  );
}

/** The nodes' names by id; the same map until one changes. */
function useNames(rows: Row[]): ReadonlyMap<string, string> {
  const list = rows.map((r) => [r.node.id, r.name] as const).sort(([a], [b]) => (a < b ? -1 : 1));
  return useMemo(() => new Map(list), [JSON.stringify(list)]);
}

function countBy(list: string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const x of list) counts.set(x, (counts.get(x) ?? 0) + 1);
  return counts;
}

/** Nodes that are down or do not serve, as findings: at first no alert has fired yet. */
function downOf(rows: Row[]): Finding[] {
  const down = rows.filter((r) => silent(r.node));
  const out = rows.filter((r) => r.node.state === "not_serving");
  return [
    ...findingOf(down, "critical", "down"),
    ...findingOf(out, "warning", "not serving", out.length === 1 ? out[0]?.node.why : ""),
  ];
}

/** That nodes are in a state, which ones, and why. */
function findingOf(
  rows: Row[],
  severity: Finding["severity"],
  state: string,
  why?: string,
): Finding[] {
  if (rows.length === 0) return [];
  return [
    {
      severity,
      name: rows.length === 1 ? `A node is ${state}` : `${rows.length} nodes are ${state}`,
      text: (
        <>
          {rows.slice(0, 3).map((r, i) => (
            <span key={r.node.id}>
              {i > 0 && ", "}
              <a href={link(["node", r.node.id])}>{r.name}</a>
            </span>
          ))}
          {rows.length > 3 && ` and ${rows.length - 3} more`}
          {why && `: ${why}`}
        </>
      ),
    },
  ];
}

/**
 * Which series rules have recorded of the cluster; undefined until that is known. If it is refused,
 * everything is asked exactly; an API that is away or has too much to do is not asked for more.
 */
function useRecorded(scope: string): { names: ReadonlySet<string> | undefined; busy?: Error } {
  const expr = `count by (__name__) ({__name__=~"cluster(_request)?:.+",${scope}})`;
  const { value, error } = useData(`recorded ${scope}`, (s) => query(expr, s), { every: 20_000 });
  const busy = error instanceof ApiError && [0, 429, 503].includes(error.status);
  const list = value?.result.map((s) => s.metric.__name__ ?? "").sort();
  const key = list?.join(" ") ?? (error && !busy ? "" : undefined);
  const names = useMemo(() => (key === undefined ? undefined : new Set(key.split(" "))), [key]);
  return busy ? { names, busy: error } : { names };
}

type Fact = [name: string, text: string, title: string];

/** Versions and schemas, in words. */
function useTexts(scope: string) {
  const expr = together([
    `count by (value) (cassandra_node_version_info{${scope}})`,
    `count by (value) (cassandra_node_schema_version_info{${scope}})`,
  ]);
  return useData(`texts ${scope}`, async (s) => textsOf((await query(expr, s)).result), {
    every: 10_000,
    keep: true,
  });
}

function textsOf(list: Sample[]): { facts: Fact[]; findings: Finding[] } {
  const of = (q: string) =>
    list
      .filter((s) => s.metric.q === q)
      .map((s) => [s.metric.value ?? "", number(s.value?.[1])] as const)
      .sort((a, b) => b[1] - a[1]);
  const versions = of("0");
  const schemas = of("1");
  const findings: Finding[] = [];
  const nodes = (n: number) => (n === 1 ? "1 node" : `${n} nodes`);
  const spread = (all: (readonly [string, number])[], cut: number) =>
    all.map(([v, n]) => `${v.slice(0, cut)} on ${nodes(n)}`).join(", ");
  if (versions.length > 1) {
    findings.push({
      severity: "warning",
      name: "Versions differ",
      text:
        `Cassandra ${spread(versions, 40)}: ` +
        "finish the upgrade before schema changes and repairs.",
    });
  }
  if (schemas.length > 1) {
    findings.push({
      severity: "warning",
      name: "Schemas differ",
      text:
        `${spread(schemas, 8)}: wait a minute. ` +
        "If they still differ, restart the nodes with the rarer one.",
    });
  }
  const [version, withVersion] = versions[0] ?? ["", 0];
  const [schema, withSchema] = schemas[0] ?? ["", 0];
  return {
    findings,
    facts: [
      [
        "Version",
        versions.length === 0
          ? "No node reports its version."
          : versions.length === 1
            ? `Cassandra ${version} on ` +
              (withVersion === 1
                ? "the one node that reports it."
                : `all ${withVersion} nodes that report it.`)
            : `${versions.length} versions: ${spread(versions, 40)}.`,
        versions.map(([v]) => v).join(", "),
      ],
      [
        "Schema",
        schemas.length === 0
          ? "No node reports its schema."
          : schemas.length === 1
            ? withSchema === 1
              ? `One node, one schema: ${schema.slice(0, 8)}.`
              : `All ${withSchema} nodes agree on ${schema.slice(0, 8)}.`
            : `The nodes do not agree: ${spread(schemas, 8)}.`,
        schemas.map(([v]) => v).join(", "),
      ],
    ],
  };
}

const day = 86400;

/** Days until disks are full at the pace of the last day, of those that fill; at least six hours of
 *  data are needed, else a start looks like a flood. q=0: disks that are known that long. */
function useDisks(scope: string) {
  const free = `os_filesystem_available_bytes{${scope}}`;
  const expr = together([
    `count(${free} offset 6h)`,
    `bottomk(5, (${free} / -deriv(${free}[1d]) / ${day} > 0) and ${free} offset 6h)`,
  ]);
  return useData(`disks ${scope}`, async (s) => (await query(expr, s)).result, {
    every: 300_000,
    keep: true,
  });
}

function fullIn(
  list: Sample[],
  names: ReadonlyMap<string, string>,
): { text: string; short: string; finding?: Finding } {
  if (!list.some((s) => s.metric.q === "0")) {
    return { text: "When a disk will be full is known after six hours of data.", short: "" };
  }
  let soonest = Number.POSITIVE_INFINITY;
  let metric: Sample["metric"] = {};
  for (const s of list) {
    const days = number(s.value?.[1]);
    if (s.metric.q !== "1" || !(days < soonest)) continue;
    soonest = days;
    metric = s.metric;
  }
  if (soonest > 90) {
    const text = "At the pace of the last day, no disk fills up within 90 days.";
    return { text, short: "none fills within 90 days" };
  }
  const when = soonest < 1 ? `${format(soonest * 24)} hours` : `${format(soonest)} days`;
  const where = `${metric.mount} of ${names.get(metric.node ?? "") ?? metric.node}`;
  const text = `At the pace of the last day, ${where} is full in ${when}.`;
  const short = `full in ${when}`;
  if (soonest > 14) return { text, short };
  const severity = soonest < 2 ? "critical" : "warning";
  return { text, short, finding: { severity, name: "A disk fills", text } };
}

/** The nodes as cells, by datacenter and rack. */
function NodeMap({ view, by }: { view: ReturnType<typeof useRows>; by: string }) {
  const { rows, entry, value, groups } = view;
  const unit = value?.unit ?? "count";
  const title = entry ? titleOf(entry) : by;
  const cells = useMemo(() => {
    const place = (n: Node) => `${n.datacenter} / ${n.rack}`;
    return rows
      .map(
        (r): Cell => ({
          id: r.node.id,
          name: r.name,
          group: place(r.node),
          value: r.value,
          ...cellOf(r, title, unit, value?.healthy),
        }),
      )
      .sort((a, b) => order(a.group, b.group) || order(a.name, b.name));
  }, [rows, title, unit]);
  return (
    <section class="panel">
      <div class="panel-head">
        <h2>Datacenters and racks</h2>
        <ColourBy groups={groups} by={by} />
      </div>
      <Cells
        name={`Nodes by ${title}`}
        cells={cells}
        scale={scaleOf(rows, unit, value?.healthy?.max)}
        open={(id) => go(["node", id])}
      />
    </section>
  );
}
