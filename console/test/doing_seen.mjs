// Opens, in a real browser, the pages of what nodes are doing, and prints what does not show what it
// should. The Go test that starts it, TestDoing, has let real nodes do it. BASE, KEY, CLUSTER and
// CHROMIUM are as in run.mjs.
import { chromium } from "playwright-core";

const { BASE, KEY, CLUSTER } = process.env;
const patience = 240_000; // ms
const seen = [
  [`cluster/${CLUSTER}/events`, ["slow_query", "large_partition", "shop"]],
];
