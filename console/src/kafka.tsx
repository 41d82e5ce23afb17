// A Kafka cluster: what hurts, its consumer groups, topics and brokers, as the role watch or an
// exporter has them.
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { type Alert, type Node, query, queryRange, type Sample } from "./api";
import { together } from "./ask";
import { Board, type Spec } from "./board";
import { MarkList } from "./chart";
import { type Data, useData } from "./data";
import { Empty, Shown } from "./faces";
import { Filter, useFilter } from "./filter";
import { type Fact, Facts } from "./head";
import { type Finding, Hurts } from "./hurts";
import { linesOf } from "./lines";
import { useMarks } from "./marks";
import { usePlace } from "./place";
import { readFacts, readFindings, useReads } from "./reads";
import { Spark } from "./spark";
import { type Column, Table } from "./table";
import { live, type Range, rangeOf, refreshOf, stepOf } from "./time";
import { format, length, number } from "./units";

/** How many rows a list has; more than that nobody looks at, and the worst come first. */
const mostRows = 500;

/** How many of the groups that are furthest behind have a plot of their lag. */
const mostPlots = 40;

/** How many lines a chart of groups has. */
const mostGroups = 12;

/** A value of several readers of one cluster, of which one may know more than another. */
const max = (by: string, metric: string, scope: string) => `max by (${by}) (${metric}{${scope}})`;
const all = (by: string, metrics: string, scope: string) =>
  `max by (__name__, ${by}) ({__name__=~"kafka_(${metrics})",${scope}})`;

/** Values by what they are of and the metric's name, without kafka_. */
function byName(list: Sample[], labels: string[]): Map<string, Record<string, number>> {
  const map = new Map<string, Record<string, number>>();
  for (const { metric, value } of list) {
    const id = JSON.stringify(labels.map((l) => metric[l] ?? ""));
    let of = map.get(id);
    if (!of) {
      of = {};
      map.set(id, of);
    }
    of[(metric.__name__ ?? "").replace(/^kafka_/, "")] = number(value?.[1]);
  }
  return map;
}

/** The list's samples of a place in the question. */
const place = (list: Sample[], q: number) => list.filter((s) => s.metric.q === String(q));

const high = (v: number | undefined) => (v !== undefined && v > 0 ? "bad-value" : "dim");

/** The whole of it. nodes are those that say something of the cluster; scope is what means them. */
export function Kafka({
  scope,
  nodes,
  alerts,
  names,
  findings = [],
}: {
  scope: string;
  nodes: Node[];
  alerts: Alert[];
  names: ReadonlyMap<string, string>;
  findings?: Finding[];
}) {
  const range = rangeOf(usePlace());
  const reads = useReads(scope);
  const state = useCluster(scope);
  const brokers = useBrokers(scope);
  const marks = useMarks(scope, range, names);
  const controllers = (brokers.value ?? []).filter((b) => b.controller === 1).map((b) => b.id);
  const reader = nodes.length === 1 ? nodes[0] : undefined;
  const versions = [...new Set(nodes.map((n) => n.facts.version).filter(Boolean))];
  return (
    <>
      <Hurts
        alerts={alerts}
        findings={[
          ...findings,
          ...readFindings(reads.value, nodes),
          ...(state.value?.findings ?? []),
        ]}
        names={names}
        well="All partitions have their leader and their replicas, and no alert fires."
      />
      <Facts
        list={[
          ["Version", versions.length > 0 ? `Kafka ${versions.join(", ")}` : ""],
          ...(state.value?.facts ?? []),
          ["Controller", controllers.length > 0 ? `broker ${controllers.join(", ")}` : ""],
          ...(reader ? readFacts(reader, reads.value?.get(reader.id)) : []),
        ]}
      />
      <Groups scope={scope} range={range} />
      <Topics scope={scope} />
      <Brokers data={brokers} />
      <Board
        specs={specs}
        subjects={[{ matchers: scope }]}
        range={range}
        marks={marks}
        names={names}
      />
      <MarkList marks={marks} />
    </>
  );
}

