// Who asks for how much of Cassandra.
import { me, type Work, work } from "../api";
import { useData } from "../data";
import { Empty, Failed, Shown } from "../faces";
import { type Column, Table } from "../table";
import { format } from "../units";

/** Who asks for how much of Cassandra, if the key may see that. */
export function Share() {
  const asks = useData("me", me, { every: 60_000 });
  const may = asks.value?.scopes.includes("admin") ?? false;
  const list = useData(may ? "qps" : null, work);
  return (
    <section class="panel" data-share={may ? "shown" : "hidden"}>
      <div class="panel-head">
        <h2>Who asks for how much of Cassandra</h2>
        <span class="dim">reads by key, a mean of the last seconds</span>
      </div>
      {asks.error && !asks.value && <Failed error={asks.error} compact />}
      {asks.value && !may && (
        <Empty>
          <p>
            <strong>This key may not see this.</strong> It needs the scope admin:{" "}
            <code>ringwatch key create me --scopes operator</code> makes a key that has it.
          </p>
        </Empty>
      )}
      {may && (
        <Shown data={list} what="who asks" empty={<p>Nobody reads by key now.</p>}>
          {(rows) => (
            <Table
              name="Who asks for how much of Cassandra"
              columns={workColumns}
              rows={rows}
              id={(w) => `${w.class} ${w.client}`}
              height={320}
            />
          )}
        </Shown>
      )}
    </section>
  );
}

const per = (id: string, title: string, of: (w: Work) => number, wide = false): Column<Work> => ({
  id,
  title,
  number: true,
  wide,
  cell: (w) => format(of(w), "per_second"),
  order: of,
});

const workColumns: Column<Work>[] = [
  {
    id: "client",
    title: "client",
    width: 2,
    cell: (w) => <span title={w.client}>{w.client}</span>,
    order: (w) => w.client ?? "",
  },
  { id: "class", title: "class", width: 1.2, cell: (w) => w.class, order: (w) => w.class ?? "" },
  per("operations", "operations", (w) => w.operations_per_second),
  per("refused", "refused", (w) => w.refused_per_second),
  per("requests", "requests", (w) => w.requests_per_second, true),
  {
    id: "waiting",
    title: "waiting",
    number: true,
    wide: true,
    cell: (w) => format(w.waiting),
    order: (w) => w.waiting,
  },
  {
    id: "p99",
    title: "p99",
    number: true,
    cell: (w) => format(w.p99_seconds || Number.NaN, "seconds"),
    order: (w) => w.p99_seconds,
  },
  {
    id: "limit",
    title: "class limit",
    number: true,
    wide: true,
    cell: (w) => format(w.limit_per_second, "per_second"),
    order: (w) => w.limit_per_second ?? Number.NaN,
  },
];
