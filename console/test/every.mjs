// What holds on every page: nobody is shut out, nothing hangs over the edge.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { cutTexts } from "./read.mjs";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const { CLUSTER, NODE } = process.env;
const pages = {
  fleet: "#/fleet",
  cluster: `#/cluster/${CLUSTER}`,
  node: `#/node/${NODE}`,
  tables: "#/tables",
  table: `#/tables/${CLUSTER}/shop/orders`,
  explore:
    "#/explore?expr=sum%20by%20(request)" +
    "%20(rate(cassandra_client_request_latency_seconds_count[5m]))",
  metrics: "#/explore",
  activity: `#/activity?cluster=${CLUSTER}`,
  events: `#/events?cluster=${CLUSTER}`,
  alerts: "#/alerts",
  history: "#/alerts?view=history",
  quiet: "#/quiet",
  pipeline: "#/pipeline",
  add: "#/add",
};

/** Throws if axe finds something on the page as it stands: by all its rules, or by those named. */
export async function inspect(page, t, rules) {
  // The policy forbids scripts in the page; a debugger's evaluation is none.
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
  const found = await page.evaluate(async (rules) => {
    const { violations } = await window.axe.run(document, {
      resultTypes: ["violations"],
      ...(rules && { runOnly: { type: "rule", values: rules } }),
    });
    return violations.map(({ id, nodes }) => {
      const list = nodes.slice(0, 3).map((n) => `${n.html} ${n.any[0]?.message ?? ""}`);
      return `${id}: ${list}`;
    });
  }, rules);
  t.ok(found.length === 0, found.join("\n"));
}

export const tests = {};

for (const [name, hash] of Object.entries(pages)) {
  tests[`${name}: nothing hangs over a narrow edge; no violation that axe knows, dark and light`] =
    async (page, t) => {
      await page.setViewportSize({ width: 380, height: 800 });
      await t.open(hash);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      t.ok(wide <= 380, `the page is ${wide} pixels wide`);
      const cut = await cutTexts(page);
      t.ok(cut.length === 0, `cut: ${cut.join(", ")}`);
      await page.setViewportSize({ width: 1280, height: 900 });
      await t.settle();
      await inspect(page, t);
      await page.emulateMedia({ colorScheme: "light" });
      await inspect(page, t, ["color-contrast", "link-in-text-block"]); // only colours differ
    };
}

tests["signing in: no violation that axe knows"] = async (page, t) => {
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("API key").waitFor();
  await inspect(page, t);
};

// Effects run after the first picture, and what they listen to may have happened by then.
tests["a place that changes while the first page is drawn is shown"] = async (page, t) => {
  await page.addInitScript(() => {
    new window.MutationObserver((_, observer) => {
      if (!document.querySelector("#main")) return;
      observer.disconnect();
      location.hash = "#/pipeline";
    }).observe(document, { childList: true, subtree: true });
  });
  await t.anew();
  await page.getByRole("heading", { level: 1, name: "Pipeline" }).waitFor();
};

export const options = {
  "signing in: no violation that axe knows": { own: true },
  "a place that changes while the first page is drawn is shown": { own: true },
};
