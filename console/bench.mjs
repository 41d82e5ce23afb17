// Measures the console in a browser for bench/console, which starts the API and prints the result:
// `node bench.mjs ACCOUNT …`, with KEY_ACCOUNT the key of each fleet, prints JSON on stdout.
import { join } from "node:path";
import { chromium } from "playwright-core";

const { BASE, KEY, ROUNDS = "5", SHOTS } = process.env;
const accounts = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell",
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--enable-precise-memory-info"],
});

/** A page that is signed in before anything of it runs. */
async function open(key) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(180_000);
  const headers = { Authorization: `Bearer ${key}`, "Ringwatch-Console": "1" };
  await context.request.post(`${BASE}/v1/session`, { headers });
  return { context, page };
}

/** The bytes of JavaScript and CSS that the first page takes from the wire. */
async function firstPage() {
  const { context, page } = await open(KEY);
  const cdp = await context.newCDPSession(page);
  await cdp.send("Network.enable");
  const kinds = new Map();
  let bytes = 0;
  cdp.on("Network.responseReceived", (e) => kinds.set(e.requestId, e.type));
  cdp.on("Network.loadingFinished", (e) => {
    if (["Script", "Stylesheet"].includes(kinds.get(e.requestId))) bytes += e.encodedDataLength;
  });
  await page.goto(`${BASE}/#/fleet`, { waitUntil: "networkidle" });
  await context.close();
  return bytes / 1024;
}

/** How long a fleet's page takes, ms: to its first node and its map, drawn; and where that goes, as
 *  ms since the page was asked for. */
async function fleet(account) {
  const { context, page } = await open(process.env[`KEY_${account}`]);
  await page.goto(`${BASE}/#/fleet`);
  const took = await page.waitForFunction(
    () => {
      const map = document.querySelector(".cells canvas");
      if (!document.querySelector(".row-link") || !map?.height) return 0;
      const ms = performance.now();
      const list = performance.getEntriesByType("resource");
      const code = list.filter((e) => e.name.includes("/assets/") && e.responseEnd < ms);
      const asked = list.find((e) => new URL(e.name).pathname === "/v1/nodes");
      return {
        ms,
        page: performance.getEntriesByType("navigation")[0].responseEnd,
        code: Math.max(...code.map((e) => e.responseEnd)),
        painted: performance.getEntriesByName("first-contentful-paint")[0]?.startTime,
        asked: asked.startTime,
        answering: asked.responseStart,
        answered: asked.responseEnd,
      };
    },
    undefined,
    { polling: "raf" },
  );
  const steps = await took.jsonValue();
  if (SHOTS) {
    await page.waitForTimeout(8000); // for colours, before the picture
    await page.screenshot({ path: join(SHOTS, `${account}.png`) });
  }
  await context.close();
  return steps;
}

/** An answer to a range query: three lines of its steps. */
function answer(form) {
  const start = Number(form.get("start"));
  const end = Number(form.get("end"));
  const step = Number(form.get("step"));
  const result = [0, 1, 2].map((i) => {
    const values = [];
    for (let t = start; t <= end; t += step) {
      values.push([t, String(1 + i + Math.sin(t / 300 + i) + (t % 7) / 20)]);
    }
    return { metric: { q: String(i), request: `r${i}`, mode: `m${i}`, node: `n${i}` }, values };
  });
  return JSON.stringify({ status: "success", data: { resultType: "matrix", result } });
}