/** What the cluster says of itself as a whole. */
function useCluster(scope: string): Data<{ facts: Fact[]; findings: Finding[] }> {
  const metrics = "cluster_.+|brokers|quorum_(leader|voters|observers)";
  const expr = `max by (__name__) ({__name__=~"kafka_(${metrics})",${scope}})`;
  return useData(
    `kafka ${scope}`,
    async (signal) => {
      const of = byName((await query(expr, signal)).result, []).get("[]") ?? {};
      return { facts: factsOf(of), findings: findingsOf(of) };
    },
    { keep: true },
  );
}

function factsOf(of: Record<string, number>): Fact[] {
  const count = (name: string) => (of[name] === undefined ? "" : format(of[name]));
  const more = (name: string, text: string) =>
    of[name]! > 0 ? `, ${format(of[name])} ${text}` : "";
  return [
    [
      "Brokers",
      of.brokers === undefined
        ? ""
        : `${format(of.brokers)} alive${more("cluster_unanswered_brokers", "silent")}`,
    ],
    [
      "Quorum",
      of.quorum_leader === undefined
        ? ""
        : `leader ${of.quorum_leader}` +
          more("quorum_voters", "voters") +
          more("quorum_observers", "observers"),
    ],
    ["Topics", count("cluster_topics")],
    ["Partitions", count("cluster_partitions")],
    ["Under-replicated", count("cluster_under_replicated_partitions")],
    ["Offline", count("cluster_offline_partitions")],
    ["Groups", count("cluster_consumergroups")],
    ["Records to read", count("cluster_lag")],
    [
      "Logs",
      of.cluster_log_size_bytes === undefined ? "" : format(of.cluster_log_size_bytes, "bytes"),
    ],
    ["Series left out", of.cluster_left_out_series! > 0 ? count("cluster_left_out_series") : ""],
  ];
}

function findingsOf(of: Record<string, number>): Finding[] {
  const out: Finding[] = [];
  const say = (severity: Finding["severity"], name: string, text: string) =>
    out.push({ severity, name, text });
  const many = (n: number, one: string) => (n === 1 ? `1 ${one}` : `${format(n)} ${one}s`);
  if (of.cluster_controllers === 0) {
    say(
      "critical",
      "No controller",
      "The cluster names none: no partition gets a new leader. Look at the controllers' logs.",
    );
  }
  const offline = of.cluster_offline_partitions ?? 0;
  if (offline > 0) {
    say(
      "critical",
      "Partitions are offline",
      `${many(offline, "partition")} without a leader: nobody can write or read them. ` +
        "A broker that has them must come back.",
    );
  }
  const under = of.cluster_under_replicated_partitions ?? 0;
  if (under > 0) {
    say(
      "warning",
      "Partitions are under-replicated",
      `${many(under, "partition")} with fewer replicas in sync than there should be.`,
    );
  }
  const silent = of.cluster_unanswered_brokers ?? 0;
  if (silent > 0) {
    say("warning", "Brokers do not answer", `${many(silent, "broker")} when last asked.`);
  }
  return out;
}

/** A consumer group and a topic that it reads. */
interface GroupRow {
  group: string;
  topic: string;
  behind: number; // seconds
  lag: number;
  rate: number; // records read a second
  members: number;
  state: string;
  commit: number; // seconds since 1970
  lost: boolean; // records were deleted before it read them
  bound: boolean; // it is further behind than anybody knows
}

