// The dictionary of metrics as Explore shows it: groups, search, and how each is best looked at.

import type { Metadata } from "./api";

/** A metric, as /api/v1/metadata has it, with its group. */
export interface Metric {
  name: string;
  type: string;
  help: string;
  unit: string;
  group: string;
}

interface Group {
  name: string;
  of: RegExp;
  /** The labels that a plot keeps apart, as far as series have them. */
  by: string;
}

const requests =
  /^cassandra_(client|cql|batch|dropped_message|read_coordination|denylist|cidr|paxos|accord)_/;

const groups: Group[] = [
  { name: "Recorded by rules", of: /:/, by: "" },
  {
    name: "Client requests",
    of: requests,
    by: "cluster, request, message",
  },
  { name: "Tables", of: /^cassandra_table_/, by: "cluster, keyspace, table" },
  { name: "Keyspaces", of: /^cassandra_keyspace_/, by: "cluster, keyspace" },
  { name: "Thread pools", of: /^cassandra_thread_pool_/, by: "cluster, pool" },
  {
    name: "Caches and buffers",
    of: /^cassandra_(cache|buffer_pool|row_index|chunk)_/,
    by: "cluster, cache, pool",
  },
  {
    name: "Compaction, repair, hints",
    of: /^cassandra_(compaction|repair|read_repair|streaming|hints?)_/,
    by: "cluster",
  },
  { name: "Commit log and memtables", of: /^cassandra_(commit_log|memtable)/, by: "cluster" },
  { name: "Node and storage", of: /^cassandra_/, by: "cluster" },
  { name: "Kafka", of: /^kafka_/, by: "cluster, consumergroup, topic, broker" },
  { name: "Redis", of: /^redis_/, by: "cluster, node, cmd" },
  { name: "JVM", of: /^jvm_/, by: "cluster, gc, pool" },
  { name: "Disks", of: /^os_(disk|filesystem)_/, by: "cluster, device" },
  { name: "Network", of: /^os_network_/, by: "cluster, device" },
  { name: "Operating system", of: /^os_/, by: "cluster, mode" },
  { name: "Agent", of: /^(up$|ringwatch_(agent|node)_)/, by: "cluster, reason" },
  {
    name: "Ringwatch's processes",
    of: /^(ringwatch|process|go)_/,
    by: "instance, role, group, producer, reason, code, result",
  },
  { name: "Alerts", of: /^ALERTS/, by: "" },
];
const others: Group = { name: "Others", of: /^/, by: "cluster" };

const groupOf = (name: string): Group => groups.find((g) => g.of.test(name)) ?? others;

/** What rules made of the others, and what is of no entity, comes after them. */
const order = [...groups.slice(1), groups[0]!, others].map((g) => g.name);
const places = new Map(order.map((name, i) => [name, i]));

/** The metrics of an answer of /api/v1/metadata, by group and name. */
export function metricsOf(answer: Metadata): Metric[] {
  return Object.entries(answer)
    .map(([name, [m]]) => ({
      name,
      type: m?.type ?? "",
      help: m?.help ?? "",
      unit: m?.unit ?? "",
      group: groupOf(name).name,
    }))
    .sort((a, b) => places.get(a.group)! - places.get(b.group)! || (a.name < b.name ? -1 : 1));
}

/** The groups that there are, in their order, and how many metrics each has. */
export function groupsOf(list: Metric[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const { group } of list) counts.set(group, (counts.get(group) ?? 0) + 1);
  return order.flatMap((name) => (counts.has(name) ? [[name, counts.get(name)!]] : []));
}

/** The metrics with every word in name or description: those with all in the name come first. */
export function found<T extends { name: string; help: string }>(list: T[], text: string): T[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return list;
  const all = (text: string) => words.every((w) => text.includes(w));
  const inName = list.filter((m) => all(m.name.toLowerCase()));
  const named = new Set(inName);
  const rest = list.filter((m) => !named.has(m) && all(`${m.name} ${m.help}`.toLowerCase()));
  return [...inName, ...rest];
}

/** The expression with which a metric is looked at first. */
export function plotOf({ name, type }: Metric): string {
  const { by } = groupOf(name);
  const sum = (of: string) => (by ? `sum by (${by}) (${of})` : `sum(${of})`);
  switch (type) {
    case "counter":
      return sum(`rate(${name}[5m])`);
    case "histogram":
      return `histogram_quantile(0.99, ${sum(`rate(${name}[5m])`)})`;
    case "gaugehistogram":
      return `histogram_quantile(0.99, ${sum(name)})`;
  }
  if (/_(timestamp|start_time)_seconds$/.test(name)) return `time() - ${name}`;
  return name;
}

/** The expression with which a metric of one node is looked at first. */
export function lookOf({ name, type }: { name: string; type: string }, matchers: string): string {
  const selector = `${name}{${matchers}}`;
  if (type === "counter") return `rate(${selector}[5m])`;
  if (type === "histogram") return `histogram_quantile(0.99, rate(${selector}[5m]))`;
  return selector;
}
