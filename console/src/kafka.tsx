// A Kafka cluster: what hurts, its consumer groups, topics and brokers, as the role watch or an
// exporter has them.
import { type Alert, type Node, query } from "./api";
import { Board, type Spec } from "./board";
import { MarkList } from "./chart";
import { type Data, useData } from "./data";
import { type Fact, Facts, Values } from "./head";
import { type Finding, Hurts } from "./hurts";
import { silent } from "./kinds";
import { byName, longBehind } from "./kafka-ask";
import { Groups } from "./kafka-groups";
import { Brokers, Topics, useBrokers } from "./kafka-topics";
import { useMarks } from "./marks";
import { usePlace } from "./place";
import { readFacts, readFindings, useReads } from "./reads";
import { intervalOf, rangeOf } from "./time";
import { format } from "./units";

/** How many lines a chart of groups has. */
const mostGroups = 12;

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
  const heard = nodes.find((n) => !silent(n)) ?? nodes[0]!; // whoever reads the cluster
  const reader = nodes.length === 1 ? nodes[0] : undefined;
  const versions = [...new Set(nodes.map((n) => n.facts.version).filter(Boolean))];
  return (
    <>
      <Hurts
        alerts={alerts}
        findings={[
          ...findings,
          ...readFindings(reads.value, nodes),
          ...(silent(heard) ? [] : (state.value?.findings ?? [])),
        ]}
        names={names}
        well="All partitions have their leader and their replicas, and no alert fires."
      />
      <Values of={heard}>
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
      </Values>
      <Board
        specs={specs}
        subjects={[{ matchers: scope }]}
        range={range}
        interval={intervalOf(nodes)}
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
