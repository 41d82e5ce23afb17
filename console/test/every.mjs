// What holds on every page: nobody is shut out, nothing hangs over the edge.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const { CLUSTER, NODE } = process.env;
const pages = {
  fleet: "#/fleet",
  cluster: `#/cluster/${CLUSTER}`,
  node: `#/node/${NODE}`,
  tables: "#/tables",
  table: `#/tables/${CLUSTER}/shop/orders`,
  explore:
    "#/explore?expr=sum%20by%20(request)%20(rate(cassandra_client_request_latency_seconds_count[5m]))",
  alerts: "#/alerts",
  pipeline: "#/pipeline",
  add: "#/add",
};

export const tests = {};
export const options = {};

for (const [name, hash] of Object.entries(pages)) {
  for (const colorScheme of ["light", "dark"]) {
    const title = `${name}, ${colorScheme}: no violation that axe knows`;
    options[title] = { colorScheme };
    tests[title] = async (page, t) => {
      await t.open(hash);
      // The policy forbids scripts in the page; a debugger's evaluation is none.
      await page.evaluate(axe);
      const found = await page.evaluate(async () => (await window.axe.run(document)).violations);
      t.ok(
        found.length === 0,
        found
          .map(
            (v) =>
              `${v.id}: ${v.nodes.slice(0, 3).map((n) => `${n.html} ${n.any[0]?.message ?? ""}`)}`,
          )
          .join("\n"),
      );
    };
  }
  const narrow = `${name}, narrow: nothing hangs over the edge`;
  options[narrow] = { width: 380, height: 800, colorScheme: "light" };
  tests[narrow] = async (page, t) => {
    await t.open(hash);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    t.ok(wide <= 380, `the page is ${wide} pixels wide`);
  };
}

tests["signing in: no violation that axe knows"] = async (page, t) => {
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("API key").waitFor();
  await page.evaluate(axe);
  const found = await page.evaluate(async () => (await window.axe.run(document)).violations);
  t.ok(found.length === 0, JSON.stringify(found).slice(0, 500));
};
