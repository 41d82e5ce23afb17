// What nodes do and what happens to them: events, tasks, repairs, clients, slow queries, snapshots.
// The Go test lets nodes send; some of their names and texts are markup, long, or of other scripts.
import { inspect } from "./every.mjs";
import { cells, cutTexts, harmless } from "./read.mjs";

const { DOING_KEY: key, EMPTY_KEY: emptyKey } = process.env;

let sends;

/** The nodes of the busy cluster, once they send. */
async function nodesOf(t) {
  sends ??= t.stage("doing");
  await sends;
  let list = [];
  await t.until(async () => {
    list = await t.get("/v1/nodes?cluster=busy");
    return list.length === 2 && (await t.get("/v1/tasks?cluster=busy")).tasks.length > 0;
  }, "the busy nodes are there");
  return list.sort((a, b) => (a.address < b.address ? -1 : 1));
}

/** The names of what is in the first column of a table. */
const names = (page, table) =>
  page
    .getByRole("table", { name: table })
    .locator('.table-row [role="cell"]:first-child')
    .allInnerTexts();

// innerText of what is out of sight is empty: the browser has not laid it out.
const times = (page) => page.locator(".event time").allTextContents();
const falls = (list) => list.every((v, i) => i === 0 || v <= list[i - 1]);

/** The event that is the first one now. Newer ones may come before it. */
async function firstEvent(page) {
  const id = await page.locator(".event").first().getAttribute("data-event");
  return page.locator(`.event[data-event=${JSON.stringify(id)}]`);
}

const pages = {
  events: "#/events?range=1h",
  tasks: "#/activity",
  repairs: "#/activity?view=repairs",
  clients: "#/activity?view=clients",
  queries: "#/activity?view=queries&range=1h",
};

