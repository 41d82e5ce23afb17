// What happened to nodes while charts ran: restarts, other schemas and versions, alerts.
import { useMemo } from "preact/hooks";
import { installation, queryRange, type Series } from "./api";
import { together } from "./ask";
import { awayIn, awayMarks } from "./away";
import { useData } from "./data";
import { colour } from "./theme";
import { live, type Range } from "./time";
import { number } from "./units";

/** An instant that all charts mark: a restart, another schema, an alert. Or a time: of maintenance,
 *  or in which nobody could have heard of a node. */
export interface Mark {
  at: number; // seconds
  until?: number; // seconds, of a time
  kind: "restart" | "schema" | "version" | "alert" | "away" | "maintenance";
  text: string;
}

const markColours = {
  restart: "--warn",
  schema: "--accent",
  version: "--accent",
  alert: "--bad",
  away: "--dim",
  maintenance: "--accent",
};
/** Their signs. */
export const markSigns = {
  restart: "↻",
  schema: "§",
  version: "v",
  alert: "▲",
  away: "▒",
  maintenance: "◌",
};

/** How dark a time is shaded. */
const shade = 0.18;

/** Shades a mark's time from one x to another one, within the chart. */
export function shadeMark(
  ctx: CanvasRenderingContext2D,
  { kind }: Mark,
  [from, to]: [from: number, to: number],
  box: { left: number; top: number; width: number; height: number },
): void {
  const left = Math.max(from, box.left);
  const right = Math.min(to, box.left + box.width);
  if (right <= left) return;
  ctx.save();
  ctx.globalAlpha = shade;
  ctx.fillStyle = colour(markColours[kind]);
  ctx.fillRect(left, box.top, Math.max(right - left, 1), box.height);
  ctx.restore();
}

/** Draws a mark at x from top to bottom: a dashed line with its sign. scale is of the canvas's
 *  pixels. */
export function mark(
  ctx: CanvasRenderingContext2D,
  { kind }: Mark,
  x: number,
  top: number,
  bottom: number,
  scale = 1,
): void {
  ctx.save();
  ctx.lineWidth = scale;
  ctx.setLineDash([4 * scale, 4 * scale]);
  ctx.font = `${11 * scale}px system-ui, sans-serif`;
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  ctx.strokeStyle = colour(markColours[kind]);
  ctx.fillStyle = ctx.strokeStyle;
  ctx.beginPath();
  ctx.moveTo(x, top);
  ctx.lineTo(x, bottom);
  ctx.stroke();
  ctx.fillText(markSigns[kind], x + 3 * scale, top + 10 * scale);
  ctx.restore();
}

/**
 * The marks of the nodes that the matchers mean, asked for once a minute. names are those of nodes,
 * by id.
 */
export function useMarks(
  matchers: string,
  range: Range,
  names: ReadonlyMap<string, string>,
): Mark[] {
  const span = range.live ? `last ${range.to - range.from}` : `${range.from} ${range.to}`;
  const data = useData(
    `marks ${matchers} ${span}`,
    async (signal) => {
      const now = range.live ? live(range) : range;
      // Few series come: starts only of nodes that started in this time, the rest by their texts.
      const expr = together([
        `jvm_start_time_seconds{${matchers}} >= ${now.from}`,
        `count by (value) (cassandra_node_schema_version_info{${matchers}})`,
        `count by (value) (cassandra_node_version_info{${matchers}})`,
        `max by (alertname, severity) (ALERTS{${matchers},alertstate="firing"})`,
      ]);
      const [answer, here] = await Promise.all([queryRange(expr, now, signal), installation()]);
      return { series: answer.result, range: now, away: awayIn(here.away, now) };
    },
    { every: 60_000, keep: true },
  );
  return useMemo(
    () =>
      data.value
        ? [
            ...awayMarks(data.value.away, data.value.range),
            ...marksOf(data.value.series, data.value.range, names),
          ]
        : [],
    [data.value, names],
  );
}

/** The times in which Ringwatch was away, of a page that has no nodes of its own. */
export function useAway(range: Range): Mark[] {
  const data = useData("away", installation, { every: 60_000, keep: true });
  return useMemo(() => {
    const now = range.live ? live(range) : range;
    return data.value ? awayMarks(awayIn(data.value.away, now), now) : [];
  }, [data.value, range]);
}

/** The marks that the series say, in the order of time. Those of a kind that are close are one. */
export function marksOf(list: Series[], range: Range, names: ReadonlyMap<string, string>): Mark[] {
  const of = (q: number) => list.filter((s) => s.metric.q === String(q));
  const found: Mark[] = [
    ...starts(of(0), range, names),
    ...changes(of(1), "schema", (v) => `schema ${v.slice(0, 8)}`),
    ...changes(of(2), "version", (v) => `Cassandra ${v}`),
    ...fires(of(3), range),
  ];
  return close(
    found.sort((a, b) => a.at - b.at),
    (range.to - range.from) / 100,
  );
}

function starts(list: Series[], range: Range, names: ReadonlyMap<string, string>): Mark[] {
  const marks: Mark[] = [];
  for (const { metric, values } of list) {
    const node = metric.node ?? "";
    for (const at of new Set((values ?? []).map(([, v]) => number(v)))) {
      if (at >= range.from && at <= range.to) {
        marks.push({ at, kind: "restart", text: `${names.get(node) ?? node} was started` });
      }
    }
  }
  return marks;
}

/** Texts that first came after another one had been there. */
function changes(list: Series[], kind: Mark["kind"], say: (value: string) => string): Mark[] {
  const firsts = list
    .filter((s) => s.values?.length)
    .map((s) => ({ at: s.values![0]![0], text: say(s.metric.value ?? "") }))
    .sort((a, b) => a.at - b.at);
  return firsts.filter((f) => f.at > firsts[0]!.at).map((f) => ({ ...f, kind }));
}

/** Alerts that begin to fire. */
function fires(list: Series[], range: Range): Mark[] {
  const marks: Mark[] = [];
  for (const { metric, values } of list) {
    let before = range.from - range.step;
    for (const [at] of values ?? []) {
      if (at - before > 1.5 * range.step) {
        const severity = metric.severity ? ` (${metric.severity})` : "";
        marks.push({ at, kind: "alert", text: `${metric.alertname} fires${severity}` });
      }
      before = at;
    }
  }
  return marks;
}

const mostNamed = 3;

/** Makes one mark of those of a kind that lie within a span. */
function close(marks: Mark[], span: number): Mark[] {
  const out: { mark: Mark; texts: string[] }[] = [];
  const last = new Map<string, (typeof out)[number]>();
  for (const mark of marks) {
    const near = last.get(mark.kind);
    if (near && mark.at - near.mark.at <= span) {
      if (!near.texts.includes(mark.text)) near.texts.push(mark.text);
      continue;
    }
    const next = { mark, texts: [mark.text] };
    last.set(mark.kind, next);
    out.push(next);
  }
  return out.map(({ mark, texts }) => {
    const more = texts.length - mostNamed;
    const named = texts.slice(0, mostNamed).join(", ");
    return { ...mark, text: more > 0 ? `${named} and ${more} more` : named };
  });
}
