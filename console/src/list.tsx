// A panel with a table: its heading, its filter, and what stands there without rows.
import type { ComponentChildren } from "preact";
import type { Data } from "./data";
import { Empty, Shown } from "./faces";
import { Filter } from "./filter";
import { Table } from "./table";
import { format } from "./units";

/** The rows come in the order of their worth; the table is called as its heading. */
export function List<T>({
  title,
  what,
  none,
  data,
  rows,
  shown = rows,
  count = rows.length,
  filter,
  note,
  lacks,
  tools,
  bones = 6,
  height = 400,
  ...table
}: {
  title: string;
  /** What is loaded, in words. */
  what?: string;
  /** Stands there if there are no rows at all. */
  none?: ComponentChildren;
  /** What the rows were made of; left out if they are known. */
  data?: Data<unknown>;
  rows: T[];
  /** Those of them that are wanted. */
  shown?: T[];
  /** How many there are, if these are the first ones. */
  count?: number;
  /** The field with what is wanted: its name and its hint. Another list may follow it. */
  filter?: readonly [name: string, hint: string];
  note?: ComponentChildren;
  /** Stands above the table. */
  lacks?: ComponentChildren;
  tools?: ComponentChildren;
  bones?: number;
} & Omit<Parameters<typeof Table<T>>[0], "name" | "rows">) {
  const content = () =>
    rows.length === 0 ? (
      <Empty>{none}</Empty>
    ) : shown.length === 0 ? (
      <Empty>None is like that.</Empty>
    ) : (
      <>
        <Table name={title} rows={shown} height={height} {...table} />
        {count > rows.length && (
          <p class="dim">
            The first {format(rows.length)} of {format(count)}. Explore has the others.
          </p>
        )}
      </>
    );
  return (
    <section class="panel" aria-label={title}>
      <div class="panel-head">
        <h2>{title}</h2>
        {tools}
        {note && <span class="dim">{note}</span>}
        {filter && (
          <Filter name={filter[0]} hint={filter[1]} shown={shown.length} all={rows.length} />
        )}
      </div>
      {lacks}
      {data ? (
        <Shown data={data} rows={bones} {...(what && { what })}>
          {content}
        </Shown>
      ) : (
        content()
      )}
    </section>
  );
}