export const tests = {
  "events stand newest first, and what they are filtered by is in the address": async (page, t) => {
    await nodesOf(t);
    await t.open("#/events?range=1h");
    const list = page.locator(".event");
    await t.until(async () => (await list.count()) > 50, "events");
    t.ok(falls(await times(page)), "they are not newest first");
    const kinds = page.getByRole("group", { name: "Kinds of events" });
    await kinds.getByRole("button", { name: "error" }).click();
    const all = async (selector, text) => {
      const texts = await page.locator(`.event ${selector}`).allTextContents();
      return texts.length > 0 && texts.every((x) => x.includes(text));
    };
    await t.until(() => all(".event-kind", "error"), "only errors");
    t.ok(page.url().includes("kind=error"), page.url());
    await kinds.getByRole("button", { name: "node down" }).click();
    await t.until(() => all(".severity", "error"), "both kinds are errors");
    await page.reload();
    await t.until(() => all(".severity", "error"), "a link shows the same");
    await kinds.getByRole("button", { name: "all kinds" }).click();
    await page.getByPlaceholder("Filter: text").fill("FLOOD 1999");
    await t.until(async () => (await list.count()) === 1, "one has this text");
    t.ok((await list.innerText()).includes("flood 1999"), "it is another");
    await page.getByPlaceholder("Filter: text").fill("nothing is like this");
    await page.getByText("No event of this time is like that.").waitFor();
    await page.getByRole("button", { name: "Show all" }).click();
    await t.until(async () => (await list.count()) > 50, "all of them");
    await page.locator(".page-head select").first().selectOption("rest");
    await page.getByText("No event of this time is like that.").waitFor();
    t.ok(page.url().includes("cluster=rest"), page.url());
    await harmless(page, t, "the page of events");
  },

  "thousands of older events are loaded page by page, each once, in order": async (page, t) => {
    await nodesOf(t);
    await t.open("#/events?range=1h&kind=warning");
    const more = page.getByRole("button", { name: "Load older events" });
    const list = page.locator(".event");
    for (let want = 400; want <= 2000; want += 200) {
      await more.click();
      await t.until(async () => (await list.count()) >= want, `${want} events`);
    }
    await t.until(async () => {
      if (await more.isVisible()) await more.click(); // the last page may be empty
      return (await more.count()) === 0;
    }, "all are there");
    const ids = await list.evaluateAll((all) => all.map((e) => e.dataset.event));
    t.equal(`${ids.length} ${new Set(ids).size}`, "2000 2000");
    t.ok(falls(await times(page)), "they are not in order");
    await harmless(page, t, "a long list");
  },

  "newer events come by themselves, wait while somebody reads, and not when told so": async (
    page,
    t,
  ) => {
    await nodesOf(t);
    await t.open("#/events?range=1h");
    const first = () => page.locator(".event").first().getAttribute("data-event");
    await page.locator(".event").first().waitFor();
    const before = await first();
    await t.until(async () => (await first()) !== before, "a newer one");
    await page.evaluate(() => window.scrollTo(0, 1500));
    const waiting = page.getByRole("button", { name: /new$/ });
    await waiting.waitFor();
    const held = await first();
    await page.waitForTimeout(4000); // longer than it takes until the page asks
    t.equal(await first(), held);
    await waiting.click();
    await t.until(async () => (await first()) !== held, "those that waited");
    await page.getByRole("button", { name: /follows/ }).click();
    t.ok(page.url().includes("follow=no"), page.url());
    let asked = 0;
    page.on("request", (r) => (asked += Number(r.url().includes("/v1/events"))));
    await t.until(async () => {
      asked = 0; // what was on its way has been asked, on a busy machine some seconds later
      await page.waitForTimeout(5000);
      return asked === 0;
    }, "a page that asks no more");
  },

  "an event opens to its whole text and its labels, and leads to its node": async (page, t) => {
    const [node] = await nodesOf(t);
    await t.open("#/events?range=1h&kind=large_partition");
    const event = await firstEvent(page);
    await event.locator("summary").press("Enter");
    t.equal((await event.locator("pre").innerText()).trim(), "x".repeat(1024));
    const labels = await event.locator(".label").allInnerTexts();
    t.ok(labels.includes("size_bytes 256 MiB"), labels.join(" | "));
    t.ok(
      labels.some((l) => l.includes("<img src=x")),
      labels.join(" | "),
    );
    await harmless(page, t, "an open event");
    await t.open(`#/events?range=1h&kind=error&node=${node.id}&cluster=busy`);
    const error = await firstEvent(page);
    await error.locator("summary").click();
    t.ok((await error.locator("pre").innerText()).includes("\nat line 2\n"), "lines are lost");
    await error.locator(".event-node a").first().click();
    await page.waitForURL((u) => u.hash.startsWith(`#/node/${node.id}`));
  },

  "charts of a cluster and a node have lanes of events, which keys go through": async (page, t) => {
    const [node] = await nodesOf(t);
    for (const [hash, title] of [
      ["#/cluster/busy?range=15m", "Pending compactions"],
      [`#/node/${node.id}?range=15m`, "Tasks waiting"],
    ]) {
      await t.open(hash);
      const chart = page.locator(`[data-title="${title}"]`);
      await chart.scrollIntoViewIfNeeded();
      const lanes = chart.locator(".lanes canvas");
      await t.until(async () => {
        const said = await lanes.getAttribute("aria-label");
        return /^Events: error \d+, node down \d+, .*others \d+\./.test(said);
      }, "the lanes, the most severe on top");
      await lanes.focus();
      await lanes.press("Home");
      const tip = chart.locator(".lanes-tip");
      await tip.getByText("<img src=x onerror=struck=true>").first().waitFor();
      await lanes.press("ArrowDown");
      await tip.getByText("a node is down").first().waitFor();
      await harmless(page, t, hash);
      await lanes.press("Enter");
      await page.waitForURL((u) => u.hash.startsWith("#/events?"));
      for (const part of ["kind=node_down", "from=", "to=", "cluster=busy"]) {
        t.ok(page.url().includes(part), page.url());
      }
      t.equal(page.url().includes(`node=${node.id}`), hash.startsWith("#/node"));
      await page.locator(".event").first().waitFor();
    }
  },

  "tasks have bars, rates and ends; streams have a peer and a direction": async (page, t) => {
    const [node] = await nodesOf(t);
    for (const hash of [`#/node/${node.id}`, `#/activity?cluster=busy&node=${node.id}`]) {
      await t.open(hash);
      await t.until(async () => {
        const row = await cells(page, "Tasks", "compaction");
        const [, done, bytes, rate, started, ends] = row;
        return (
          done === "50 %" &&
          /^(8|9|1\d)\S* GiB of 16 GiB$/.test(bytes) &&
          /\/s$/.test(rate) &&
          /ago$/.test(started) &&
          /^in 1\d min/.test(ends)
        );
      }, "the compaction with its bar and its end");
      const bar = page.getByRole("progressbar", { name: "compaction shop.orders" });
      t.equal(await bar.getAttribute("value"), "0.5");
      t.equal((await cells(page, "Tasks", "index build")).at(-1), "unknown");
      const streams = await names(page, "Streams");
      for (const text of ["rebuild ← from 10.9.9.9", "repair → to 10.9.9.8"]) {
        t.ok(
          streams.some((s) => s.includes(text)),
          streams.join(" | "),
        );
      }
      const task = page.getByRole("button", { name: /compaction shop\.orders/ });
      await task.press("Enter");
      await page.getByText(/^nodetool stop -id 6f1e2a00-/).waitFor();
      await harmless(page, t, hash);
    }
    await page.getByPlaceholder("Filter: task, table, node").fill("10.9.9.9");
    const rows = page.getByRole("table", { name: "Streams" }).locator(".table-row");
    await t.until(async () => (await rows.count()) === 1, "one stream");
  },

  "repairs: tables by how long they may wait, the worst first; running ones": async (page, t) => {
    await nodesOf(t);
    await t.open("#/activity?view=repairs&cluster=busy");
    const table = "Tables by when a full repair is due, worst first";
    await t.until(
      async () =>
        (await names(page, table)).slice(0, 3).join() === "shop.never,shop.orders,shop.carts",
      "never, overdue, soon",
    );
    const never = await cells(page, table, "shop.never");
    t.equal(`${never[1]} ${never[3]}`, "! never repaired never");
    t.ok((await cells(page, table, "shop.orders"))[1].startsWith("! 2 d"), "2 days overdue");
    t.ok((await cells(page, table, "shop.carts"))[1].startsWith("23 h"), "a day is left");
    t.ok((await cells(page, table, "shop.users"))[1].startsWith("7 d 23 h"), "8 days are left");
    t.equal((await cells(page, table, "shop.orders"))[5], "75 %");
    const bad = page.getByRole("table", { name: table }).locator(".table-row.bad");
    t.equal(await bad.count(), 2);
    const calendar = page.getByRole("img", {
      name: /^shop\.orders was repaired in full on .* ago/,
    });
    await calendar.waitFor();
    await page.getByRole("button", { name: /never repaired/ }).click();
    t.ok(page.url().includes("state=never"), page.url());
    await t.until(async () => (await names(page, table)).length === 1, "one was never repaired");
    const session = await cells(page, "Repairs that run", "shop.orders,carts");
    t.equal(`${session[1]} ${session[2]}`, "10.0.0.501 40 %");
    await harmless(page, t, "repairs");
  },

  "clients by driver: who is outdated and why; addresses on opening": async (page, t) => {
    await nodesOf(t);
    await t.open("#/activity?view=clients&cluster=busy");
    const table = "Clients by driver";
    await t.until(async () => {
      const row = await cells(page, table, "4.17.0");
      return row[4] === "yes" && row[5] === "240" && /\/s$/.test(row[6]) && row[7] === "2";
    }, "the newest driver");
    t.equal((await cells(page, table, "report"))[1], "! 4.9.0");
    t.equal((await cells(page, table, "gocql"))[2], "4");
    await page.getByRole("button", { name: "2 outdated" }).click();
    t.ok(page.url().includes("only=outdated"), page.url());
    await t.until(async () => (await names(page, table)).length === 2, "only those");
    await page.getByRole("button", { name: "DataStax Java driver" }).click();
    await page.getByText("It is outdated: others use version 4.17.0 of this driver.").waitFor();
    await page.getByText("10.0.0.9:51000").first().waitFor();
    await page.getByRole("button", { name: "gocql" }).click();
    await page.getByText("It is outdated: Cassandra speaks protocol 5.").waitFor();
    await page.getByRole("button", { name: "2 outdated" }).click();
    await page.getByPlaceholder("Filter: driver, user, address").fill("10.0.0.8");
    await t.until(async () => (await names(page, table)).length === 1, "one has this address");
    await harmless(page, t, "clients");
  },

  "slow queries by statement lead to their events": async (page, t) => {
    await nodesOf(t);
    await t.open("#/activity?view=queries&cluster=busy&range=1h");
    const table = "Slow queries, worst first";
    const statement = "SELECT * FROM shop.orders WHERE id = ? AND at > ?";
    await t.until(async () => {
      const row = await cells(page, table, statement);
      return row[1] === "shop.orders" && row[3] === "1.5 s" && row[4] === "2";
    }, "the slow statement");
    t.ok((await names(page, table))[0].includes(statement), "it is not first");
    await page.getByRole("button", { name: statement }).click();
    await harmless(page, t, "slow queries");
    await page.getByRole("link", { name: "Events of this statement" }).click();
    await page.waitForURL((u) => u.hash.startsWith("#/events?"));
    await t.until(async () => {
      const texts = await page.locator(".event summary").allTextContents();
      return texts.length > 0 && texts.every((x) => x.includes(statement));
    }, "its events");
  },

  "snapshots stand where there are some": async (page, t) => {
    const [node] = await nodesOf(t);
    for (const hash of [`#/node/${node.id}`, "#/cluster/busy"]) {
      await t.open(hash);
      const row = await cells(page, "Snapshots, oldest first", "shop.orders");
      t.equal(row.slice(2).join(), `${hash.includes("node") ? "3 GiB" : "6 GiB"},90 d,1 d`);
      await harmless(page, t, hash);
    }
    await t.open(`#/node/${node.id}`);
    const facts = page.getByLabel("Facts").first();
    await t.until(async () => /Incremental backups\s+on/.test(await facts.innerText()), "a fact");
    await t.open("#/cluster/rest");
    await page.getByText("Nothing runs.").waitFor();
    t.equal(await page.getByText("Snapshots, oldest first").count(), 0);
  },

  "where nothing is the page says what would be there": async (page, t) => {
    for (const [name, text] of [
      ["events", "Nothing happened in this time."],
      ["tasks", "Nothing runs."],
      ["repairs", "No table is known that must be repaired"],
      ["clients", "No client is connected"],
      ["queries", "Cassandra called no query slow"],
    ]) {
      await t.open(pages[name]);
      await page.getByText(text).first().waitFor();
    }
  },

  "an answer that is an error is a sentence, and the page goes on": async (page, t) => {
    await nodesOf(t);
    const failing = (status, message) => (route) =>
      route.fulfill({ status, json: { error: { reason: "why", message } } });
    for (const [status, said] of [
      [403, "This key may not see this. The key lacks <b>read</b>."],
      [500, "This could not be loaded. The store is away."],
    ]) {
      const message = status === 403 ? "the key lacks <b>read</b>" : "the store is away";
      await page.route(
        /\/v1\/(events|tasks|clients|repairs|slow-queries)/,
        failing(status, message),
      );
      for (const hash of Object.values(pages)) {
        await t.open(hash);
        await page.getByText(said).first().waitFor();
        await harmless(page, t, hash);
      }
      await t.open("#/cluster/busy?range=15m"); // its charts stand without events
      await page.locator('[data-title="Pending compactions"] .legend .number').first().waitFor();
      await page.unrouteAll({ behavior: "ignoreErrors" });
    }
    await t.open(pages.events);
    await page.route(/\/v1\/events\?.*cursor=/, failing(503, "the store is away"));
    await page.getByRole("button", { name: "Load older events" }).click();
    await page.getByText("The store is away.").first().waitFor();
    const before = await page.locator(".event").count();
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await page.getByRole("button", { name: "Try again" }).click();
    await t.until(async () => (await page.locator(".event").count()) > before, "older ones");
  },
};

for (const [name, hash] of Object.entries(pages)) {
  tests[`${name} on a narrow screen; no violation that axe knows, dark and light`] = async (
    page,
    t,
  ) => {
    await nodesOf(t);
    await page.setViewportSize({ width: 380, height: 800 });
    await t.open(hash);
    await harmless(page, t, hash);
    const cut = (await cutTexts(page)).filter((text) => !/img src|wwww|xxxx|группа/.test(text));
    t.ok(cut.length === 0, `${hash}: cut: ${cut.join(", ")}`);
    await page.setViewportSize({ width: 1280, height: 900 });
    await t.settle();
    await inspect(page, t);
    await page.emulateMedia({ colorScheme: "light" });
    await inspect(page, t, ["color-contrast", "link-in-text-block"]);
  };
}

export const options = Object.fromEntries(Object.keys(tests).map((name) => [name, { key }]));
options["where nothing is the page says what would be there"] = { key: emptyKey };
