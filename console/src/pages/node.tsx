// A node: what hurts now, who it is, and its charts, beside another node's or another time's.
import { useEffect, useMemo, useRef } from "preact/hooks";
import {
  type Alert,
  alerts,
  type CatalogGroup,
  type Node,
  nodes,
  query,
  type Sample,
} from "../api";
import { broken, expression, matchers, titleOf, together, useCatalog } from "../ask";
import { Board, type Subject } from "../board";
import { MarkList } from "../chart";
import { useData } from "../data";
import { Empty, Shown } from "../faces";
import { type Fact, Facts, NodeHead, stateOf, Values } from "../head";
import { type Finding, Hurts } from "../hurts";
import { Kafka } from "../kafka";
import { type Kind, kindName, kindOf, lastOf, nameOf, watched } from "../kinds";
import { Happened, useHappened } from "../lanes";
import { useMaintenance } from "../maintenance";
import { useMarks } from "../marks";
import { Ways } from "../parts";
import { link, setParams, usePlace } from "../place";
import { QuietButton } from "../quiet-open";
import { QuietAbove } from "../quiet-notes";
import { readFindings, useReads } from "../reads";
import { Redis } from "../redis";
import { Snapshots } from "../snapshots";
import { nodeGroups } from "../specs";
import { Tasks } from "../tasks";
import { Target } from "../target";
import { intervalOf, rangeOf } from "../time";
import { format, length, literal, number, quote } from "../units";

/** Times that charts are compared with. */
const agos: [ago: string, name: string][] = [
  ["1h", "an hour before"],
  ["1d", "a day before"],
  ["7d", "a week before"],
];

/** The page. */
export function NodePage() {
  const id = usePlace().path[1] ?? "";
  const own = useData(`node ${id}`, (s) => nodes({ id }, s), { keep: true });
  const list = own.value;
  const node = list?.find((n) => !n.left) ?? list?.[0]; // it may have been in another cluster
  const name = node ? nameOf(node) : "Node";
  useEffect(() => {
    document.title = `${name} · Ringwatch`;
  }, [name]);
  return (
    <Shown data={own} what="the node" rows={8}>
      {() => {
        if (node) {
          const kind = kindOf(node);
          return kind === "cassandra" ? <Whole node={node} /> : <Else node={node} kind={kind} />;
        }
        return (
          <Empty>
            <h1>This key sees no node of this id.</h1>
            <a href={link(["fleet"])}>All nodes</a>
          </Empty>
        );
      }}
    </Shown>
  );
}

/** The node that the address names beside this one, if it names one that can be seen. */
function useOther(id: string, beside: string | null): Node | undefined {
  const asked = beside && beside !== id ? beside : null;
  const { value } = useData(asked && `node ${asked}`, (s) => nodes({ id: asked! }, s), {
    every: 60_000,
  });
  return asked ? value?.[0] : undefined;
}

const order = new Intl.Collator("en", { numeric: true }).compare;
/** Whose charts the page of a node shows, and when. */
function useView(node: Node) {
  const place = usePlace();
  const range = rangeOf(place);
  const scope = matchers({ node: node.id });
  const other = useOther(node.id, place.params.get("with"));
  const ago = agos.find(([name]) => name === place.params.get("ago"));
  const names = useMemo(
    () => new Map([node, ...(other ? [other] : [])].map((n) => [n.id, nameOf(n)])),
    [nameOf(node), other && nameOf(other), other?.id],
  );
  const subjects: Subject[] = [
    { matchers: scope },
    ...(other ? [{ matchers: matchers({ node: other.id }), name: nameOf(other) }] : []),
    ...(!other && ago ? [{ matchers: scope, offset: ago[0], name: ago[1] }] : []),
  ];
  const interval = intervalOf([node, ...(other ? [other] : [])]);
  return { range, scope, other, ago, names, subjects, interval };
}

/** The alerts about a node. */
function useAlerts(node: Node): Alert[] {
  const fired = useData("alerts", alerts, { every: 10_000, keep: true });
  return (fired.value ?? []).filter((a) => a.labels.node === node.id);
}

function QuietNode({ node }: { node: Node }) {
  return <QuietButton of={{ cluster: node.cluster, node: node.id }} what={nameOf(node)} />;
}