function useGroups(scope: string): Data<{ rows: GroupRow[]; count: number }> {
  const by = "consumergroup, topic";
  const of = (name: string) => max(by, `kafka_consumergroup_${name}`, scope);
  // Seconds behind where they are known. Otherwise the lag gives the order, below any of them.
  const worst = `topk(${mostRows}, ${of("lag_seconds")} or 1e-12 * ${of("lag_sum")})`;
  const metrics =
    "lag_sum|lag_seconds|lost_partitions|beyond_history_partitions|last_commit_timestamp_seconds";
  const rate = `max by (${by}) (rate(kafka_consumergroup_current_offset_sum{${scope}}[5m]))`;
  const expr = together([
    `${all(by, `consumergroup_(${metrics})`, scope)} and on (${by}) ${worst}`,
    `${rate} and on (${by}) ${worst}`,
    max("consumergroup", "kafka_consumergroup_members", scope),
    `max by (consumergroup, state) (kafka_consumergroup_state{${scope}} == 1)`,
    `count(${of("lag_sum")})`,
  ]);
  return useData(
    `groups ${scope}`,
    async (signal) => {
      const { result } = await query(expr, signal);
      const rates = byName(place(result, 1), ["consumergroup", "topic"]);
      const members = byName(place(result, 2), ["consumergroup"]);
      const states = new Map(
        place(result, 3).map((s) => [s.metric.consumergroup ?? "", s.metric.state ?? ""]),
      );
      const rows = [...byName(place(result, 0), ["consumergroup", "topic"])].map(
        ([id, of]): GroupRow => {
          const [group, topic] = JSON.parse(id) as [string, string];
          const value = (name: string) => of[`consumergroup_${name}`] ?? Number.NaN;
          return {
            group,
            topic,
            behind: value("lag_seconds"),
            lag: value("lag_sum"),
            rate: rates.get(id)?.[""] ?? Number.NaN,
            members: members.get(JSON.stringify([group]))?.[""] ?? Number.NaN,
            state: states.get(group) ?? "",
            commit: value("last_commit_timestamp_seconds"),
            lost: value("lost_partitions") > 0,
            bound: value("beyond_history_partitions") > 0,
          };
        },
      );
      const worth = (v: number) => (Number.isNaN(v) ? -1 : v);
      rows.sort(
        (a, b) =>
          worth(b.behind) - worth(a.behind) ||
          worth(b.lag) - worth(a.lag) ||
          (`${a.group} ${a.topic}` < `${b.group} ${b.topic}` ? -1 : 1),
      );
      return { rows, count: number(place(result, 4)[0]?.value?.[1]) };
    },
    { every: 10_000, keep: true },
  );
}

/** The lag of the groups that are furthest behind over the page's time, by group and topic. */
function usePlots(scope: string, range: Range): Map<string, (number | null)[]> {
  const by = "consumergroup, topic";
  const step = Math.max(range.step, stepOf(range.to - range.from, 60));
  const expr =
    `${max(by, "kafka_consumergroup_lag_sum", scope)} and on (${by}) topk(${mostPlots}, ` +
    `max by (${by}) (kafka_consumergroup_lag_seconds{${scope}} @ end()))`;
  const span = range.live ? `last ${range.to - range.from}` : `${range.from} ${range.to}`;
  const { value } = useData(
    `lags ${scope} ${span}`,
    async (signal) => {
      const now = range.live ? live({ ...range, step }) : { ...range, step };
      const { result } = await queryRange(expr, now, signal);
      const lines = linesOf(result, [{ expr, legend: () => "" }], now);
      const id = (i: number) => {
        const { consumergroup = "", topic = "" } = lines.labels[i]!;
        return JSON.stringify([consumergroup, topic]);
      };
      return new Map(lines.values.map((v, i) => [id(i), v]));
    },
    { every: Math.max(30_000, refreshOf(range)), keep: true },
  );
  return value ?? new Map();
}

/** More than that behind is marked. */
const longBehind = 300;

