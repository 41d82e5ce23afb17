// Axes name round values of their unit.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./build.mjs";

const { ticksOf, tickTexts } = await load("ticks.ts");
const texts = (high, unit, most = 5) => tickTexts(ticksOf(0, high, unit, most), unit);

const gib = 2 ** 30;

test("bytes stand at powers of two, and the values between are whole", () => {
  assert.deepEqual(texts(20.1 * gib, "bytes"), ["0 B", "8 GiB", "16 GiB"]);
  assert.deepEqual(texts(20.1 * gib, "bytes", 6), [
    "0 B",
    "4 GiB",
    "8 GiB",
    "12 GiB",
    "16 GiB",
    "20 GiB",
  ]);
  assert.deepEqual(texts(1.5 * gib, "bytes", 4), ["0 B", "512 MiB", "1 GiB", "1.5 GiB"]);
  assert.deepEqual(texts(70_000, "bytes_per_second"), [
    "0 B/s",
    "16 KiB/s",
    "32 KiB/s",
    "48 KiB/s",
    "64 KiB/s",
  ]);
});

test("times stand where clocks do", () => {
  assert.deepEqual(texts(0.0123, "seconds"), ["0 s", "5 ms", "10 ms"]);
  assert.deepEqual(texts(110, "seconds"), ["0 s", "30 s", "60 s", "90 s"]);
  assert.deepEqual(texts(700, "seconds", 6), ["0 s", "2 min", "4 min", "6 min", "8 min", "10 min"]);
  assert.deepEqual(texts(100_000, "seconds"), ["0 s", "6 h", "12 h", "18 h", "1 d"]);
  assert.deepEqual(texts(20 * 86400, "seconds"), ["0 s", "5 d", "10 d", "15 d", "20 d"]);
  assert.deepEqual(texts(1500, "microseconds"), ["0 s", "500 µs", "1 ms", "1.5 ms"]);
});

test("counts and percentages stand at 1, 2 or 5 times a power of ten", () => {
  assert.deepEqual(texts(108, "percent"), ["0 %", "50 %", "100 %"]);
  assert.deepEqual(texts(0.27, "ratio", 6), ["0 %", "5 %", "10 %", "15 %", "20 %", "25 %"]);
  assert.deepEqual(texts(16_000, "per_second"), ["0/s", "5 k/s", "10 k/s", "15 k/s"]);
  assert.deepEqual(texts(0.31, "count", 4), ["0", "0.1", "0.2", "0.3"]);
  assert.deepEqual(tickTexts(ticksOf(-30, 30, "count", 4), "count"), ["-20", "0", "20"]);
});

test("an axis of any size has two values at least, and each is what stands there", () => {
  const odd = [];
  for (const unit of [
    "bytes",
    "bytes_per_second",
    "seconds",
    "percent",
    "ratio",
    "count",
    "per_second",
    "microseconds",
  ]) {
    for (let high = 1e-4; high < 1e14; high *= 1.17) {
      for (const most of [3, 4.8, 7.5]) {
        const list = ticksOf(0, high, unit, most);
        const names = tickTexts(list, unit);
        if (list.length < 2 || list.length > most + 1)
          odd.push(`${list.length} ticks to ${high} ${unit}`);
        if (new Set(names).size < names.length) odd.push(`${names} to ${high} ${unit}`);
        // What stands there is the value, not one that was rounded.
        const scale = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: gib, TiB: 2 ** 40, PiB: 2 ** 50 };
        names.forEach((text, i) => {
          const [, digits, name] = /^([\d.,]+) ([KMGTP]iB)/.exec(text) ?? [];
          if (name && Number(digits.replaceAll(",", "")) * scale[name] !== list[i])
            odd.push(`${text} is ${list[i]}`);
        });
      }
    }
  }
  assert.deepEqual(odd.slice(0, 5), []);
});

test("an axis whose steps a number cannot tell apart has no ticks, and an end", () => {
  const large = 1e20;
  assert.deepEqual(ticksOf(large, large + 2 ** 14, "count", 3), []);
  assert.deepEqual(ticksOf(-large - 2 ** 14, -large, "bytes", 3), []);
  assert.ok(ticksOf(1e15, 1e15 + 8, "count", 3).length >= 2);
});
