// The columns of nodes, and how a value of one stands in them.
import type { Alert } from "./api";
import { State } from "./faces";
import { kindName, lastOf } from "./kinds";
import { firingOf, placeOf, type Row } from "./node-rows";
import { link } from "./place";
import { worthOfState } from "./states";
import type { Column } from "./table";
import { format, length } from "./units";

/** The columns of nodes, of one cluster or of several, of one kind or of several. */
export function columnsOf(several: boolean, mixed = false): Column<Row>[] {
  const list: Column<Row>[] = [
    { id: "node", title: "node", width: 2, cell: (r) => r.name, order: (r) => r.name },
    {
      id: "state",
      title: "state",
      cell: (r) => <State state={r.node.state} />,
      order: (r) => worthOfState(r.node.state),
    },
    {
      id: "kind",
      title: "kind",
      wide: true,
      cell: (r) => kindName(r.kind),
      order: (r) => kindName(r.kind),
    },
    {
      id: "cluster",
      title: "cluster",
      width: 1.3,
      wide: true,
      cell: (r) => (
        <a href={link(["cluster", r.node.cluster])} title={r.node.cluster}>
          {r.node.cluster}
        </a>
      ),
      order: (r) => r.node.cluster,
    },
    {
      id: "place",
      title: "datacenter / rack",
      width: 1.3,
      wide: true,
      cell: (r) => <span title={placeOf(r.node)}>{placeOf(r.node)}</span>,
      order: (r) => `${r.node.datacenter}/${r.node.rack}`,
    },
    {
      id: "alerts",
      title: "alerts",
      cell: (r) => <AlertCount list={r.alerts} />,
      order: (r) => firingOf(r.alerts).length + (r.alerts.length > 0 ? 0.5 : 0),
    },
    seconds("read", "read p99", (r) => r.read),
    seconds("write", "write p99", (r) => r.write),
    percent("disk", "disk", (r) => r.disk, 75),
    percent("cpu", "CPU", (r) => r.cpu, 90),
    {
      id: "age",
      title: "age",
      number: true,
      wide: true,
      cell: (r) => (r.node.age_seconds === undefined ? "–" : length(r.node.age_seconds)),
      order: (r) => r.node.age_seconds ?? Number.NaN,
    },
  ];
  return list.filter((c) => (several || c.id !== "cluster") && (mixed || c.id !== "kind"));
}

function seconds(id: string, title: string, of: (r: Row) => number): Column<Row> {
  return {
    id,
    title,
    hint: "Of the requests that the node coordinated in the last 5 min",
    number: true,
    wide: id === "write",
    order: of,
    cell: (r) => <Value of={r} text={format(of(r), "seconds")} bad={of(r) > 1} />,
  };
}

function percent(id: string, title: string, of: (r: Row) => number, most: number): Column<Row> {
  return {
    id,
    title,
    ...(id === "cpu" && { hint: "Over the last 5 min" }),
    number: true,
    wide: id === "cpu",
    order: of,
    cell: (r) => <Value of={r} text={format(of(r), "percent")} bad={of(r) > most} />,
  };
}

/** A value of a node. The last ones of a silent node say nothing of how it is now. */
export function Value({ of, text, bad = false }: { of: Row; text: string; bad?: boolean }) {
  const last = lastOf(of.node);
  if (last) {
    return (
      <span class="dim" title={last}>
        {text}
      </span>
    );
  }
  return <span class={bad ? "bad-value" : ""}>{text}</span>;
}

function AlertCount({ list }: { list: Alert[] }) {
  const firing = firingOf(list);
  if (firing.length === 0) return <span class="dim">{list.length ? "pending" : "–"}</span>;
  const worst = firing.some((a) => a.labels.severity === "critical") ? "critical" : "warning";
  return (
    <span class={`severity ${worst}`} title={firing.map((a) => a.labels.alertname).join(", ")}>
      <span aria-hidden="true">{worst === "critical" ? "▲" : "△"}</span> {firing.length}
    </span>
  );
}
