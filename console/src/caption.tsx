// What stands above every picture of values: its name, its step, and the ways to its values.
import { Warnings } from "./faces";
import { csvOf, download, type Lines } from "./lines";
import { link } from "./place";
import { stepText, stepTitle } from "./time";

/** The caption of a chart or a heat map. Lines are what its table and its CSV have. */
export function Caption({
  title,
  note,
  warnings,
  step,
  over,
  each = "point",
  lines,
  table,
  setTable,
  expr,
}: {
  title: string;
  note?: string | undefined;
  warnings: string[];
  step: number;
  /** Over how many seconds each value is. */
  over: number | undefined;
  /** What there is one of each step. */
  each?: string;
  /** None while nothing is known; without names there is nothing to save. */
  lines: (() => Lines) | undefined;
  table: boolean;
  setTable: (yes: boolean) => void;
  /** What Explore shows of it. */
  expr?: string | undefined;
}) {
  return (
    <figcaption>
      <h3>{title}</h3>
      {note && <span class="dim">{note}</span>}
      <span class="chart-tools">
        <Warnings list={warnings} />
        <span class="dim" title={stepTitle(each, step, over)}>
          {stepText(step, over)}
        </span>
        <button
          type="button"
          class="plain"
          aria-pressed={table}
          aria-label={`${title} as a table`}
          title="As a table"
          onClick={() => setTable(!table)}
        >
          ▤
        </button>
        <button
          type="button"
          class="plain"
          aria-label={`${title} as CSV`}
          title="As CSV"
          disabled={!lines}
          onClick={() => lines && download(`${title}.csv`, "text/csv", csvOf(lines()))}
        >
          ⤓
        </button>
        {expr && (
          <a
            class="plain"
            aria-label={`${title} in Explore`}
            title="In Explore"
            href={link(["explore"], { expr })}
          >
            ↗
          </a>
        )}
      </span>
    </figcaption>
  );
}
