// What the search of the head finds: clusters, nodes, tables and metrics, by parts of their names.
import type { Cluster, Node, Sample } from "./api";
import { nameOf } from "./kinds";
import { found, type Metric, plotOf } from "./metrics";
import { literal, quote } from "./units";

/** Something that was found, and where it is shown. */
export interface Hit {
  path: string[];
  params: Record<string, string | null>;
  name: string;
  what: string;
}

/** What is searched. What has not come yet is left out. */
export interface Known {
  clusters?: Cluster[] | undefined;
  nodes?: Node[] | undefined;
  tables?: Sample[] | undefined;
  metrics?: Metric[] | undefined;
}

/** How many of each kind are shown. */
const most = 6;

/** How many letters tables are asked for with: fewer mean nearly all of them. */
const leastLetters = 2;

/** The question for tables whose names have a part: of the table, or KEYSPACE.TABLE. null: none. */
export function tablesLike(text: string): string | null {
  const want = text.trim();
  if (want.length < leastLetters || /\s/.test(want)) return null;
  const like = (name: string, part: string) => `${name}=~${quote(`(?i)${part}`)}`;
  const dot = want.indexOf(".");
  const of =
    dot < 0
      ? like("table", `.*${literal(want)}.*`)
      : `${like("keyspace", `.*${literal(want.slice(0, dot))}`)},` +
        like("table", `${literal(want.slice(dot + 1))}.*`);
  const there = `count by (cluster, keyspace, table) (cassandra_table_live_sstables{${of}})`;
  return `topk(${most}, ${there})`;
}

/** What there is of a name, the nearest kind of thing first. */
export function hitsOf(text: string, { clusters, nodes, tables, metrics }: Known): Hit[] {
  const want = text.trim().toLowerCase();
  if (!want) return [];
  const has = (...names: string[]) => names.join(" ").toLowerCase().includes(want);
  const hit = (path: string[], name: string, what: string, params: Hit["params"] = {}): Hit => ({
    ...{ path, name, what, params },
  });
  return [
    ...(clusters ?? [])
      .filter((c) => has(c.cluster))
      .slice(0, most)
      .map((c) => hit(["cluster", c.cluster], c.cluster, "cluster")),
    ...(nodes ?? [])
      .filter((n) => has(nameOf(n), n.id, n.datacenter, n.rack))
      .slice(0, most)
      .map((n) => hit(["node", n.id], nameOf(n), `node of ${n.cluster}`)),
    ...(tables ?? [])
      .map(({ metric: { cluster = "", keyspace = "", table = "" } }) => ({
        ...{ cluster, keyspace, table, name: `${keyspace}.${table}` },
      }))
      // While the answer to the next letters is under way, those of the last ones are there.
      .filter((t) => has(t.name))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map((t) => hit(["tables", t.cluster, t.keyspace, t.table], t.name, `table of ${t.cluster}`)),
    ...found(
      (metrics ?? []).filter((m) => has(m.name) || want.includes(" ")),
      want,
    )
      .slice(0, most)
      .map((m) => hit(["explore"], m.name, "metric", { expr: plotOf(m) })),
  ];
}
