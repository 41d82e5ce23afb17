// The figures of tables as columns, for tables side by side and for the nodes of one.
import { type Sample } from "./api";
import { type Column } from "./table";
import { type Figure, figures } from "./tables";
import { format, number } from "./units";

/** Figures that narrow screens leave out, unless the list is in their order. */
export const leftOut = ["writep99", "tombstones", "perread", "partition", "size"];

/** What came of the figures, by the labels that tell rows apart. */
export function valuesBy(list: Sample[], labels: string[]): Map<string, number[]> {
  const map = new Map<string, number[]>();
  for (const s of list) {
    const id = labels.map((l) => s.metric[l] ?? "").join("\n");
    let values = map.get(id);
    if (!values) {
      values = figures.map(() => Number.NaN);
      map.set(id, values);
    }
    values[Number(s.metric.q ?? 0)] = number(s.value?.[1]);
  }
  return map;
}

/** The columns of figures, for rows of tables or of nodes. */
export function figureColumns<T extends { values: number[] }>(wide: string[]): Column<T>[] {
  return figures.map((f, i) => ({
    id: f.id,
    title: f.title,
    number: true,
    wide: wide.includes(f.id),
    order: (r) => r.values[i]!,
    cell: (r) => <Value figure={f} value={r.values[i]!} />,
  }));
}

function Value({ figure, value }: { figure: Figure; value: number }) {
  const high = figure.most !== undefined && value > figure.most;
  const text =
    figure.whole && value > 0 && value < 100
      ? value < 1
        ? "≤ 1"
        : `${Math.ceil(value)}`
      : format(value, figure.unit);
  return (
    <span
      class={high ? "bad-value" : value > 0 ? "" : "dim"}
      data-figure={figure.id}
      title={high ? `More than ${format(figure.most, figure.unit)}` : undefined}
    >
      {high && "! "}
      {text}
    </span>
  );
}
