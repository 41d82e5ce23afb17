// What an expression gives: lines and heat maps over time, or a table of now.
import { useEffect, useMemo, useRef } from "preact/hooks";
import {
  type Answer,
  ApiError,
  type Histogram,
  query,
  queryRange,
  type Labels,
  type Sample,
  type Series,
} from "./api";
import { csvOf, cut, download, linesOf, mostLines } from "./lines";
import { Plot } from "./plot";
import { type Data, useData } from "./data";
import { Failed, Old, Warnings } from "./faces";
import { HeatMap } from "./heat";
import { gridOf, quantileOf } from "./histogram";
import { useNames } from "./names";
import { useAway } from "./marks";
import { Nothing } from "./nothing";
import { commonLabels, seriesName, unitOf } from "./share";
import { type Column, Table } from "./table";
import { live, type Range, refreshOf, stepName } from "./time";
import { format, number } from "./units";

interface Asked {
  expr: string;
  range: Range;
  round: number; // another one asks again
  fail: (e: Error | undefined) => void;
  /** Runs another expression in its place. */
  use: (expr: string) => void;
}

/** How many heat maps stand below each other. */
const mostMaps = 6;

/** Asks, and tells the box what is wrong with its expression. Nobody asks again for what is wrong
 *  as it stands. */
function useAnswer<T>(
  name: string,
  load: (signal: AbortSignal) => Promise<T>,
  range: Range,
  fail: (e: Error | undefined) => void,
): Data<T> {
  const bad = useRef<{ name: string; error: ApiError } | null>(null);
  const data = useData<T>(
    name,
    async (signal) => {
      if (bad.current?.name === name) throw bad.current.error;
      try {
        return await load(signal);
      } catch (e) {
        if (e instanceof ApiError && e.status === 400) bad.current = { name, error: e };
        throw e;
      }
    },
    { every: refreshOf(range), keep: true },
  );
  useEffect(() => {
    if (data.value !== undefined || data.error) fail(data.error);
  }, [data.error, data.value]);
  return data;
}

/** Whether the box says it already. */
const said = (e: Error) => e instanceof ApiError && (e.status === 400 || e.status === 422);

function Faces({ data, what }: { data: Data<unknown>; what: string }) {
  if (data.value !== undefined) return data.error && !said(data.error) ? <Old data={data} /> : null;
  if (!data.error) return <div class="bone tall" role="status" aria-label={`Loading ${what}`} />;
  return said(data.error) ? null : <Failed error={data.error} compact />;
}

/** Whether an answer is of nodes, which have names. */
const ofNodes = (answer: { result: { metric: Labels }[] } | undefined) =>
  answer?.result.some((s) => s.metric.node) ?? false;

/** An expression over time. */
export function GraphOf({ expr, range, round, fail, use }: Asked) {
  const span = range.live ? `last ${range.to - range.from}` : `${range.from} ${range.to}`;
  const data = useAnswer<{ answer: Answer<Series>; range: Range; expr: string }>(
    `${expr} ${span} ${range.step} ${round}`,
    async (signal) => {
      const now = range.live ? live(range) : range;
      return { answer: await queryRange(expr, now, signal), range: now, expr };
    },
    range,
    fail,
  );
  const away = useAway(range);
  const wrong = data.error !== undefined && said(data.error);
  const unit = unitOf(expr);
  const names = useNames(undefined, ofNodes(data.value?.answer));
  const shown = useMemo(() => {
    if (!data.value) return undefined;
    const { answer, range } = data.value;
    const same = commonLabels(answer.result.map((s) => s.metric));
    const legend = (l: Series["metric"]) => seriesName(l, same, names);
    const lines = linesOf(answer.result, [{ expr, legend }], range);
    const maps = answer.result.filter((s) => s.histograms?.length);
    return {
      lines,
      cut: cut(lines),
      maps: maps
        .slice(0, mostMaps)
        .map((s) => ({ name: legend(s.metric), grid: gridOf(s, range) })),
      histograms: maps.length,
      series: answer.result.length,
      step: range.step,
    };
  }, [data.value, names]);
  if (wrong) return null;
  return (
    <div class="query-result" data-result="graph">
      <Faces data={data} what="the graph" />
      {shown && (
        <div class={data.error ? "old" : undefined}>
          <div class="result-head">
            <span class="dim">
              {shown.series} series, a point each {stepName(shown.step)}
            </span>
            <span class="chart-tools">
              <Warnings list={data.value?.answer.warnings ?? []} />
              {shown.lines.names.length > 0 && (
                <button
                  type="button"
                  class="plain"
                  aria-label="The graph as CSV"
                  title="As CSV"
                  onClick={() => download("explore.csv", "text/csv", csvOf(shown.lines))}
                >
                  ⤓
                </button>
              )}
            </span>
          </div>
          {shown.series === 0 && <Nothing expr={data.value!.expr} when=" in this time" use={use} />}
          {shown.cut.names.length > 0 && (
            <>
              <Plot title={expr} lines={shown.cut} unit={unit} marks={away} height={260} />
              {shown.lines.names.length > mostLines && (
                <p class="dim">
                  {mostLines} of {shown.lines.names.length} lines, those with the highest values.
                  The table and the CSV have all.
                </p>
              )}
            </>
          )}
          {shown.maps.map((m) => (
            <figure class="chart" key={m.name} data-title={m.name}>
              <HeatMap
                title={m.name === "{}" ? "Histogram" : m.name}
                unit={unit === "per_second" ? "count" : unit}
                grid={m.grid}
                step={shown.step}
              />
            </figure>
          ))}
          {shown.histograms > mostMaps && (
            <p class="dim">
              {mostMaps} of {shown.histograms} histograms. The table has all.
            </p>
          )}
        </div>
      )}
    </div>
  );
}

