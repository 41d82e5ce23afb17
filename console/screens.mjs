// Takes pictures of every page into a folder (docs/screens): light and dark, wide and narrow.
// bench/screens calls it and sets BASE and KEY, an API and its key, and NODE, CLUSTER and TABLE
// (keyspace/table), which say what the pages of one are of.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { chromium } from "playwright-core";

const { BASE: base, KEY: key, NODE, CLUSTER, TABLE } = process.env;
const out = process.argv[2];
if (!key || !out) throw new Error("no key or no folder is given: run make screens");
await mkdir(out, { recursive: true });

const cluster = encodeURIComponent(CLUSTER);
const latency =
  "histogram_quantile(0.99, sum by (request) (rate(cassandra_client_request_latency_seconds" +
  `{cluster="${CLUSTER}",datacenter="eu-west",request=~"Read|Write"}[2m])))`;
// What rules record has begun when they did, a quarter of an hour ago.
const pages = {
  fleet: "#/fleet",
  cluster: `#/cluster/${cluster}?range=15m`,
  node: `#/node/${NODE}`,
  tables: "#/tables",
  table: `#/tables/${cluster}/${TABLE}`,
  explore: `#/explore?expr=${encodeURIComponent(latency)}`,
  activity: `#/activity?view=repairs&cluster=${cluster}`,
  events: `#/events?cluster=${cluster}`,
  alerts: "#/alerts",
  history: "#/alerts?view=history",
  quiet: "#/quiet",
  pipeline: "#/pipeline?range=15m",
  add: "#/add",
};
const sizes = { wide: { width: 1440, height: 900 }, narrow: { width: 380, height: 800 } };

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell",
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
for (const colorScheme of ["dark", "light"]) {
  for (const [size, viewport] of Object.entries(sizes)) {
    const context = await browser.newContext({ viewport, colorScheme });
    const page = await context.newPage();
    page.setDefaultTimeout(300_000);
    const headers = { Authorization: `Bearer ${key}`, "Ringwatch-Console": "1" };
    await context.request.post(`${base}/v1/session`, { headers });
    for (const [name, hash] of Object.entries(pages)) {
      await page.goto(`${base}/#/nowhere`);
      const range = hash.includes("range=") ? "" : `${hash.includes("?") ? "&" : "?"}range=1h`;
      await page.goto(`${base}/${hash}${range}`);
      await page.waitForFunction(
        (name) =>
          document.querySelector("main h1, main h2") &&
          !document.querySelector("main .face[role=alert]") && // the page asks again by itself
          (name !== "fleet" ||
            [...document.querySelectorAll(".table-row")].filter((r) => /\d %/.test(r.textContent))
              .length > 5) &&
          [...document.querySelectorAll(".bone")].every(
            (e) => e.getBoundingClientRect().top > innerHeight, // charts out of sight wait
          ),
        name,
      );
      await page.waitForLoadState("networkidle");
      await page.screenshot({ path: join(out, `${name}-${colorScheme}-${size}.png`) });
    }
    await context.close();
    console.log(`${colorScheme}, ${size}: ${Object.keys(pages).length} pictures`);
  }
}
await browser.close();
