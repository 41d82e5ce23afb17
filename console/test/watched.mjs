// Nodes that are read from outside: a Kafka cluster, Redis servers, and what is neither. The Go
// test lets them send; some of their names are markup, long, or of other scripts.
import { inspect } from "./every.mjs";
import { cells, cutTexts, harmless } from "./read.mjs";

const key = process.env.WATCHED_KEY;

let sends;

/** The nodes, once they send. */
async function nodesOf(t) {
  sends ??= t.stage("watched");
  await sends;
  let list = [];
  await t.until(async () => {
    list = (await t.get("/v1/nodes")).filter((n) => n.facts.job);
    return list.length === 7;
  }, "the watched nodes are there");
  return (instance) => list.find((n) => n.facts.instance === instance);
}

/** The expressions that a page asks for while it is opened, each once. */
async function asked(page, t, hash) {
  const list = new Set();
  const note = (r) => {
    const expr = new URLSearchParams(r.postData() ?? "").get("query");
    if (expr) list.add(expr);
  };
  page.on("request", note);
  await t.open(hash);
  page.off("request", note);
  return [...list];
}

export const tests = {
  "the fleet is filtered by what nodes run, in the address": async (page, t) => {
    await nodesOf(t);
    await t.open("#/fleet");
    const chips = page.getByRole("group", { name: "What nodes run" });
    await chips.getByRole("button", { name: /^Redis/ }).click();
    t.ok(page.url().includes("kind=redis"), page.url());
    const rows = page.getByRole("table", { name: "Nodes, worst first" }).locator(".table-row");
    await t.until(async () => (await rows.count()) === 3, "three Redis servers");
    t.ok((await rows.first().innerText()).includes("Redis"), "the kind is no column");
    await page.reload();
    await t.until(async () => (await rows.count()) === 3, "a link shows the same");
    await t.until(
      async () => (await cells(page, "Nodes, worst first", "r3:6379"))[1].includes("down"),
      "what does not answer is down",
    );
    await page.locator(".scale-up").waitFor(); // what has no CPU is coloured by its state
    await chips.getByRole("button", { name: /^other/ }).click();
    await t.until(async () => (await rows.count()) === 2, "two of no known kind");
    await harmless(page, t, "the fleet");
    await chips.getByRole("button", { name: /^all/ }).click();
    t.ok(!page.url().includes("kind="), page.url());
  },

  "a Kafka cluster: what hurts, groups furthest behind first, topics, brokers": async (page, t) => {
    const of = await nodesOf(t);
    for (const hash of ["#/cluster/events?range=15m", `#/node/${of("k1:9092").id}?range=15m`]) {
      await t.open(hash);
      const hurts = page.getByLabel("What hurts now");
      for (const text of ["1 partition without a leader", "broker 3 did not answer: <b>i/o"]) {
        await t.until(async () => (await hurts.innerText()).includes(text), text);
      }
      const facts = await page.getByLabel("Facts").innerText();
      for (const text of ["Kafka 4.1.0", "broker 2", "leader 101"])
        t.ok(facts.includes(text), text);
      const groups = "Consumer groups, furthest behind first";
      await t.until(async () => {
        const first = page.getByRole("table", { name: groups }).locator(".table-row").first();
        return (await first.innerText()).startsWith("billing");
      }, "the group that stands still is first");
      const group = await cells(page, groups, "billing");
      t.equal(group[1], "orders");
      t.ok(/^1 h/.test(group[2]) && group[3].endsWith(" k"), group.join(" | "));
      t.equal(`${group[6]} ${group[7]}`, "0 Empty");
      t.ok(/^1 h/.test(group[8]), group[8]);
      await page.locator("svg.spark").first().waitFor();
      const topic = await cells(page, "Topics", "audit");
      t.equal(`${topic[5]} ${topic[6]}`, "3 1");
      const orders = (await t.query('rate(kafka_topic_current_offset_sum{topic="orders"}[5m])'))[0];
      t.ok(Number(orders.value[1]) > 0, "the API has no rate");
      const broker = await cells(page, "Brokers", "3");
      t.ok(broker[1].includes("down"), broker.join(" | "));
      t.ok((await cells(page, "Brokers", "k2:9092"))[2] === "controller", "no controller");
      await harmless(page, t, hash);
    }
    await page.getByPlaceholder("Filter: group, topic").fill("日本");
    const table = page.getByRole("table", { name: "Topics" });
    await t.until(async () => (await table.locator(".table-row").count()) === 1, "one topic");
  },

  "a cluster that runs several things has a section for each": async (page, t) => {
    await nodesOf(t);
    await t.open("#/cluster/mixed?range=15m");
    for (const name of ["Cassandra", "Kafka"]) {
      await page.getByRole("heading", { level: 2, name, exact: true }).waitFor();
    }
    await page.getByRole("table", { name: "Topics" }).waitFor();
    await page.locator('[data-title="Pending compactions"]').waitFor();
    await page.getByRole("link", { name: "Tables of this cluster" }).waitFor();
    await harmless(page, t, "the cluster");
    await t.open("#/cluster/events");
    t.equal(await page.getByRole("link", { name: "Tables of this cluster" }).count(), 0);
  },

  "a Kafka cluster's lists are asked for at once each": async (page, t) => {
    await nodesOf(t);
    const list = await asked(page, t, "#/cluster/events?range=15m");
    const lists = list.filter((e) => /kafka_/.test(e) && !/@ end/.test(e) && /__name__/.test(e));
    t.equal(lists.length, 4); // the cluster, its groups, topics and brokers
  },

  "a Redis: facts, what hurts, commands, charts; and another one beside it": async (page, t) => {
    const of = await nodesOf(t);
    await t.open(`#/node/${of("r2:6379").id}?range=15m`);
    const hurts = page.getByLabel("What hurts now");
    for (const text of ["Memory is nearly full", "95 % of maxmemory", "Replication is broken"]) {
      await t.until(async () => (await hurts.innerText()).includes(text), text);
    }
    const facts = page.getByLabel("Facts");
    for (const text of [
      ...["Redis 8.0.2", "replica", "1 d 1 h", "950 MiB of 1,000 MiB", "allkeys-lru"],
      ...["90 %", "12 of 10 k", "the last one failed", "250 ms", "17 entries, the newest"],
    ]) {
      await t.until(async () => (await facts.innerText()).includes(text), text);
    }
    const get = await cells(page, "Commands", "get");
    t.ok(/\/s$/.test(get[1]) && get[2] === "10 µs" && get[3] === "10 µs", get.join(" | "));
    for (const title of ["Memory", "Latency of commands", "Hit ratio"]) {
      await page.locator(`[data-title="${title}"]`).scrollIntoViewIfNeeded();
      await page.locator(`[data-title="${title}"] .legend .number`).first().waitFor();
    }
    const other = page.getByLabel("compare with");
    await other.selectOption(`with ${of("r1:6379").id}`);
    await page.locator('[data-title="Memory"] .legend', { hasText: "used · r1:6379" }).waitFor();
    await harmless(page, t, "the Redis");
  },

  "a cluster of Redis servers has their roles, memory and who does not answer": async (page, t) => {
    await nodesOf(t);
    await t.open("#/cluster/cache?range=15m");
    const name = "Redis servers, worst first";
    await t.until(async () => {
      const [, state, role, memory] = await cells(page, name, "r1:6379");
      return state.includes("up") && role === "master" && memory === "95 %";
    }, "the master's row");
    await t.until(
      async () => (await cells(page, name, "r2:6379"))[2] === "! replica",
      "the replica has lost its master",
    );
    const hurts = page.getByLabel("What hurts now");
    await hurts.getByText("r3:6379 does not answer").waitFor();
    t.ok((await hurts.innerText()).includes("<b>connection refused</b>"), "the sentence");
    await harmless(page, t, "the cluster");
  },

  "what is neither has its labels, its last reading and all its metrics": async (page, t) => {
    const of = await nodesOf(t);
    await t.open(`#/node/${of("m1:9100").id}`);
    const facts = await page.getByLabel("Facts").innerText();
    for (const text of ["node", "m1:9100", "42 ms", "321"]) t.ok(facts.includes(text), text);
    await page.getByPlaceholder("Search: name or description").fill("resident_memory");
    const rows = page.getByRole("table", { name: "All metrics" }).locator(".table-row");
    await t.until(async () => (await rows.count()) === 1, "one metric");
    t.ok((await rows.first().innerText()).includes("process_resident_memory_bytes"), "another one");
    await rows.first().locator("a").click();
    await page.waitForURL((u) => u.hash.startsWith("#/explore?"));
    await t.settle();
    await page.locator(".legend .number").first().waitFor();
    await t.open("#/cluster/machines");
    await page.getByRole("table", { name: "Targets, worst first" }).waitFor();
    await harmless(page, t, "the targets");
    const down = of("r3:6379").id;
    await t.open(`#/node/${down}`);
    await page.getByText("r3:6379 does not answer").waitFor();
    await page.locator(".page-head .state.down").waitFor();
  },

  "their pages on a narrow screen; no violation that axe knows, dark and light": async (
    page,
    t,
  ) => {
    const of = await nodesOf(t);
    for (const hash of [
      "#/fleet",
      "#/cluster/events",
      "#/cluster/cache",
      "#/cluster/machines",
      `#/node/${of("r1:6379").id}`,
      `#/node/${of("m1:9100").id}`,
    ]) {
      await page.setViewportSize({ width: 380, height: 800 });
      await t.open(hash);
      await harmless(page, t, hash);
      const cut = await cutTexts(page);
      t.ok(cut.length === 0, `${hash}: cut: ${cut.join(", ")}`);
      await page.setViewportSize({ width: 1280, height: 900 });
      await t.settle();
      await page.emulateMedia({ colorScheme: "dark" });
      await inspect(page, t);
      await page.emulateMedia({ colorScheme: "light" });
      await inspect(page, t, ["color-contrast", "link-in-text-block"]);
    }
  },

  "the lag of a consumer that is away is what a watched Kafka says": async (page, t) => {
    await nodesOf(t);
    // This account has no processes of Ringwatch: the answer says that one runs.
    await page.route("**/api/v1/query", async (route) => {
      const expr = new URLSearchParams(route.request().postData() ?? "").get("query") ?? "";
      if (!expr.includes("ringwatch_process_up")) return route.continue();
      const metric = { q: "0", instance: "here", role: "store" };
      const result = [{ metric, value: [Date.now() / 1000, "1"] }];
      return route.fulfill({ json: { status: "success", data: { resultType: "vector", result } } });
    });
    await t.open("#/pipeline?range=15m");
    for (const [hop, lag] of [
      ["store", "77"],
      ["recent", "33"],
    ]) {
      const figure = page.locator(`[data-hop="${hop}"] [data-figure="lag"]`);
      await t.until(async () => (await figure.innerText()) === lag, `${hop} lags by ${lag}`);
    }
  },
};

export const options = Object.fromEntries(Object.keys(tests).map((name) => [name, { key }]));
