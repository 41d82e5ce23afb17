// Takes pictures of every page into a folder (docs/screens): light and dark, wide and narrow.
// BASE and KEY name a running API whose monitored Cassandra has some load; make screens sets them.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { chromium } from "playwright-core";

const base = process.env.BASE ?? "http://127.0.0.1:9470";
const key = process.env.KEY;
const out = process.argv[2] ?? "../docs/screens";
if (!key) throw new Error("KEY is missing: set it to an API key, as make up prints it");
await mkdir(out, { recursive: true });

const get = async (path) => {
  const a = await fetch(base + path, { headers: { Authorization: `Bearer ${key}` } });
  if (!a.ok) throw new Error(`${path}: ${a.status}`);
  return a.json();
};
const [node] = await get("/v1/nodes");
const cluster = encodeURIComponent(node.cluster);
const latency =
  "histogram_quantile(0.99, sum by (request) (rate(cassandra_client_request_latency_seconds" +
  '{request=~"Read|Write"}[2m])))';
const pages = {
  fleet: "#/fleet",
  cluster: `#/cluster/${cluster}`,
  node: `#/node/${node.id}`,
  tables: "#/tables",
  table: `#/tables/${cluster}/shop/orders`,
  explore: `#/explore?expr=${encodeURIComponent(latency)}`,
  alerts: "#/alerts",
  pipeline: "#/pipeline",
  add: "#/add",
};
const sizes = { wide: { width: 1440, height: 900 }, narrow: { width: 380, height: 800 } };

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
for (const colorScheme of ["dark", "light"]) {
  for (const [size, viewport] of Object.entries(sizes)) {
    const context = await browser.newContext({ viewport, colorScheme });
    const page = await context.newPage();
    page.setDefaultTimeout(120_000);
    await page.addInitScript((k) => sessionStorage.setItem("ringwatch.key", k), key);
    for (const [name, hash] of Object.entries(pages)) {
      await page.goto(`${base}/#/nowhere`);
      await page.goto(`${base}/${hash}${hash.includes("?") ? "&" : "?"}range=1h`);
      await page.waitForFunction(
        () =>
          document.querySelector("main h1, main h2") &&
          [...document.querySelectorAll(".bone")].every(
            (e) => e.getBoundingClientRect().top > innerHeight, // charts out of sight wait
          ),
      );
      await page.waitForLoadState("networkidle");
      await page.screenshot({ path: join(out, `${name}-${colorScheme}-${size}.png`) });
    }
    await context.close();
    console.log(`${colorScheme}, ${size}: ${Object.keys(pages).length} pictures`);
  }
}
await browser.close();
