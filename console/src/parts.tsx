// What lists of activity are made of: whose it is, how long ago, how far.
import type { ComponentChildren } from "preact";
import { type Lacking, type Of, when } from "./activity";
import { clusters, nodes } from "./api";
import { useData } from "./data";
import { sentence } from "./faces";
import { Choice } from "./filter";
import { hasCassandra, nameOf } from "./kinds";
import { link, usePlace } from "./place";
import { stamp, useUTC } from "./time";
import { format, length } from "./units";

/** Whose activity the address names. */
export function useOf(): Of {
  const { params } = usePlace();
  return { cluster: params.get("cluster") ?? "", node: params.get("node") ?? "" };
}

const order = new Intl.Collator("en", { numeric: true }).compare;

/** Chooses a cluster, and a node of it. */
export function Whose({ of, ofNodes = true }: { of: Of; ofNodes?: boolean }) {
  const { cluster = "", node = "" } = of;
  const all = useData("clusters", clusters, { every: 60_000, keep: true });
  const known = useData(
    cluster && ofNodes ? `nodes ${cluster}` : null,
    (s) => nodes({ cluster }, s),
    {
      every: 60_000,
    },
  );
  const list = (known.value ?? [])
    .map((n): [string, string] => [n.id, nameOf(n)])
    .sort((a, b) => order(a[1], b[1]));
  return (
    <>
      <Choice
        name="cluster"
        value={cluster}
        list={(all.value ?? []).filter(hasCassandra).map((c) => c.cluster)}
      />
      {ofNodes && (cluster || node) && <Choice name="node" value={node} list={list} />}
    </>
  );
}

/** The ways from a cluster or a node to what it does. */
export function Ways({ of, children }: { of: Of; children?: ComponentChildren }) {
  const params = (view: string | null) => ({
    view,
    cluster: of.cluster || null,
    node: of.node || null,
  });
  return (
    <nav class="ways head-link" aria-label="What it does">
      {children}
      <a href={link(["events"], params(null))}>Events</a>
      {!of.node && <a href={link(["activity"], params("repairs"))}>Repairs</a>}
      <a href={link(["activity"], params("clients"))}>Clients</a>
      <a href={link(["activity"], params("queries"))}>Slow queries</a>
    </nav>
  );
}

/** A node by its name. */
export function NodeLink({ node, name }: { node: string; name: string }) {
  return (
    <a href={link(["node", node])} title={name || node}>
      <bdi>{name || node}</bdi>
    </a>
  );
}

/** A keyspace and its table. */
export const tableName = ({ keyspace, table }: { keyspace?: string; table?: string }) =>
  [keyspace, table].filter(Boolean).join(".");

/** How long ago a time was, or how long it is until then; all of it on pointing. */
export function Ago({ at, none = "–" }: { at: string | undefined; none?: string }) {
  const isUTC = useUTC();
  const secs = when(at);
  if (Number.isNaN(secs)) return <span class="dim">{none}</span>;
  const exact = Date.now() / 1000 - secs;
  const past = Math.abs(exact) < 120 ? exact : Math.round(exact / 60) * 60;
  const text = past >= 0 ? `${length(past)} ago` : `in ${length(past)}`;
  return <time title={stamp(secs, isUTC)}>{text}</time>;
}

/** How far something is. */
export function Bar({ ratio, name }: { ratio: number | undefined; name: string }) {
  if (ratio === undefined) return <span class="dim">unknown</span>;
  return (
    <span class="bar">
      <progress max={1} value={Math.max(0, Math.min(1, ratio))} aria-label={name} />
      <span class="number">{format(ratio, "ratio")}</span>
    </span>
  );
}

/** What an answer lacks, in sentences. */
export function Lacks({ of, what }: { of: Partial<Lacking> | undefined; what: string }) {
  const { left_out = 0, partial = [] } = of ?? {};
  const list = [
    ...partial.map(sentence),
    ...(left_out > 0 ? [`${format(left_out)} more ${what} are not in this list.`] : []),
  ];
  if (list.length === 0) return null;
  return <p class="old-note">{list.join(" ")}</p>;
}