/** A node of another software. */
function Else({ node, kind }: { node: Node; kind: Exclude<Kind, "cassandra"> }) {
  const { range, scope, other, ago, names, subjects, interval } = useView(node);
  const own = useAlerts(node);
  const reads = useReads(scope);
  const read = reads.value?.get(node.id);
  const common = { node, scope, alerts: own, names };
  const findings = [...stateOf(node), ...readFindings(reads.value, [node])];
  return (
    <>
      <NodeHead node={node}>
        <span class="dim">{kindName(kind)}</span>
        <QuietNode node={node} />
        {kind === "redis" && <Compare node={node} other={other} ago={ago?.[0] ?? ""} />}
      </NodeHead>
      <QuietAbove cluster={node.cluster} nodes={[node.id]} />
      {kind === "redis" ? (
        <Redis {...common} {...{ read, subjects, range, findings }} />
      ) : kind === "kafka" && watched(node) ? (
        <Kafka scope={scope} nodes={[node]} alerts={own} names={names} findings={stateOf(node)} />
      ) : (
        <>
          <Target {...common} read={read} findings={findings} />
          {!watched(node) && (
            <Groups
              groups={nodeGroups.filter((g) => ofAgents.includes(g.name))}
              {...{ subjects, range, names, interval, marks: [] }}
            />
          )}
        </>
      )}
    </>
  );
}

/** The charts of every node with an agent, whatever it runs. */
const ofAgents = ["Operating system", "JVM and garbage collection", "Ringwatch's agent"];

function Whole({ node }: { node: Node }) {
  const { range, other, ago, names, subjects, interval } = useView(node);
  const ids = [node, ...(other ? [other] : [])].map((n) => literal(n.id));
  const both = `node=~${quote(ids.join("|"))}`;
  const happening = useMarks(both, range, names);
  const maintained = useMaintenance(node.cluster, [node.id], range);
  const marks = useMemo(() => [...happening, ...maintained], [happening, maintained]);
  const own = useAlerts(node);
  const groups = useCatalog();
  const unhealthy = useUnhealthy(groups.value, node.id);
  const reads = useReads(watched(node) ? matchers({ node: node.id }) : null);
  const findings = [
    ...stateOf(node),
    ...readFindings(reads.value, [node]),
    ...(lastOf(node) ? [] : (unhealthy.value ?? [])),
  ];
  const happened = useHappened({ cluster: node.cluster, node: node.id }, range);
  return (
    <Happened.Provider value={happened}>
      <NodeHead node={node}>
        <QuietNode node={node} />
        <Ways of={{ cluster: node.cluster, node: node.id }} />
        <Compare node={node} other={other} ago={ago?.[0] ?? ""} />
      </NodeHead>
      <QuietAbove cluster={node.cluster} nodes={[node.id]} />
      <Hurts
        alerts={own}
        findings={findings}
        names={names}
        well="The node is up, no alert fires, and all values are in their healthy ranges."
      />
      <CassandraFacts node={node} />
      <Tasks of={{ cluster: node.cluster, node: node.id }} />
      <MarkList marks={marks} />
      <Groups groups={nodeGroups} {...{ subjects, range, marks, names, interval }} />
      <Snapshots scope={matchers({ node: node.id })} />
    </Happened.Provider>
  );
}

/** How many values are asked for at once: the API bounds what a request may select. */
const atOnce = 20;

/** The catalogue's values of the node that are not in their healthy ranges. */
function useUnhealthy(groups: CatalogGroup[] | undefined, node: string) {
  const judged = useMemo(
    () =>
      (groups ?? [])
        .flatMap((g) => g.entries)
        .filter((e) => e.of === "node")
        .flatMap((e) => e.values.filter((v) => v.healthy).map((value) => ({ entry: e, value }))),
    [groups],
  );
  const exprs = judged.map((j) => expression(j.value, { node }, ["node"], 300));
  return useData(
    judged.length ? `healthy ${exprs}` : null,
    async (signal): Promise<Finding[]> => {
      const result: Sample[] = [];
      for (let at = 0; at < exprs.length; at += atOnce) {
        // One more keeps each of them labelled with its place, also the last one.
        const part = together([...exprs.slice(at, at + atOnce), "vector(0)"]);
        for (const s of (await query(part, signal)).result) {
          const q = at + Number(s.metric.q);
          if (q < at + Math.min(atOnce, exprs.length - at)) {
            result.push({ ...s, metric: { ...s.metric, q: String(q) } });
          }
        }
      }
      const said = result.flatMap((s) => {
        const j = judged[Number(s.metric.q ?? 0)];
        const v = number(s.value?.[1]);
        const healthy = j?.value.healthy;
        if (!j || !healthy || !broken(v, healthy)) return [];
        const { unit } = j.value;
        const high = healthy.max !== undefined && v > healthy.max;
        const limit = high
          ? `at most ${format(healthy.max, unit)}`
          : `at least ${format(healthy.min, unit)}`;
        return [`${titleOf(j.entry)} ${format(v, unit)} (${limit})`];
      });
      if (said.length === 0) return [];
      const name =
        said.length === 1 ? "A value is not healthy" : `${said.length} values are not healthy`;
      return [{ severity: "warning", name, text: `${short(said)}.` }];
    },
    { every: 15_000, keep: true },
  );
}

