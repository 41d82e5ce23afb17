// What nodes do now: tasks and streams, with how far they are and when they end.
import { type Of, type Task, tasks, taskText, when } from "./activity";
import { useData } from "./data";
import { useFilter } from "./filter";
import { List } from "./list";
import { Ago, Bar, Lacks, NodeLink, tableName } from "./parts";
import type { Column } from "./table";
import { stamp } from "./time";
import { format } from "./units";

const idOf = (t: Task) =>
  JSON.stringify([t.cluster, t.node, t.task, t.keyspace, t.table, t.peer, t.direction, t.slot]);

/** What ends last comes first; then that of which nobody knows. */
const worth = (t: Task) => when(t.ends) || 0;

/** The tasks and streams of a cluster or a node, of all if none is named. */
const useTasks = ({ cluster = "", node = "" }: Of) =>
  useData(
    `tasks ${cluster} ${node}`,
    async (signal) => {
      const answer = await tasks({ cluster, node }, signal);
      answer.tasks.sort((a, b) => worth(b) - worth(a) || (idOf(a) < idOf(b) ? -1 : 1));
      return answer;
    },
    { keep: true },
  );

const progress: Column<Task>[] = [
  {
    id: "progress",
    title: "done",
    width: 1.4,
    cell: (t) => <Bar ratio={t.ratio} name={`${taskText(t.task)} ${tableName(t)}`} />,
    order: (t) => t.ratio ?? Number.NaN,
  },
  {
    id: "bytes",
    title: "bytes",
    number: true,
    wide: true,
    width: 1.5,
    cell: (t) =>
      t.size_bytes === undefined
        ? "–"
        : `${format(t.done_bytes ?? 0, "bytes")} of ${format(t.size_bytes, "bytes")}`,
    order: (t) => t.size_bytes ?? Number.NaN,
  },
  {
    id: "rate",
    title: "rate",
    number: true,
    cell: (t) => format(t.bytes_per_second, "bytes_per_second"),
    order: (t) => t.bytes_per_second ?? Number.NaN,
  },
  {
    id: "started",
    title: "started",
    number: true,
    wide: true,
    cell: (t) => <Ago at={t.started} />,
    order: (t) => -when(t.started),
  },
  {
    id: "ends",
    title: "ends",
    number: true,
    width: 1.4,
    cell: (t) => <Ago at={t.ends} none="unknown" />,
    order: (t) => when(t.ends),
  },
];

const nodeColumn = (of: Of): Column<Task>[] =>
  of.node
    ? []
    : [
        {
          id: "node",
          title: "node",
          width: 1.2,
          wide: true,
          cell: (t) => <NodeLink node={t.node} name={t.name} />,
          order: (t) => t.name,
        },
      ];

const columnsOf = (of: Of): Column<Task>[] => [
  {
    id: "task",
    title: "task",
    width: 2.4,
    cell: (t) => (
      <bdi>
        {taskText(t.task)} <span class="dim">{tableName(t)}</span>
      </bdi>
    ),
    order: (t) => `${t.task} ${tableName(t)}`,
  },
  ...nodeColumn(of),
  ...progress,
];

const arrow = ({ direction }: Task) => (direction === "in" ? "← from" : "→ to");

const streamColumns = (of: Of): Column<Task>[] => [
  {
    id: "stream",
    title: "stream",
    width: 2.4,
    cell: (t) => (
      <bdi>
        {taskText(t.task)} <span class="dim">{arrow(t)}</span> {t.peer}
      </bdi>
    ),
    order: (t) => `${t.task} ${t.peer}`,
  },
  ...nodeColumn(of),
  ...progress,
];

/** All that is known of a task, below its row. */
function More({ task: t }: { task: Task }) {
  const facts: [string, string][] = [
    ["Cluster", t.cluster],
    ["Node", t.name || t.node],
    ["Table", tableName(t)],
    ["Peer", t.peer ?? ""],
    ["Started", t.started ? stamp(when(t.started)) : ""],
    ["Ends about", t.ends ? stamp(when(t.ends)) : ""],
    ["Id", t.id ?? ""],
    ["To stop it", t.id && !t.peer ? `nodetool stop -id ${t.id}` : ""],
  ];
  return (
    <dl class="facts">
      {facts
        .filter(([, text]) => text)
        .map(([name, text]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class={name === "To stop it" ? "mono" : undefined} dir="auto">
              {text}
            </dd>
          </div>
        ))}
    </dl>
  );
}

/** Two lists: tasks, and streams if there are any. */
export function Tasks({ of, filtered = false }: { of: Of; filtered?: boolean }) {
  const data = useTasks(of);
  const want = useFilter();
  const all = data.value?.tasks ?? [];
  const fits = (t: Task) =>
    !filtered ||
    `${taskText(t.task)} ${tableName(t)} ${t.name} ${t.peer ?? ""}`.toLowerCase().includes(want);
  const own = all.filter((t) => !t.peer);
  const streams = all.filter((t) => t.peer);
  const common = { id: idOf, more: (t: Task) => <More task={t} />, height: filtered ? 560 : 300 };
  return (
    <>
      <List
        title="Tasks"
        note="what ends last comes first"
        what="the tasks"
        lacks={<Lacks of={data.value} what="tasks and streams" />}
        none={
          streams.length > 0
            ? "No task runs, only streams."
            : "Nothing runs. Compactions, repairs, streams and the like are here while they run."
        }
        data={data}
        rows={own}
        shown={own.filter(fits)}
        columns={columnsOf(of)}
        bones={3}
        {...(filtered && { filter: ["Filter tasks", "Filter: task, table, node"] as const })}
        {...common}
      />
      {streams.length > 0 && (
        <List
          title="Streams"
          rows={streams}
          shown={streams.filter(fits)}
          columns={streamColumns(of)}
          {...common}
        />
      )}
    </>
  );
}