interface Row {
  id: string;
  name: string;
  text: string | undefined; // the value as it came
  histogram: Histogram | undefined;
}

/** An expression at the end of the range. */
export function TableOf({ expr, range, round, fail, use }: Asked) {
  const time = range.live ? undefined : range.to;
  const data = useAnswer<Answer<Sample>>(
    `${expr} ${time ?? "now"} ${round}`,
    (signal) => query(expr, signal, time),
    range,
    fail,
  );
  const names = useNames(undefined, ofNodes(data.value));
  const rows = useMemo(() => {
    return (data.value?.result ?? []).map((s: Sample & Series): Row => {
      const id = seriesName(s.metric);
      return {
        id,
        name: seriesName(s.metric, undefined, names),
        // A range vector has many values; the newest stands for them.
        text: s.value?.[1] ?? s.values?.at(-1)?.[1],
        histogram: s.histogram?.[1] ?? s.histograms?.at(-1)?.[1],
      };
    });
  }, [data.value, names]);
  if (data.error && said(data.error)) return null;
  const unit = unitOf(expr);
  const columns = columnsOf(
    unit,
    rows.some((r) => r.text !== undefined),
    rows.some((r) => r.histogram),
  );
  return (
    <div class="query-result" data-result="table">
      <Faces data={data} what="the table" />
      {data.value && (
        <div class={data.error ? "old" : undefined}>
          <div class="result-head">
            <span class="dim">
              {rows.length} series, {range.live ? "now" : "at the end of the time"}
            </span>
            <span class="chart-tools">
              <Warnings list={data.value.warnings} />
            </span>
          </div>
          {rows.length === 0 ? (
            <Nothing expr={expr} when="" use={use} />
          ) : (
            <Table
              name={`Values of ${expr}`}
              columns={columns}
              rows={rows}
              id={(r) => r.id}
              height={400}
            />
          )}
        </div>
      )}
    </div>
  );
}

function columnsOf(unit: string, values: boolean, histograms: boolean): Column<Row>[] {
  const list: Column<Row>[] = [
    {
      id: "series",
      title: "series",
      width: 4,
      order: (r) => r.name,
      cell: (r) => (
        <span class="mono" title={r.id}>
          {r.name}
        </span>
      ),
    },
  ];
  if (values) {
    list.push({
      id: "value",
      title: "value",
      number: true,
      order: (r) => number(r.text),
      cell: (r) => {
        const v = number(r.text);
        const text = Number.isNaN(v) ? (r.text ?? "–") : format(v, unit);
        return <span title={r.text}>{text}</span>;
      },
    });
  }
  if (!histograms) return list;
  const of = unit === "per_second" ? "count" : unit;
  const quantile = (part: number, wide: boolean): Column<Row> => ({
    id: `p${100 * part}`,
    title: `p${100 * part}`,
    number: true,
    wide,
    order: (r) => (r.histogram ? quantileOf(r.histogram, part) : Number.NaN),
    cell: (r) => (r.histogram ? format(quantileOf(r.histogram, part), of) : "–"),
  });
  list.push(
    {
      id: "count",
      title: "count",
      number: true,
      order: (r) => number(r.histogram?.count),
      cell: (r) => (
        <span title={r.histogram?.count}>{format(number(r.histogram?.count), "count")}</span>
      ),
    },
    quantile(0.5, false),
    quantile(0.9, true),
    quantile(0.99, false),
  );
  return list;
}
