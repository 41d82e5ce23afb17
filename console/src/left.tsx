// Nodes that left: what happened to them, apart from those that are watched.
import type { Node } from "./api";
import { nameOf } from "./kinds";
import { List } from "./list";
import { link } from "./place";
import { type Column } from "./table";
import { stamp } from "./time";

/** What happened to a node that left, with the names of those that are known. */
export function happened(node: Node, known: Node[]): string {
  const by = node.left?.by ?? "";
  switch (node.state) {
    case "replaced": {
      const other = known.find((n) => n.id === by);
      return `replaced by ${other ? nameOf(other) : by}`;
    }
    case "moved":
      return `moved to cluster ${by}`;
    case "forgotten":
      return by ? `forgotten by key ${by}` : "forgotten";
    case "removed":
      return "removed from the targets";
    default:
      return node.state;
  }
}

const sinceOf = (n: Node) => Date.parse(n.left?.since ?? "") / 1000;

/** A table of those nodes of a list that left; nothing if none did. */
export function Left({ list, several }: { list: Node[]; several: boolean }) {
  const left = list.filter((n) => n.left).sort((a, b) => sinceOf(b) - sinceOf(a));
  if (left.length === 0) return null;
  const columns: Column<Node>[] = [
    { id: "node", title: "node", width: 2, cell: nameOf, order: nameOf },
    {
      id: "what",
      title: "what happened",
      width: 3,
      cell: (n) => happened(n, list),
      order: (n) => n.state,
    },
    { id: "since", title: "since", width: 2, cell: (n) => stamp(sinceOf(n)), order: sinceOf },
  ];
  if (several) {
    const cluster = (n: Node) => n.cluster;
    columns.splice(1, 0, { id: "cluster", title: "cluster", cell: cluster, order: cluster });
  }
  return (
    <List
      title="Nodes that left"
      rows={left}
      columns={columns}
      id={(n) => `${n.cluster} ${n.id}`}
      href={(n) => link(["node", n.id])}
      height={280}
    />
  );
}