function Groups({ scope, range }: { scope: string; range: Range }) {
  const data = useGroups(scope);
  const plots = usePlots(scope, range);
  const want = useFilter();
  const now = (data.at || Date.now()) / 1000;
  const columns = useMemo(
    (): Column<GroupRow>[] => [
      { id: "group", title: "group", width: 2, cell: (r) => r.group, order: (r) => r.group },
      {
        id: "topic",
        title: "topic",
        width: 1.6,
        wide: true,
        cell: (r) => <span title={r.topic}>{r.topic}</span>,
        order: (r) => r.topic,
      },
      {
        id: "behind",
        title: "behind",
        number: true,
        cell: (r) => (
          <span
            class={r.behind > longBehind ? "bad-value" : undefined}
            title={r.bound ? "At least: the ends of the logs are not remembered for longer" : ""}
          >
            {r.bound && "≥ "}
            {format(r.behind, "seconds")}
          </span>
        ),
        order: (r) => r.behind,
      },
      {
        id: "lag",
        title: "lag",
        number: true,
        cell: (r) => (
          <span
            class={r.lost ? "bad-value" : undefined}
            title={r.lost ? "Records were deleted before the group read them" : ""}
          >
            {r.lost && "! "}
            {format(r.lag)}
          </span>
        ),
        order: (r) => r.lag,
      },
      {
        id: "plot",
        title: "lag over time",
        wide: true,
        width: 1.2,
        cell: (r) => {
          const values = plots.get(JSON.stringify([r.group, r.topic]));
          if (!values) return <span class="dim">–</span>;
          const known = values.filter((v) => v !== null);
          const text = `Lag over time: at most ${format(Math.max(...known))}`;
          return <Spark values={values} text={text} />;
        },
      },
      {
        id: "rate",
        title: "reads",
        number: true,
        wide: true,
        cell: (r) => (
          <span class={r.rate === 0 && r.lag > 0 ? "bad-value" : undefined}>
            {format(r.rate, "per_second")}
          </span>
        ),
        order: (r) => r.rate,
      },
      {
        id: "members",
        title: "members",
        number: true,
        wide: true,
        cell: (r) => <span class={r.members === 0 ? "bad-value" : ""}>{format(r.members)}</span>,
        order: (r) => r.members,
      },
      {
        id: "state",
        title: "state",
        wide: true,
        width: 1.2,
        cell: (r) => <span title={r.state}>{r.state || "–"}</span>,
        order: (r) => r.state,
      },
      {
        id: "commit",
        title: "last commit",
        number: true,
        wide: true,
        cell: (r) => (Number.isNaN(r.commit) ? "–" : length(Math.max(0, now - r.commit))),
        order: (r) => -r.commit,
      },
    ],
    [plots, now],
  );
  return (
    <List
      title="Consumer groups, furthest behind first"
      what="the consumer groups"
      none="No consumer group has committed anything that is read."
      data={data}
      columns={columns}
      fits={(r) => `${r.group} ${r.topic} ${r.state}`.toLowerCase().includes(want)}
      id={(r) => JSON.stringify([r.group, r.topic])}
      bad={(r) => r.behind > longBehind}
      filter
    />
  );
}

/** A list that is filtered, the worst rows first. */
function List<T>({
  title,
  what,
  none,
  data,
  columns,
  fits,
  id,
  bad,
  filter = false,
}: {
  title: string;
  what: string;
  none: ComponentChildren;
  data: Data<{ rows: T[]; count: number }>;
  columns: Column<T>[];
  fits: (row: T) => boolean;
  id: (row: T) => string;
  bad: (row: T) => boolean;
  /** It has the field with what is wanted; another list of the page may follow it. */
  filter?: boolean;
}) {
  const rows = data.value?.rows ?? [];
  const shown = rows.filter(fits);
  const count = data.value?.count ?? Number.NaN;
  return (
    <section class="panel" aria-label={title}>
      <div class="panel-head">
        <h2>{title}</h2>
        {filter && (
          <Filter
            name="Filter groups and topics"
            hint="Filter: group, topic"
            shown={shown.length}
            all={rows.length}
          />
        )}
      </div>
      <Shown data={data} what={what} rows={6}>
        {() =>
          rows.length === 0 ? (
            <Empty>{none}</Empty>
          ) : shown.length === 0 ? (
            <Empty>None is like that.</Empty>
          ) : (
            <>
              <Table name={title} columns={columns} rows={shown} id={id} bad={bad} height={400} />
              {count > rows.length && (
                <p class="dim">
                  The first {format(rows.length)} of {format(count)}. Explore has the others.
                </p>
              )}
            </>
          )
        }
      </Shown>
    </section>
  );
}

/** A topic. */
interface TopicRow {
  topic: string;
  of: Record<string, number>;
  rate: number;
}