/** The first of a list in words. */
function short(list: string[]): string {
  const more = list.length - 6;
  return list.slice(0, 6).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** What is known of a node of Cassandra, in words. */
function CassandraFacts({ node }: { node: Node }) {
  const scope = matchers({ node: node.id });
  const expr = together([
    `time() - jvm_start_time_seconds{${scope}}`,
    `cassandra_node_operation_mode_info{${scope}}`,
    `cassandra_node_peers_down{${scope}}`,
    `cassandra_node_peers_up{${scope}}`,
    `cassandra_node_tokens{${scope}}`,
    `cassandra_node_schema_version_info{${scope}}`,
    `ringwatch_agent_state_info{${scope}}`,
    `ringwatch_agent_trouble_info{${scope}}`,
    `cassandra_node_incremental_backups_enabled{${scope}}`,
  ]);
  const data = useData(`facts ${node.id}`, (s) => query(expr, s), { every: 10_000, keep: true });
  const of = (q: number) => data.value?.result.filter((s) => s.metric.q === String(q)) ?? [];
  const value = (q: number) => number(of(q)[0]?.value?.[1]);
  const texts = (list: Sample[]) => list.map((s) => s.metric.value ?? "").join(", ");
  const f = node.facts;
  const up = value(0);
  const trouble = texts(of(7));
  const peers = value(3) + value(2);
  const list: Fact[] = [
    ["Version", f.cassandra_version ? `Cassandra ${f.cassandra_version}` : ""],
    ["Mode", texts(of(1)).toLowerCase()],
    ["Running for", Number.isNaN(up) ? "" : length(up)],
    ["Place", `${node.datacenter} / ${node.rack}`],
    ["Clients connect to", f.rpc_address ?? ""],
    ["Peers up", peers > 0 ? `${value(3)} of ${peers} other nodes` : ""],
    ["Tokens", Number.isNaN(value(4)) ? "" : format(value(4))],
    ["Schema", texts(of(5)).slice(0, 8)],
    ["Incremental backups", Number.isNaN(value(8)) ? "" : value(8) > 0 ? "on" : "off"],
    ["Java", f.java_version ?? ""],
    ["System", f.os ?? ""],
    ["Agent", `${f.agent_version ?? ""} ${texts(of(6))}${trouble && `, ${trouble}`}`.trim()],
    ["Id", node.id],
  ];
  return (
    <Values of={node}>
      <Facts list={list} />
    </Values>
  );
}

/** Chooses what the charts are compared with. */
function Compare({ node, other, ago }: { node: Node; other: Node | undefined; ago: string }) {
  const { cluster } = node;
  const all = useData(`nodes ${cluster}`, (s) => nodes({ cluster }, s), {
    every: 60_000,
    keep: true,
  });
  const peers = useMemo(
    () =>
      (all.value ?? [])
        .filter((n) => n.id !== node.id && kindOf(n) === kindOf(node))
        .sort((a, b) => order(nameOf(a), nameOf(b))),
    [all.value, node.id],
  );
  const known = other && !peers.some((n) => n.id === other.id);
  return (
    <label class="field head-link">
      compare with
      <select
        value={other ? `with ${other.id}` : ago && `ago ${ago}`}
        onChange={(e) => {
          const [kind, value] = e.currentTarget.value.split(" ", 2);
          setParams({
            with: kind === "with" ? value! : null,
            ago: kind === "ago" ? value! : null,
          });
        }}
      >
        <option value="">nothing</option>
        <optgroup label="The same node">
          {agos.map(([name, text]) => (
            <option value={`ago ${name}`} key={name}>
              {text}
            </option>
          ))}
        </optgroup>
        {(peers.length > 0 || known) && (
          <optgroup label="Another node">
            {known && <option value={`with ${other.id}`}>{nameOf(other)}</option>}
            {peers.map((n) => (
              <option value={`with ${n.id}`} key={n.id}>
                {nameOf(n)}
              </option>
            ))}
          </optgroup>
        )}
      </select>
    </label>
  );
}

/** The charts under their headings, with a way to each heading. */
function Groups({
  groups,
  ...board
}: { groups: typeof nodeGroups } & Omit<Parameters<typeof Board>[0], "specs">) {
  const heads = useRef<(HTMLHeadingElement | null)[]>([]);
  const jump = (i: number) => {
    const head = heads.current[i];
    head?.scrollIntoView({ block: "start" });
    head?.focus({ preventScroll: true });
  };
  return (
    <>
      <nav class="jump" aria-label="Sections">
        {groups.map((g, i) => (
          <button type="button" class="plain" key={g.name} onClick={() => jump(i)}>
            {g.name}
          </button>
        ))}
      </nav>
      {groups.map((g, i) => (
        <section key={g.name} aria-labelledby={`group-${i}`}>
          <h2
            id={`group-${i}`}
            class="group"
            tabIndex={-1}
            ref={(element) => {
              heads.current[i] = element;
            }}
          >
            {g.name}
          </h2>
          <Board {...board} specs={g.specs} />
        </section>
      ))}
    </>
  );
}
