// Who is connected: by driver, version, protocol, user and encryption, those that are outdated
// first.
import { useMemo } from "preact/hooks";
import { type Client, clients, type Of } from "./activity";
import { useData } from "./data";
import { useFilter } from "./filter";
import { List } from "./list";
import { outdated, versions } from "./outdated";
import { Lacks, NodeLink } from "./parts";
import { setParams, usePlace } from "./place";
import type { Column } from "./table";
import { format } from "./units";

interface Row {
  client: Client;
  why: string[]; // why it is outdated
}

const mostRows = 500;

const idOf = ({ client: c }: Row) =>
  JSON.stringify([c.cluster, c.driver, c.driver_version, c.protocol, c.username, c.tls]);

const text = ({ client: c }: Row) =>
  [c.driver, c.driver_version, c.username, ...(c.addresses ?? []).map((a) => a.address)]
    .join(" ")
    .toLowerCase();

const columnsOf = (of: Of): Column<Row>[] => [
  {
    id: "driver",
    title: "driver",
    width: 2.4,
    cell: ({ client: c }) => <bdi title={c.driver}>{c.driver || "unknown driver"}</bdi>,
    order: ({ client: c }) => c.driver,
  },
  {
    id: "version",
    title: "version",
    width: 1.2,
    cell: ({ client: c, why }) =>
      why.length > 0 ? (
        <span class="late-value" title={why.join("; ")}>
          ! {c.driver_version || "–"}
        </span>
      ) : (
        <span title={c.driver_version}>{c.driver_version || "–"}</span>
      ),
    order: ({ client: c }) => c.driver_version,
  },
  ...(of.cluster
    ? []
    : [
        {
          id: "cluster",
          title: "cluster",
          wide: true,
          cell: ({ client: c }: Row) => <bdi title={c.cluster}>{c.cluster}</bdi>,
          order: ({ client: c }: Row) => c.cluster,
        },
      ]),
  {
    id: "protocol",
    title: "protocol",
    wide: true,
    cell: ({ client: c }) => c.protocol || "–",
    order: ({ client: c }) => c.protocol,
  },
  {
    id: "user",
    title: "user",
    width: 1.2,
    wide: true,
    cell: ({ client: c }) => <bdi title={c.username}>{c.username || "–"}</bdi>,
    order: ({ client: c }) => c.username,
  },
  {
    id: "tls",
    title: "TLS",
    wide: true,
    cell: ({ client: c }) => (c.tls ? "yes" : <span class="dim">no</span>),
    order: ({ client: c }) => Number(c.tls),
  },
  {
    id: "connections",
    title: "connections",
    number: true,
    cell: ({ client: c }) => format(c.connections),
    order: ({ client: c }) => c.connections ?? Number.NaN,
  },
  {
    id: "requests",
    title: "requests",
    number: true,
    cell: ({ client: c }) => format(c.requests_per_second, "per_second"),
    order: ({ client: c }) => c.requests_per_second ?? Number.NaN,
  },
  {
    id: "nodes",
    title: "nodes",
    number: true,
    wide: true,
    cell: ({ client: c }) => format(c.nodes),
    order: ({ client: c }) => c.nodes,
  },
];

/** Where the connections come from, below a row. */
function Addresses({ row: { client: c, why } }: { row: Row }) {
  const byNode = new Map<string, NonNullable<Client["addresses"]>>();
  for (const a of c.addresses ?? []) byNode.set(a.node, [...(byNode.get(a.node) ?? []), a]);
  return (
    <>
      {why.length > 0 && <p>It is outdated: {why.join(", and ")}.</p>}
      {byNode.size === 0 ? (
        <p class="dim">No address is in this answer: choose a cluster or a node.</p>
      ) : (
        <ul class="addresses">
          {[...byNode].map(([node, list]) => (
            <li key={node}>
              <NodeLink node={node} name={list[0]!.name} />{" "}
              <span class="mono" dir="auto">
                {list.map((a) => a.address).join(", ")}
              </span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** The list. only=outdated in the address leaves the others out. */
export function Clients({ of }: { of: Of }) {
  const { cluster = "", node = "" } = of;
  const data = useData(`clients ${cluster} ${node}`, (s) => clients({ cluster, node }, s), {
    every: 10_000,
    keep: true,
  });
  const want = useFilter();
  const only = usePlace().params.get("only") === "outdated";
  const rows = useMemo(() => {
    const list = data.value?.clients ?? [];
    const why = outdated(list);
    return list
      .map((client): Row => ({ client, why: why.get(client) ?? [] }))
      .sort(
        (a, b) =>
          b.why.length - a.why.length ||
          (b.client.connections ?? 0) - (a.client.connections ?? 0) ||
          versions(b.client.driver_version, a.client.driver_version) ||
          (idOf(a) < idOf(b) ? -1 : 1),
      );
  }, [data.value]);
  const old = rows.filter((r) => r.why.length > 0).length;
  const shown = rows.filter((r) => (!only || r.why.length > 0) && text(r).includes(want));
  return (
    <List
      title="Clients by driver"
      what="the clients"
      lacks={<Lacks of={data.value} what="clients" />}
      none="No client is connected, or no agent says who is."
      data={data}
      rows={rows}
      shown={shown.slice(0, mostRows)}
      tools={
        <button
          type="button"
          class="toggle"
          aria-pressed={only}
          disabled={!only && old === 0}
          onClick={() => setParams({ only: only ? null : "outdated" })}
        >
          {old} outdated
        </button>
      }
      filter={["Filter clients", "Filter: driver, user, address"]}
      columns={columnsOf(of)}
      id={idOf}
      more={(row) => <Addresses row={row} />}
      height={640}
    />
  );
}