function useTopics(scope: string): Data<{ rows: TopicRow[]; count: number }> {
  const of = (name: string) => max("topic", `kafka_topic_${name}`, scope);
  const rate = `max by (topic) (rate(kafka_topic_current_offset_sum{${scope}}[5m]))`;
  const worst =
    `topk(${mostRows}, 1e15 * ${of("offline_partitions")} > 0 or ` +
    `1e12 * ${of("under_replicated_partitions")} > 0 or ${rate} or 0 * ${of("partitions")})`;
  const metrics =
    "partitions|replication_factor|offline_partitions|under_replicated_partitions|log_size_bytes";
  const expr = together([
    `${all("topic", `topic_(${metrics})`, scope)} and on (topic) ${worst}`,
    `${rate} and on (topic) ${worst}`,
    `count(${of("partitions")})`,
  ]);
  return useData(
    `topics ${scope}`,
    async (signal) => {
      const { result } = await query(expr, signal);
      const rates = byName(place(result, 1), ["topic"]);
      const rows = [...byName(place(result, 0), ["topic"])].map(
        ([id, of]): TopicRow => ({
          topic: (JSON.parse(id) as [string])[0],
          of,
          rate: rates.get(id)?.[""] ?? Number.NaN,
        }),
      );
      const worth = ({ of, rate }: TopicRow) =>
        1e15 * (of.topic_offline_partitions || 0) +
        1e12 * (of.topic_under_replicated_partitions || 0) +
        (rate || 0);
      rows.sort((a, b) => worth(b) - worth(a) || (a.topic < b.topic ? -1 : 1));
      return { rows, count: number(place(result, 2)[0]?.value?.[1]) };
    },
    { every: 15_000, keep: true },
  );
}

function column<T extends { of: Record<string, number> }>(
  id: string,
  title: string,
  metric: string,
  unit = "count",
  more: Partial<Column<T>> & { alarm?: boolean } = {},
): Column<T> {
  const { alarm, ...rest } = more;
  return {
    id,
    title,
    number: true,
    cell: (r) => (
      <span class={alarm ? high(r.of[metric]) : undefined}>{format(r.of[metric], unit)}</span>
    ),
    order: (r) => r.of[metric] ?? Number.NaN,
    ...rest,
  };
}

const topicColumns: Column<TopicRow>[] = [
  { id: "topic", title: "topic", width: 2.5, cell: (r) => r.topic, order: (r) => r.topic },
  column("partitions", "partitions", "topic_partitions", "count", { wide: true }),
  column("replicas", "replicas", "topic_replication_factor", "count", { wide: true }),
  {
    id: "rate",
    title: "records",
    number: true,
    cell: (r) => format(r.rate, "per_second"),
    order: (r) => r.rate,
  },
  column("size", "size", "topic_log_size_bytes", "bytes", { wide: true }),
  column("under", "under-replicated", "topic_under_replicated_partitions", "count", {
    alarm: true,
    width: 1.3,
  }),
  column("offline", "offline", "topic_offline_partitions", "count", { alarm: true }),
];

function Topics({ scope }: { scope: string }) {
  const data = useTopics(scope);
  const want = useFilter();
  return (
    <List
      title="Topics"
      what="the topics"
      none="No topic is read."
      data={data}
      columns={topicColumns}
      fits={(r) => r.topic.toLowerCase().includes(want)}
      id={(r) => r.topic}
      bad={(r) => r.of.topic_offline_partitions! > 0}
    />
  );
}

/** A broker. */
interface BrokerRow {
  id: string;
  address: string;
  controller: number;
  of: Record<string, number>;
}

function useBrokers(scope: string): Data<BrokerRow[]> {
  const metrics =
    "broker_(up|leaders|leader_skew|replicas|out_of_sync_replicas|log_size_bytes)|controller";
  const expr = together([
    all("broker", metrics, scope),
    `max by (id, address) (kafka_broker_info{${scope}})`,
  ]);
  return useData(
    `brokers ${scope}`,
    async (signal) => {
      const { result } = await query(expr, signal);
      const addresses = new Map(place(result, 1).map(({ metric: m }) => [m.id, m.address ?? ""]));
      const list = [...byName(place(result, 0), ["broker"])].map(([key, of]): BrokerRow => {
        const [id] = JSON.parse(key) as [string];
        return { id, of, address: addresses.get(id) ?? "", controller: of.controller ?? 0 };
      });
      const order = new Intl.Collator("en", { numeric: true }).compare;
      const down = (b: BrokerRow) => Number(b.of.broker_up === 0);
      return list.sort((a, b) => down(b) - down(a) || order(a.id, b.id));
    },
    { every: 10_000, keep: true },
  );
}

