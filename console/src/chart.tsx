// Charts of PromQL, with their tables: one library, one cursor and one zoom for all of a page.
import { useMemo, useState } from "preact/hooks";
import { together } from "./ask";
import { Caption } from "./caption";
import { useSeries } from "./data";
import { Failed, Old } from "./faces";
import { type Ask, cut, type Lines, linesOf, mostLines } from "./lines";
import { type Mark, markSigns } from "./marks";
import { Plot } from "./plot";
import { overOf, type Range, stamp } from "./time";
import { format } from "./units";

/** A chart of PromQL over the page's range, with its table and its CSV. */
export function Chart({
  title,
  unit,
  asks,
  range,
  marks = [],
  threshold,
  height = 180,
  note,
  paused = false,
}: {
  title: string;
  unit: string;
  asks: Ask[];
  range: Range;
  marks?: Mark[];
  threshold?: number;
  height?: number;
  note?: string;
  /** It is out of sight: nothing is asked. */
  paused?: boolean;
}) {
  const expr = together(asks.map((a) => a.expr));
  const data = useSeries(paused ? null : expr, range);
  // Names of nodes may come after the values.
  const names = JSON.stringify(
    data.value?.answer.result.map((s) =>
      asks[Number(asks.length > 1 && s.metric.q) || 0]?.legend(s.metric),
    ),
  );
  const lines = useMemo(
    () => data.value && linesOf(data.value.answer.result, asks, data.value.range),
    [data.value, names],
  );
  const [table, setTable] = useState(false);
  const shown = lines && cut(lines);
  return (
    <figure class="chart" data-title={title}>
      <Caption
        title={title}
        note={note}
        warnings={data.value?.answer.warnings ?? []}
        step={range.step}
        over={overOf(expr)}
        lines={lines?.names.length ? () => lines : undefined}
        table={table}
        setTable={setTable}
        expr={asks.length === 1 ? expr : asks[0]!.expr}
      />
      {data.error && data.value && <Old data={data} />}
      {!shown && data.error && <Failed error={data.error} compact />}
      {!shown && !data.error && (
        <div
          class={paused ? "bone later" : "bone"}
          style={{ height: `${height}px` }}
          role="status"
          aria-label={`Loading ${title}`}
        />
      )}
      {shown && shown.names.length === 0 && (
        <div class="face quiet compact" style={{ height: `${height}px` }}>
          Nothing was measured in this time.
        </div>
      )}
      {shown && shown.names.length > 0 && (
        <div class={data.error ? "old" : undefined}>
          {table ? (
            <ValueTable lines={shown} unit={unit} />
          ) : (
            <Plot
              title={title}
              lines={shown}
              unit={unit}
              marks={marks}
              height={height}
              {...(threshold !== undefined && { threshold })}
            />
          )}
          {lines.names.length > mostLines && (
            <p class="dim">
              {mostLines} of {lines.names.length} lines, those with the highest values.
            </p>
          )}
        </div>
      )}
    </figure>
  );
}

/** The values behind a chart, the newest first. */
export function ValueTable({ lines, unit }: { lines: Lines; unit: string }) {
  const rows = lines.at.map((_, i) => lines.at.length - 1 - i);
  return (
    <section class="values" tabIndex={0} aria-label="Values">
      <table>
        <thead>
          <tr>
            <th scope="col">time</th>
            {lines.names.map((n) => (
              <th scope="col" class="number" key={n}>
                {n}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((i) => (
            <tr key={lines.at[i]}>
              <th scope="row">{stamp(lines.at[i]!)}</th>
              {lines.values.map((v, j) => (
                <td class="number" key={lines.names[j]}>
                  {format(v[i], unit)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** The marks of a page, in words, below its charts. */
export function MarkList({ marks }: { marks: Mark[] }) {
  if (marks.length === 0) return null;
  return (
    <details class="marks">
      <summary>
        {marks.length} {marks.length === 1 ? "mark" : "marks"} in this time
      </summary>
      <ul>
        {marks.map((m) => (
          <li key={`${m.at}${m.text}`}>
            <span class={`mark ${m.kind}`} aria-hidden="true">
              {markSigns[m.kind]}
            </span>{" "}
            {stamp(m.at)} {m.text}
          </li>
        ))}
      </ul>
    </details>
  );
}
