// Numbers and times as people read them.

const binary = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** Three digits that matter, no more: 0.0123, 1.23, 12.3, 123, 1,230. */
function digits(v: number): string {
  const size = Math.abs(v);
  if (size >= 1000) return Math.round(v).toLocaleString("en-US");
  if (size >= 100 || Number.isInteger(v)) return String(Math.round(v));
  return String(Number(v.toPrecision(3)));
}

function bytes(v: number): string {
  let i = 0;
  while (Math.abs(v) >= 1024 && i < binary.length - 1) {
    v /= 1024;
    i++;
  }
  return `${digits(v)} ${binary[i]}`;
}

function short(v: number): string {
  const size = Math.abs(v);
  if (size >= 1e9) return `${digits(v / 1e9)} G`;
  if (size >= 1e6) return `${digits(v / 1e6)} M`;
  if (size >= 1e4) return `${digits(v / 1e3)} k`;
  if (size > 0 && size < 0.001) return v.toExponential(1);
  return digits(v);
}

function seconds(v: number): string {
  const size = Math.abs(v);
  if (size === 0) return "0 s";
  if (size < 1e-3) return `${digits(v * 1e6)} µs`;
  if (size < 1) return `${digits(v * 1e3)} ms`;
  if (size < 120) return `${digits(v)} s`;
  return length(v);
}

/** A length of time in two parts: 3 d 4 h, 2 h 5 min, 40 s. */
export function length(secs: number): string {
  const s = Math.round(Math.abs(secs));
  const parts: [number, string][] = [
    [86400, "d"],
    [3600, "h"],
    [60, "min"],
    [1, "s"],
  ];
  for (let i = 0; i < parts.length; i++) {
    const [size, name] = parts[i]!;
    if (s < size) continue;
    const rest = s % size;
    const next = parts[i + 1];
    const more = next ? Math.floor(rest / next[0]) : 0;
    return `${Math.floor(s / size)} ${name}${next && more ? ` ${more} ${next[1]}` : ""}`;
  }
  return "0 s";
}

/** The units of the catalogue, see its Units; "state" is a number that stands for itself. */
export type Unit =
  | "count"
  | "per_second"
  | "percent"
  | "ratio"
  | "bytes"
  | "bytes_per_second"
  | "seconds"
  | "microseconds"
  | "microseconds_per_operation";

/** A value with its unit; – where there is none. */
export function format(v: number | null | undefined, unit: string = "count"): string {
  if (v === null || v === undefined || Number.isNaN(v)) return "–";
  if (!Number.isFinite(v)) return v > 0 ? "∞" : "−∞";
  switch (unit) {
    case "bytes":
      return bytes(v);
    case "bytes_per_second":
      return `${bytes(v)}/s`;
    case "per_second":
      return `${short(v)}/s`;
    case "percent":
      return `${digits(v)} %`;
    case "ratio":
      return `${digits(100 * v)} %`;
    case "seconds":
      return seconds(v);
    case "microseconds":
    case "microseconds_per_operation":
      return seconds(v / 1e6);
    default:
      return short(v);
  }
}

/** A number as PromQL writes it. */
export function number(text: string | undefined): number {
  if (text === undefined) return Number.NaN;
  if (text === "+Inf") return Number.POSITIVE_INFINITY;
  if (text === "-Inf") return Number.NEGATIVE_INFINITY;
  return Number(text);
}

/** Text in quotes, as PromQL takes it. */
export function quote(text: string): string {
  return JSON.stringify(text);
}

/** Text that a regular expression of PromQL means as it stands. */
export function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
