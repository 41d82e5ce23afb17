// How the reading of nodes goes that are read from outside: whether they answer, how long that
// takes, and what they or whoever reads them say of what failed.
import { type Node, query } from "./api";
import { type Data, useData } from "./data";
import type { Fact } from "./head";
import type { Finding } from "./hurts";
import { nameOf, silent } from "./kinds";
import { format, number } from "./units";

/** What is known of the last reading of a node; NaN where nothing is. */
export interface Read {
  up: number;
  took: number; // seconds
  samples: number;
  errors: string[]; // sentences
}

const names = "up|scrape_duration_seconds|scrape_samples_scraped|ringwatch_target_error_info";

/** The readings of the nodes that the matchers mean, by node. Of a node with an agent there is
 *  none; null asks for nothing. */
export function useReads(matchers: string | null): Data<Map<string, Read>> {
  const expr = `{__name__=~"${names}",job!="",${matchers}}`;
  return useData(
    matchers && `reads ${matchers}`,
    async (signal) => {
      const map = new Map<string, Read>();
      for (const { metric, value } of (await query(expr, signal)).result) {
        const { node = "", __name__, error } = metric;
        let read = map.get(node);
        if (!read) {
          read = { up: Number.NaN, took: Number.NaN, samples: Number.NaN, errors: [] };
          map.set(node, read);
        }
        const v = number(value?.[1]);
        if (__name__ === "up") read.up = v;
        else if (__name__ === "scrape_duration_seconds") read.took = v;
        else if (__name__ === "scrape_samples_scraped") read.samples = v;
        else if (error) read.errors.push(error);
      }
      return map;
    },
    { keep: true },
  );
}

/** Nodes that do not answer, or not whole, with the sentences of why. */
export function readFindings(reads: Map<string, Read> | undefined, nodes: Node[]): Finding[] {
  return nodes.flatMap((node): Finding[] => {
    const read = reads?.get(node.id);
    if (!read || silent(node) || (read.up !== 0 && read.errors.length === 0)) return [];
    const text = read.errors.join(" ") || "No reason is known.";
    return read.up === 0
      ? [{ severity: "critical", name: `${nameOf(node)} does not answer`, text }]
      : [{ severity: "warning", name: `${nameOf(node)} is not read whole`, text }];
  });
}

/** What is said of the last reading. */
export function readFacts(node: Node, read: Read | undefined): Fact[] {
  const { job = "", instance = "" } = node.facts;
  const known = (v: number | undefined) => v !== undefined && !Number.isNaN(v);
  return [
    ["Job", job],
    ["Instance", instance],
    ["Answers", known(read?.up) ? (read!.up === 0 ? "no" : "yes") : ""],
    ["Read in", known(read?.took) ? format(read!.took, "seconds") : ""],
    ["Samples", known(read?.samples) ? format(read!.samples) : ""],
  ];
}
