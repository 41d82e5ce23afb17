// What hurts now: alerts and findings in words, the worst first.
import type { ComponentChildren } from "preact";
import type { Alert, Labels } from "./api";
import { useNow } from "./data";
import { Severity } from "./faces";
import { link } from "./place";
import { called, secondsAt, soon } from "./quiet";
import { QuietMark } from "./quiet-notes";
import { type Hush, useQuiet } from "./silences";
import { utc } from "./time";
import { length } from "./units";

/** Something that is wrong, found by a page. */
export interface Finding {
  severity: "critical" | "warning" | "info";
  name: string;
  text: ComponentChildren;
}

const ranks: Record<string, number> = { critical: 0, warning: 1, info: 2 };
const mostShown = 8;

interface Line {
  rank: number;
  severity: string;
  name: string;
  href?: string;
  text: ComponentChildren;
  since?: number;
  pending?: boolean;
  quiet?: string; // why nobody is told
}

/** Alerts of one name are one line, which the worst of them gives. */
function lineOf(list: Alert[], names: ReadonlyMap<string, string>, hush?: Hush): Line {
  const rank = (x: Alert) => ranks[x.labels.severity ?? ""] ?? 3;
  const a = list.reduce((worst, x) => (rank(x) < rank(worst) ? x : worst));
  const pending = a.state === "pending";
  const severity = a.labels.severity ?? "none";
  const nodes = new Set(list.map((x) => x.labels.node).filter(Boolean));
  return {
    rank: rank(a) + (pending ? 4 : 0) + (hush ? 8 : 0),
    severity,
    name: a.labels.alertname ?? "",
    href: link(["alerts"]),
    text: nodes.size > 1 ? `${nodes.size} nodes: ${said(a, names)}` : said(a, names),
    since: Math.min(...list.map((x) => Date.parse(x.activeAt))),
    pending,
    ...(hush && { quiet: shortly(hush, a.labels, names) }),
  };
}

/** Why an alert is quiet, in few words. */
function shortly(of: Hush, labels: Labels, names: ReadonlyMap<string, string>): string {
  const ends = of.silences.map((s) => secondsAt(s.endsAt));
  if (ends.length > 0) return `quiet until ${soon(Math.max(...ends), Date.now() / 1000, utc())}`;
  const by = of.alerts[0];
  return by ? `quiet: ${called(by, labels, names)} says it` : "quiet";
}

/** The alert's own words. A node's id is its name to people. */
function said(a: Alert, names: ReadonlyMap<string, string>): string {
  const summary = a.annotations.summary ?? "";
  const id = a.labels.node;
  return id ? summary.replaceAll(id, () => names.get(id) ?? id) : summary;
}

/** The list, or that all is well. */
export function Hurts({
  alerts,
  findings,
  names,
  well,
}: {
  alerts: Alert[];
  findings: Finding[];
  names: ReadonlyMap<string, string>;
  well: string;
}) {
  const now = useNow(10_000);
  const quiet = useQuiet().value;
  const hushOf = (a: Alert) => (a.state === "firing" ? quiet?.of(a.labels) : undefined);
  const groups = new Map<string, Alert[]>();
  for (const a of alerts) {
    const key = `${a.state} ${a.labels.alertname} ${hushOf(a) ? "quiet" : ""}`;
    groups.set(key, [...(groups.get(key) ?? []), a]);
  }
  const lines: Line[] = [
    ...findings.map((f) => ({ ...f, rank: ranks[f.severity]! + 0.5 })),
    ...[...groups.values()].map((list) => lineOf(list, names, hushOf(list[0]!))),
  ].sort((a, b) => a.rank - b.rank);
  return (
    <section class="panel hurts" aria-label="What hurts now">
      <h2>What hurts now</h2>
      {lines.length === 0 ? (
        <p class="well">
          <span aria-hidden="true">✓</span> {well}
        </p>
      ) : (
        <ul>
          {lines.slice(0, mostShown).map((l) => (
            <li
              key={`${l.name}${l.severity}${l.pending}${l.quiet && "quiet"}`}
              class={l.pending || l.quiet ? "dim" : undefined}
            >
              <Severity name={l.severity} />
              {l.href ? <a href={l.href}>{l.name}</a> : <strong>{l.name}</strong>}
              <span class="hurts-text">{l.text}</span>
              {l.quiet && <QuietMark>{l.quiet}</QuietMark>}
              {l.since !== undefined && (
                <span class="dim">
                  {l.pending ? "pending " : ""}for {length((now - l.since) / 1000)}
                </span>
              )}
            </li>
          ))}
          {lines.length > mostShown && (
            <li class="dim">
              {lines.length - mostShown} more under <a href={link(["alerts"])}>Alerts</a>
            </li>
          )}
        </ul>
      )}
    </section>
  );
}