const brokerColumns: Column<BrokerRow>[] = [
  {
    id: "broker",
    title: "broker",
    width: 2,
    cell: (b) => `${b.id}${b.address && ` · ${b.address}`}`,
    order: (b) => b.id,
  },
  {
    id: "up",
    title: "state",
    cell: (b) =>
      b.of.broker_up === undefined ? (
        "–"
      ) : b.of.broker_up === 0 ? (
        <span class="state down">
          <span aria-hidden="true">○</span> down
        </span>
      ) : (
        <span class="state up">
          <span aria-hidden="true">●</span> up
        </span>
      ),
    order: (b) => Number(b.of.broker_up === 0),
  },
  {
    id: "controller",
    title: "controller",
    wide: true,
    cell: (b) => (b.controller === 1 ? "controller" : <span class="dim">–</span>),
    order: (b) => b.controller,
  },
  column("leaders", "leaders", "broker_leaders"),
  column("skew", "skew", "broker_leader_skew", "ratio", { wide: true }),
  column("replicas", "replicas", "broker_replicas", "count", { wide: true }),
  column("behind", "out of sync", "broker_out_of_sync_replicas", "count", {
    alarm: true,
    wide: true,
  }),
  column("size", "logs", "broker_log_size_bytes", "bytes"),
];

function Brokers({ data }: { data: Data<BrokerRow[]> }) {
  return (
    <section class="panel" aria-label="Brokers">
      <div class="panel-head">
        <h2>Brokers</h2>
        <span class="dim">Skew: leaders more or fewer than the brokers' mean</span>
      </div>
      <Shown data={data} what="the brokers" empty="No broker is known.">
        {(list) => (
          <Table
            name="Brokers"
            columns={brokerColumns}
            rows={list}
            id={(b) => b.id}
            bad={(b) => b.of.broker_up === 0}
            height={320}
          />
        )}
      </Shown>
    </section>
  );
}

/** A value of groups, of those with the highest ones at the end. */
function ofGroups(over: "max" | "sum", name: string): Spec["asks"] {
  const expr = (at: string) =>
    `${over} by (consumergroup) (max by (consumergroup, topic) (${name}{$scope}${at}))`;
  return [
    [
      `${expr("")} and on (consumergroup) topk(${mostGroups}, ${expr(" @ end()")})`,
      "{consumergroup}",
    ],
  ];
}

const rates = (by: string, name: string) => `sum(max by (${by}) (rate(${name}{$scope}[$w])))`;

const specs: Spec[] = [
  {
    title: "Seconds behind",
    unit: "seconds",
    note: "the furthest",
    asks: ofGroups("max", "kafka_consumergroup_lag_seconds"),
    threshold: longBehind,
  },
  {
    title: "Lag",
    unit: "count",
    note: "records",
    asks: ofGroups("sum", "kafka_consumergroup_lag_sum"),
  },
  {
    title: "Records",
    unit: "per_second",
    asks: [
      [rates("topic", "kafka_topic_current_offset_sum"), "written"],
      [rates("consumergroup, topic", "kafka_consumergroup_current_offset_sum"), "read, all groups"],
    ],
  },
  {
    title: "Partitions that are not well",
    unit: "count",
    asks: [
      ["max(kafka_cluster_offline_partitions{$scope})", "offline"],
      ["max(kafka_cluster_under_replicated_partitions{$scope})", "under-replicated"],
      ["max(kafka_cluster_not_preferred_leader_partitions{$scope})", "led by another replica"],
    ],
  },
  {
    title: "Logs",
    unit: "bytes",
    asks: [["max by (broker) (kafka_broker_log_size_bytes{$scope})", "broker {broker}"]],
  },
  {
    title: "Time to read the cluster",
    unit: "seconds",
    asks: [["max by (node) (scrape_duration_seconds{$scope})", "{node}"]],
  },
];
