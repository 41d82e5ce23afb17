// Heat maps: how many operations took how long, over time, from native histograms.
import { useMemo, useState } from "preact/hooks";
import { Caption } from "./caption";
import { useSeries } from "./data";
import { Failed, Old } from "./faces";
import { type Grid, gridOf } from "./histogram";
import type { Lines } from "./lines";
import type { Mark } from "./marks";
import { Picture } from "./picture";
import { overOf, type Range, stamp, stepOf } from "./time";
import { format } from "./units";

/** How many columns a heat map has at most. */
const columns = 180;

/** The range with the step of heat maps, which is wider than that of lines. */
export function heatRange(range: Range): Range {
  return { ...range, step: stepOf(range.to - range.from, columns) };
}

/** A heat map of an expression that gives one histogram, with its table and its CSV. */
export function Heat({
  title,
  unit,
  expr,
  range: asked,
  marks = [],
  note,
}: {
  title: string;
  unit: string;
  expr: string;
  range: Range;
  marks?: Mark[];
  note?: string;
}) {
  const range = heatRange(asked);
  const data = useSeries(expr, range);
  const grid = useMemo(
    () => data.value && gridOf(data.value.answer.result[0], data.value.range),
    [data.value],
  );
  return (
    <figure class="chart" data-title={title}>
      {data.error && data.value && <Old data={data} />}
      {!grid && data.error && <Failed error={data.error} compact />}
      {!grid && !data.error && (
        <div
          class="bone"
          style={{ height: "260px" }}
          role="status"
          aria-label={`Loading ${title}`}
        />
      )}
      {grid && (
        <div class={data.error ? "old" : undefined}>
          <HeatMap
            title={title}
            unit={unit}
            grid={grid}
            step={range.step}
            warnings={data.value?.answer.warnings ?? []}
            expr={expr}
            marks={marks}
            {...(note && { note })}
          />
        </div>
      )}
    </figure>
  );
}

/** What a heat map says in numbers. */
function linesOf(grid: Grid): Lines {
  return {
    at: grid.at,
    names: ["p50", "p99", "per second"],
    labels: [{}, {}, {}],
    values: [grid.p50, grid.p99, grid.count],
  };
}

/** The map with its caption; its table says the same to whoever does not see it. */
export function HeatMap({
  title,
  unit,
  grid,
  step,
  warnings = [],
  expr,
  marks = [],
  note,
}: {
  title: string;
  unit: string;
  grid: Grid;
  step: number;
  warnings?: string[];
  expr?: string;
  marks?: Mark[];
  note?: string;
}) {
  const [table, setTable] = useState(false);
  const empty = grid.cells.every((c) => c === null || c.every((v) => v === 0));
  return (
    <>
      <Caption
        title={title}
        note={note}
        warnings={warnings}
        step={step}
        over={overOf(expr ?? "")}
        each="column"
        lines={empty ? undefined : () => linesOf(grid)}
        table={table}
        setTable={setTable}
        expr={expr}
      />
      {empty && (
        <div class="face quiet compact">
          {grid.cells.every((c) => c === null)
            ? "Nothing was measured in this time."
            : "Nothing was counted in this time."}
        </div>
      )}
      {!empty && table && <HeatTable title={title} unit={unit} grid={grid} />}
      {!empty && !table && <Picture {...{ title, unit, grid, step, marks }} />}
    </>
  );
}

/** Time, median, 99th percentile and count, the newest first. */
function HeatTable({ title, unit, grid }: { title: string; unit: string; grid: Grid }) {
  const rows = grid.at.map((_, i) => grid.at.length - 1 - i);
  return (
    <section class="values" tabIndex={0} aria-label={`${title}, values`}>
      <table>
        <thead>
          <tr>
            <th scope="col">time</th>
            <th scope="col" class="number">
              p50
            </th>
            <th scope="col" class="number">
              p99
            </th>
            <th scope="col" class="number">
              count
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((i) => (
            <tr key={grid.at[i]} data-at={grid.at[i]}>
              <th scope="row">{stamp(grid.at[i]!)}</th>
              <td class="number">{format(grid.p50[i], unit)}</td>
              <td class="number">{format(grid.p99[i], unit)}</td>
              <td class="number">{format(grid.count[i], "per_second")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
