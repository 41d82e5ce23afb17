// Charts as data: what a page shows is a list, and this draws it.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Labels } from "./api";
import { Chart } from "./chart";
import type { Ask } from "./lines";
import type { Mark } from "./marks";
import { type Range, windowOf } from "./time";

/**
 * A chart. In its expressions $scope stands for matchers, $w for the window of rates and $o for an
 * offset after each selector. In a legend {pool} stands for the label pool.
 */
export interface Spec {
  title: string;
  unit: string;
  asks: [expr: string, legend: string][];
  note?: string;
  threshold?: number;
}

/** Whose values a board shows, and when. The first one is the board's own. */
export interface Subject {
  matchers: string;
  offset?: string; // such as 1d: as it was then
  name?: string; // of what is compared
}

/** The lines of a chart, those of every subject side by side. */
export function asksOf(
  spec: Spec,
  subjects: Subject[],
  window: number,
  names: ReadonlyMap<string, string>,
): Ask[] {
  return spec.asks.flatMap(([expr, legend]) =>
    subjects.map(({ matchers, offset, name }) => ({
      expr: expr
        .replaceAll("$w", `${window}s`)
        .replaceAll("$o", offset ? ` offset ${offset}` : "")
        .replaceAll("$scope", () => matchers),
      legend: (labels: Labels) => legend.replace(/\{(\w+)\}/g, (_, l) => text(labels, l, names)),
      ...(name !== undefined && { beside: name }),
    })),
  );
}

function text(labels: Labels, name: string, names: ReadonlyMap<string, string>): string {
  const value = labels[name] ?? "";
  return name === "node" ? (names.get(value) ?? value) : value;
}

/** Charts of a list. Those that are far out of sight ask nothing. */
export function Board({
  specs,
  subjects,
  range,
  marks,
  names,
  interval,
}: {
  specs: Spec[];
  subjects: Subject[];
  range: Range;
  marks: Mark[];
  names: ReadonlyMap<string, string>;
  /** How far the frames of the nodes are apart, in seconds. */
  interval?: number;
}) {
  const window = windowOf(range, interval);
  return (
    <div class="charts">
      {specs.map((spec) => (
        <Near key={spec.title}>
          {(near) => (
            <Chart
              title={spec.title}
              unit={spec.unit}
              asks={asksOf(spec, subjects, window, names)}
              range={range}
              marks={marks}
              paused={!near}
              {...(spec.threshold !== undefined && { threshold: spec.threshold })}
              {...(spec.note && { note: spec.note })}
            />
          )}
        </Near>
      ))}
    </div>
  );
}

/** Says whether its place is in sight, or soon will be. */
export function Near({ children }: { children: (near: boolean) => ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  const [near, set] = useState(false);
  useEffect(() => {
    const watch = new IntersectionObserver((list) => set(list.at(-1)!.isIntersecting), {
      rootMargin: "700px",
    });
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);
  return (
    <div ref={box} class="near">
      {children(near)}
    </div>
  );
}
