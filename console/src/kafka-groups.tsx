// The consumer groups of a Kafka cluster: those that are furthest behind first.
import { useMemo } from "preact/hooks";
import { query, queryRange } from "./api";
import { together } from "./ask";
import { type Data, useData } from "./data";
import { useFilter } from "./filter";
import { all, byName, longBehind, max, mostRows, place } from "./kafka-ask";
import { linesOf } from "./lines";
import { List } from "./list";
import { Spark } from "./spark";
import { type Column } from "./table";
import { live, type Range, refreshOf, stepOf } from "./time";
import { format, length, number } from "./units";

/** How many of the groups that are furthest behind have a plot of their lag. */
const mostPlots = 40;

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

/** The groups. What is wanted of them is q in the address. */
export function Groups({ scope, range }: { scope: string; range: Range }) {
  const data = useGroups(scope);
  const plots = usePlots(scope, range);
  const want = useFilter();
  const rows = data.value?.rows ?? [];
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
      rows={rows}
      shown={rows.filter((r) => `${r.group} ${r.topic} ${r.state}`.toLowerCase().includes(want))}
      {...(data.value && { count: data.value.count })}
      columns={columns}
      id={(r) => JSON.stringify([r.group, r.topic])}
      bad={(r) => r.behind > longBehind}
      filter={["Filter groups and topics", "Filter: group, topic"]}
    />
  );
}
