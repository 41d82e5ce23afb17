// The values that an axis names: round ones of their unit.
import { format } from "./units";

/** The least of 1, 2 and 5 times a power of ten that is no less. */
function decimal(least: number): number {
  const power = Math.floor(Math.log10(least));
  for (const m of [1, 2, 5, 10]) {
    const step = Number(`${m}e${power}`); // exact, unlike m * 10 ** power
    if (step >= least * (1 - 1e-9)) return step;
  }
  return Number(`1e${power + 1}`);
}

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;
/** Steps of times above a second, as clocks have them. */
const clocks = [1, 2, 5, 10, 15, 30].flatMap((n) => [n, n * minute]);
const times = [...clocks, hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour, day].sort((a, b) => a - b);

function seconds(least: number): number {
  if (least < 1) return decimal(least);
  return times.find((s) => s >= least) ?? day * decimal(least / day);
}

/** The distance of two ticks of an axis, at least so much. */
function stepOf(least: number, unit: string): number {
  switch (unit) {
    case "bytes":
    case "bytes_per_second":
      return least < 1 ? decimal(least) : 2 ** Math.ceil(Math.log2(least) - 1e-9);
    case "seconds":
      return seconds(least);
    case "microseconds":
    case "microseconds_per_operation":
      return 1e6 * seconds(least / 1e6);
    default:
      return decimal(least);
  }
}

/** The round values from low to high, most of them at most so many apart. */
export function ticksOf(low: number, high: number, unit: string, most: number): number[] {
  if (!(high > low) || most < 1) return [];
  const step = stepOf((high - low) / most, unit);
  const first = Math.ceil(low / step - 1e-9);
  if (Math.abs(low / step) > Number.MAX_SAFE_INTEGER / 2) return []; // no i has a next one
  const list: number[] = [];
  for (let i = first; i * step <= high; i++) {
    list.push(Number((i * step).toPrecision(15)) || 0); // 3 * 0.1 is 0.3, and -0 is 0
  }
  return list;
}

/** How they are written. Large counts share a unit: 0, 5 k, 10 k. */
export function tickTexts(list: number[], unit: string): string[] {
  const top = Math.max(...list.map(Math.abs));
  const counts = unit === "per_second" || unit === "count";
  const [size, sign] =
    top >= 1e9 ? [1e9, "G"] : top >= 1e6 ? [1e6, "M"] : top >= 1e4 ? [1e3, "k"] : [1, ""];
  if (!counts || size === 1) return list.map((v) => format(v, unit));
  return list.map((v) =>
    v === 0
      ? format(v, unit)
      : `${format(v / size, "state")} ${sign}${unit === "count" ? "" : "/s"}`,
  );
}
