// The topics and brokers of a Kafka cluster, those that are not well first.
import { query } from "./api";
import { together } from "./ask";
import { type Data, useData } from "./data";
import { useFilter } from "./filter";
import { all, byName, max, mostRows, place } from "./kafka-ask";
import { List } from "./list";
import { type Column } from "./table";
import { format, number } from "./units";

const high = (v: number | undefined) => (v !== undefined && v > 0 ? "bad-value" : "dim");

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

/** The topics. What is wanted of them is q in the address. */
export function Topics({ scope }: { scope: string }) {
  const data = useTopics(scope);
  const want = useFilter();
  const rows = data.value?.rows ?? [];
  return (
    <List
      title="Topics"
      what="the topics"
      none="No topic is read."
      data={data}
      rows={rows}
      shown={rows.filter((r) => r.topic.toLowerCase().includes(want))}
      {...(data.value && { count: data.value.count })}
      columns={topicColumns}
      id={(r) => r.topic}
      bad={(r) => r.of.topic_offline_partitions! > 0}
    />
  );
}

/** A broker. */
export interface BrokerRow {
  id: string;
  address: string;
  controller: number;
  of: Record<string, number>;
}

/** The brokers, those that are down first. */
export function useBrokers(scope: string): Data<BrokerRow[]> {
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

/** The brokers as a list. */
export function Brokers({ data }: { data: Data<BrokerRow[]> }) {
  return (
    <List
      title="Brokers"
      note="Skew: leaders more or fewer than the brokers' mean"
      what="the brokers"
      none="No broker is known."
      data={data}
      rows={data.value ?? []}
      columns={brokerColumns}
      id={(b) => b.id}
      bad={(b) => b.of.broker_up === 0}
      height={320}
    />
  );
}
