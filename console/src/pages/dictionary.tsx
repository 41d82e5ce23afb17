// The dictionary of metrics: what there is, in words, and a way to look at it.
import { useMemo } from "preact/hooks";
import { metadata } from "../api";
import { useData } from "../data";
import { Empty, Shown } from "../faces";
import { Filter } from "../filter";
import { found, groupsOf, type Metric, metricsOf, plotOf } from "../metrics";
import { setParams, usePlace } from "../place";
import { type Column, Table } from "../table";

const columns: Column<Metric>[] = [
  {
    id: "metric",
    title: "metric",
    width: 8,
    order: (m) => m.name,
    cell: (m) => (
      <>
        <span class="mono">{m.name}</span>
        <span class="metric-help dim" title={m.help}>
          {m.help}
        </span>
      </>
    ),
  },
  { id: "type", title: "type", order: (m) => m.type, cell: (m) => m.type },
  { id: "unit", title: "unit", order: (m) => m.unit, cell: (m) => m.unit || "–" },
];

/** The metrics by group. hrefOf is the place where an expression is shown. */
export function Dictionary({ hrefOf }: { hrefOf: (expr: string) => string }) {
  const { params } = usePlace();
  const data = useData("metadata", metadata, { every: 300_000, keep: true });
  const all = useMemo(() => data.value && metricsOf(data.value), [data.value]);
  const text = params.get("q") ?? "";
  const matching = useMemo(() => found(all ?? [], text), [all, text]);
  const group = params.get("group") ?? "";
  const groups = groupsOf(matching);
  if (group && !groups.some(([name]) => name === group)) groups.push([group, 0]);
  const shown = useMemo(
    () => (group ? matching.filter((m) => m.group === group) : matching),
    [matching, group],
  );
  const choose = (name: string) => setParams({ group: name === group ? null : name });
  return (
    <section class="panel" aria-label="Metrics">
      <div class="panel-head">
        <h2>Metrics</h2>
        <Filter
          name="Search metrics"
          hint="Search: name or description"
          shown={shown.length}
          all={all?.length ?? 0}
        />
      </div>
      <Shown data={data} what="the metrics" rows={8}>
        {() => (
          <>
            <div class="metric-groups" role="group" aria-label="Groups of metrics">
              {groups.map(([name, count]) => (
                <button
                  type="button"
                  key={name}
                  aria-pressed={name === group}
                  onClick={() => choose(name)}
                >
                  {name} <span class="dim">{count}</span>
                </button>
              ))}
            </div>
            {shown.length === 0 ? (
              <Empty>
                {all?.length === 0
                  ? "No metric is known yet. It takes a minute after the first node has sent."
                  : "No metric is like that."}{" "}
                {all?.length !== 0 && (
                  <button type="button" onClick={() => setParams({ q: null, group: null })}>
                    Show all
                  </button>
                )}
              </Empty>
            ) : (
              <Table
                name="Metrics"
                columns={columns}
                rows={shown}
                id={(m) => m.name}
                href={(m) => hrefOf(plotOf(m))}
                tall
              />
            )}
          </>
        )}
      </Shown>
    </section>
  );
}