/** Answers the API from here: a cluster of one node, and lines. */
async function answered(page, hold) {
  const node = {
    id: "00000000-0000-4000-8000-000000000001",
    ...{ cluster: "bench", datacenter: "dc1", rack: "r1", address: "10.0.0.1:7000" },
    ...{ facts: {}, interval_ms: 5000, age_seconds: 1, state: "up" },
  };
  const cluster = { cluster: "bench", nodes: 1, up: 1, late: 0, down: 0, datacenters: [] };
  const catalog = await (
    await fetch(`${BASE}/v1/catalog`, { headers: { Authorization: `Bearer ${KEY}` } })
  ).text();
  const fixed = {
    "/v1/nodes": JSON.stringify([node]),
    "/v1/clusters": JSON.stringify([cluster]),
    "/v1/catalog": catalog,
    "/api/v1/alerts": '{"status":"success","data":{"alerts":[]}}',
    "/api/v1/rules": '{"status":"success","data":{"groups":[]}}',
    "/api/v1/query": '{"status":"success","data":{"resultType":"vector","result":[]}}',
  };
  const held = [];
  let asked = 0;
  await page.route(/\/(v1|api)\//, async (route) => {
    asked++;
    const path = new URL(route.request().url()).pathname;
    const json = { contentType: "application/json" };
    if (path !== "/api/v1/query_range") {
      await route.fulfill({ ...json, body: fixed[path] ?? "{}" });
      return;
    }
    const body = answer(new URLSearchParams(route.request().postData()));
    if (hold.on) held.push(() => route.fulfill({ ...json, body }));
    else await route.fulfill({ ...json, body });
  });
  return { held, asked: () => asked };
}

/** How long twelve charts of 360 points take from their answers to the screen, ms. */
async function charts() {
  const { context, page } = await open(KEY);
  const hold = { on: true };
  const { held } = await answered(page, hold);
  // The page's own clock: from when the last answer was read to when all charts stand.
  await page.addInitScript(() => {
    const plain = Response.prototype.json;
    Response.prototype.json = async function (...args) {
      const value = await plain.apply(this, args);
      if (this.url.includes("query_range")) window.heard = performance.now();
      return value;
    };
  });
  await page.goto(`${BASE}/#/cluster/bench?range=1h`);
  const end = Date.now() + 60_000;
  // until all have asked
  while (held.length < 12 && Date.now() < end) await page.waitForTimeout(50);
  hold.on = false;
  await Promise.all(held.map((send) => send()));
  const drawn = await page.waitForFunction(
    () => {
      const all = document.querySelectorAll(".plot canvas");
      return all.length >= 12 && window.heard ? performance.now() - window.heard : 0;
    },
    undefined,
    { polling: "raf" },
  );
  const ms = await drawn.jsonValue();
  await context.close();
  return ms;
}

/** Memory of a cluster's page, before and after an hour of refreshes, and its requests a minute. */
async function hour() {
  const { context, page } = await open(KEY);
  const { asked } = await answered(page, { on: false });
  const cdp = await context.newCDPSession(page);
  const heap = async () => {
    for (let i = 0; i < 3; i++) await cdp.send("HeapProfiler.collectGarbage");
    return (await cdp.send("Runtime.getHeapUsage")).usedSize;
  };
  await page.clock.install();
  await page.goto(`${BASE}/#/cluster/bench?range=1h`);
  await page.waitForFunction(() => document.querySelectorAll(".plot canvas").length >= 12);
  const minutes = async (n) => {
    for (let i = 0; i < n * 12; i++) {
      await page.clock.runFor(5000);
      await page.waitForTimeout(20); // the answers come in real time
    }
  };
  await minutes(5);
  const before = await heap();
  const first = asked();
  await minutes(55);
  const perMinute = (asked() - first) / 55;
  const after = await heap();
  await context.close();
  return { before, after, perMinute };
}

const say = (text) => process.stderr.write(`          ${text}\n`);
say("the first page");
const result = { first_page_kb: await firstPage(), fleet_ms: {}, fleet_steps: {}, charts_ms: [] };
for (const account of accounts) {
  say(`the fleet ${account}`);
  const steps = [];
  for (let i = 0; i < Number(ROUNDS); i++) steps.push(await fleet(account));
  result.fleet_ms[account] = steps.map(({ ms }) => ms);
  result.fleet_steps[account] = steps.map((of) =>
    Object.fromEntries(Object.entries(of).map(([name, at]) => [name, Math.round(at)])),
  );
}
say("charts");
for (let i = 0; i < Number(ROUNDS); i++) result.charts_ms.push(await charts());
say("an hour of refreshes");
const { before, after, perMinute } = await hour();
Object.assign(result, { heap_before: before, heap_after: after, requests_per_minute: perMinute });
await browser.close();
console.log(JSON.stringify(result));
