// Tables that sort, and that stay smooth with ten thousand rows: only those in sight exist.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

/** A column of rows of T. */
export interface Column<T> {
  id: string;
  title: string;
  /** What its values are of, on pointing at the head. */
  hint?: string;
  /** What the cell shows. */
  cell: (row: T) => ComponentChildren;
  /** What it is sorted by; without it, it is not sorted by this column. */
  order?: (row: T) => number | string;
  number?: boolean;
  /** How wide it is, in parts of the whole; 1 if left out. */
  width?: number;
  /** Left out on narrow screens. */
  wide?: boolean;
}

// What the style sheet says of .table-row, on phones and elsewhere.
const phone = matchMedia("(max-width: 600px)");
const heights = { usual: [32, 52], tall: [52, 100] } as const;

/** The height of a row, which has more lines on a phone. */
function useRowHeight(tall: boolean): number {
  const [small, setSmall] = useState(phone.matches);
  useEffect(() => {
    const tell = () => setSmall(phone.matches);
    tell(); // it may have changed before this listens
    phone.addEventListener("change", tell);
    return () => phone.removeEventListener("change", tell);
  }, []);
  return heights[tall ? "tall" : "usual"][small ? 1 : 0];
}

/**
 * A table. The rows that come are in the order of their worth; a click on a head sorts by that
 * column, first the most, then the least, then as they came. A row may lead somewhere. On a phone
 * the first column, a name, has a line of its own, and the others share the next.
 */
export function Table<T>({
  name,
  columns,
  rows,
  id,
  href,
  more,
  height = 560,
  bad,
  tall = false,
}: {
  name: string;
  columns: Column<T>[];
  rows: T[];
  id: (row: T) => string;
  href?: (row: T) => string;
  /** What a row has more, below it, once its first cell is pressed. All rows are drawn then. */
  more?: (row: T) => ComponentChildren;
  height?: number;
  bad?: (row: T) => boolean;
  /** The first cell has two lines; three on a phone. */
  tall?: boolean;
}) {
  const [sort, setSort] = useState<{ id: string; falling: boolean } | null>(null);
  const [top, setTop] = useState(0);
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
  const box = useRef<HTMLDivElement>(null);
  const rowHeight = useRowHeight(tall);
  const list = useMemo(() => sorted(rows, columns, sort), [rows, columns, sort]);
  const shown = Math.min(height, list.length * rowHeight + 2);
  const first = more ? 0 : Math.max(0, Math.floor(top / rowHeight) - 8);
  const last = more ? list.length : Math.min(list.length, Math.ceil((top + shown) / rowHeight) + 8);
  const narrow = columns.filter((c) => !c.wide);
  useEffect(() => {
    const element = box.current;
    if (element && element.scrollTop > list.length * rowHeight) element.scrollTop = 0;
  }, [list.length, rowHeight]);
  const press = (c: Column<T>) => {
    if (!c.order) return;
    setSort((s) =>
      s?.id !== c.id
        ? { id: c.id, falling: true }
        : s.falling
          ? { id: c.id, falling: false }
          : null,
    );
  };
  const unfold = (row: string) => {
    const next = new Set(unfolded);
    if (!next.delete(row)) next.add(row);
    setUnfolded(next);
  };
  return (
    <div
      class={tall ? "table tall" : "table"}
      role="table"
      aria-label={name}
      aria-rowcount={list.length + 1}
      style={{
        "--grid": tracks(columns),
        "--grid-narrow": tracks(narrow),
        "--grid-phone": tracks(narrow.slice(1)),
      }}
    >
      <div role="rowgroup">
        <div class="table-head" role="row" aria-rowindex={1}>
          {columns.map((c) => (
            <span
              role="columnheader"
              key={c.id}
              class={classes(c)}
              title={c.hint}
              aria-sort={sort?.id === c.id ? (sort.falling ? "descending" : "ascending") : "none"}
            >
              {c.order ? (
                <button type="button" class="plain" onClick={() => press(c)}>
                  {c.title}
                  <span aria-hidden="true">
                    {sort?.id === c.id ? (sort.falling ? " ↓" : " ↑") : ""}
                  </span>
                </button>
              ) : (
                c.title
              )}
            </span>
          ))}
        </div>
      </div>
      <div
        class="table-body"
        role="rowgroup"
        tabIndex={href || more ? -1 : 0}
        ref={box}
        style={more ? { maxHeight: `${height}px` } : { height: `${shown}px` }}
        onScroll={(e) => setTop(e.currentTarget.scrollTop)}
      >
        <div style={{ height: `${first * rowHeight}px` }} role="presentation" />
        {list.slice(first, last).map((row, i) => {
          const key = id(row);
          const open = unfolded.has(key);
          const line = (
            <div
              class={bad?.(row) ? "table-row bad" : "table-row"}
              role="row"
              aria-rowindex={first + i + 2}
              key={key}
            >
              {columns.map((c, j) => (
                <span role="cell" key={c.id} class={classes(c)}>
                  {j === 0 && href ? (
                    <a href={href(row)} class="row-link">
                      {c.cell(row)}
                    </a>
                  ) : j === 0 && more ? (
                    <button
                      type="button"
                      class="plain row-link"
                      aria-expanded={open}
                      onClick={() => unfold(key)}
                    >
                      <span aria-hidden="true">{open ? "▾" : "▸"}</span> {c.cell(row)}
                    </button>
                  ) : (
                    c.cell(row)
                  )}
                </span>
              ))}
            </div>
          );
          if (!more || !open) return line;
          return [
            line,
            <div class="table-more" role="row" key={`${key} more`}>
              <div role="cell">{more(row)}</div>
            </div>,
          ];
        })}
        <div style={{ height: `${(list.length - last) * rowHeight}px` }} role="presentation" />
      </div>
    </div>
  );
}

/** The widths of columns, as a grid has them. */
function tracks<T>(columns: Column<T>[]): string {
  return columns.map((c) => `minmax(0, ${c.width ?? 1}fr)`).join(" ") || "none";
}

function classes<T>(c: Column<T>): string {
  return `${c.number ? "number" : ""}${c.wide ? " wide" : ""}`;
}

function sorted<T>(
  rows: T[],
  columns: Column<T>[],
  sort: { id: string; falling: boolean } | null,
): T[] {
  const order = columns.find((c) => c.id === sort?.id)?.order;
  if (!order || !sort) return rows;
  const sign = sort.falling ? -1 : 1;
  return rows
    .map((row) => [order(row), row] as const)
    .sort(([a], [b]) => {
      const noA = typeof a === "number" && Number.isNaN(a);
      const noB = typeof b === "number" && Number.isNaN(b);
      if (noA || noB) return Number(noA) - Number(noB); // what has no value comes last
      if (typeof a === "string" && typeof b === "string") {
        return -sign * a.localeCompare(b, "en", { numeric: true }); // names rise first
      }
      return sign * (Number(a) - Number(b));
    })
    .map(([, row]) => row);
}
