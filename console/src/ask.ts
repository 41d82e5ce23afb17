// What the catalogue's entries are in PromQL, and what is asked from it.
import { type CatalogEntry, type CatalogGroup, type CatalogValue, catalog } from "./api";
import { type Data, useData } from "./data";
import { quote } from "./units";

/** Whose values are asked for; what is left out is not asked for. */
export interface Scope {
  cluster?: string;
  datacenter?: string;
  rack?: string;
  node?: string;
  keyspace?: string;
  table?: string;
}

/** A scope as it stands between the braces of a selector. */
export function matchers(scope: Scope): string {
  const list = Object.entries(scope)
    .filter(([, value]) => value)
    .map(([name, value]) => `${name}=${quote(value)}`);
  return list.join(",") || 'node!=""';
}

/** The PromQL of a catalogue's value: a number for each combination of the labels in by. */
export function expression(v: CatalogValue, scope: Scope, by: string[], seconds: number): string {
  // The scope comes last and as it is: names may have any characters, also a $.
  return v.promql
    .replaceAll("$by", by.join(", "))
    .replaceAll("$range", `${seconds}s`)
    .replaceAll("$scope", () => matchers(scope));
}

/** Several expressions as one, so that a chart asks once. Label q of each series is its place. */
export function together(exprs: string[]): string {
  if (exprs.length === 1) return exprs[0]!;
  return exprs.map((e, i) => `label_replace(${e}, "q", "${i}", "", "")`).join(" or ");
}

/** The catalogue, once a minute, from when it is wanted. */
export function useCatalog(wanted = true): Data<CatalogGroup[]> {
  return useData(wanted ? "catalog" : null, catalog, { every: 60_000, keep: true });
}

/** The entry of a name such as n::cpuUtilization. */
export function entryOf(
  groups: CatalogGroup[] | undefined,
  name: string,
): CatalogEntry | undefined {
  for (const g of groups ?? []) {
    for (const e of g.entries) if (e.name === name) return e;
  }
  return undefined;
}

/** How people call an entry: n::cpuUtilization is CPU utilization. */
export function titleOf(entry: CatalogEntry): string {
  const name = entry.name.slice(entry.name.lastIndexOf("::") + 2);
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase();
  const text = words
    .replace(/\bcpu\b/g, "CPU")
    .replace(/\bos\b/g, "OS")
    .replace(/\bgc\b/g, "GC")
    .replace(/\bjvm\b/g, "JVM")
    .replace(/\bsstables?\b/g, (m) => (m.endsWith("s") ? "SSTables" : "SSTable"));
  return text[0]!.toUpperCase() + text.slice(1);
}

/** The range where a value is healthy, in words; empty if nobody can say. */
export function broken(v: number, healthy: CatalogValue["healthy"]): boolean {
  if (!healthy || Number.isNaN(v)) return false;
  return (
    (healthy.min !== undefined && v < healthy.min) || (healthy.max !== undefined && v > healthy.max)
  );
}
