// What is asked of a Kafka cluster, whoever reads it.
import type { Sample } from "./api";
import { number } from "./units";

/** How many rows a list has; more than that nobody looks at, and the worst come first. */
export const mostRows = 500;

/** More than that behind is marked, in seconds. */
export const longBehind = 300;

/** A value of several readers of one cluster, of which one may know more than another. */
export const max = (by: string, metric: string, scope: string) =>
  `max by (${by}) (${metric}{${scope}})`;
/** Several metrics of it. */
export const all = (by: string, metrics: string, scope: string) =>
  `max by (__name__, ${by}) ({__name__=~"kafka_(${metrics})",${scope}})`;

/** Values by what they are of and the metric's name, without kafka_. */
export function byName(list: Sample[], labels: string[]): Map<string, Record<string, number>> {
  const map = new Map<string, Record<string, number>>();
  for (const { metric, value } of list) {
    const id = JSON.stringify(labels.map((l) => metric[l] ?? ""));
    let of = map.get(id);
    if (!of) {
      of = {};
      map.set(id, of);
    }
    of[(metric.__name__ ?? "").replace(/^kafka_/, "")] = number(value?.[1]);
  }
  return map;
}

/** The list's samples of a place in the question. */
export const place = (list: Sample[], q: number) => list.filter((s) => s.metric.q === String(q));
