// The alerts page: what fires, the rules, one of them, and a day's report.

/** The text of all elements that a selector finds. */
const texts = (page, selector) => page.locator(selector).allTextContents();

/** The place of a rule. */
const placeOf = (file, group, name) =>
  `#/alerts/${[file, group, name].map(encodeURIComponent).join("/")}`;

export const tests = {
  "alerts and their counts equal the API's": async (page, t) => {
    await t.open("#/alerts");
    await t.until(async () => {
      const { data } = await t.get("/api/v1/alerts");
      const tile = async (name) =>
        Number(await page.locator(`.tile:has-text("${name}") strong`).first().textContent());
      const count = (state) => data.alerts.filter((a) => a.state === state).length;
      const loud = page.locator('.tile:has-text("firing") span').first();
      const quiet = Number(/and (\d+) quiet/.exec(await loud.textContent())?.[1] ?? 0);
      if ((await tile("firing")) + quiet !== count("firing")) return false;
      if ((await tile("pending")) !== count("pending")) return false;
      const shown = (await texts(page, ".alert-item .alert-name")).sort();
      const want = data.alerts.map((a) => a.labels.alertname).sort();
      return JSON.stringify(shown) === JSON.stringify(want);
    }, "the alerts that the API has");
    const states = await texts(page, ".alert-item .alert-head .state:first-child");
    const firing = states.map((s) => s.includes("firing"));
    t.ok(
      firing.lastIndexOf(true) < (firing.indexOf(false) + 1 || Infinity),
      "firing ones come first",
    );
    const { data } = await t.get("/api/v1/rules?type=alert");
    const watch = data.groups.flatMap((g) => g.rules).length;
    const tile = page.locator('.tile:has-text("alerting rules") strong');
    t.equal(Number(await tile.textContent()), watch);
    if ((await page.locator(".alert-item").count()) === 0) {
      const calm = await page.locator('section[aria-label="Alerts"] .quiet').textContent();
      t.ok(calm.includes("No alert fires.") && calm.includes(String(watch)), calm);
    }
  },

  "all rules are there, by file and group, and filters are in the address": async (page, t) => {
    await t.open("#/alerts");
    const { data } = await t.get("/api/v1/rules");
    for (const g of data.groups) {
      const group = page.locator(`.rule-group[data-group="${g.name}"]`);
      await group.waitFor();
      t.equal(await group.locator(".row-link").count(), g.rules.length);
    }
    await page.fill('section[aria-label="Alerts"] input[type="search"]', "NodeDown");
    await t.until(
      async () => (await texts(page, ".rule-group .row-link")).every((n) => /NodeDown/.test(n)),
      "only the rules that are asked for",
    );
    t.ok(page.url().includes("q=NodeDown"), "it is in the address");
    await page.locator(".rule-group .row-link").first().click();
    await page.locator("h1:has-text('CassandraNodeDown')").waitFor();
  },

  "a rule has its expression, its threshold, its values and its runbook": async (page, t) => {
    const { data } = await t.get("/api/v1/rules");
    const group = data.groups.find((g) => g.rules.some((r) => r.name === "NodeDiskFull"));
    const rule = group.rules.find((r) => r.name === "NodeDiskFull");
    await t.open(placeOf(group.file, group.name, rule.name));
    t.equal((await page.locator("[data-expr]").textContent()).trim(), rule.query);
    const chart = page.locator('.chart[data-title="What the rule sees"]');
    await chart.locator(".legend .number").first().waitFor();
    t.ok((await chart.textContent()).includes("it fires where this is > 0.75"), "the threshold");
    const left = rule.query.replace(/ > 0\.75$/, "");
    await t.until(async () => {
      const most = Math.max(...(await t.query(left)).map((s) => Number(s.value[1])));
      const drawn = (await chart.locator(".legend .number").allTextContents()).map(Number);
      return Math.abs(Math.max(...drawn) - most) <= 0.01;
    }, "the value that the API has");
    const facts = await page.locator(".facts").textContent();
    t.ok(facts.includes("for5 min") && facts.includes(group.file), facts);
    const book = page.locator('section[aria-label="Runbook"]');
    await book.locator("li").first().waitFor();
    t.ok((await book.textContent()).includes("nodetool clearsnapshot"), "the runbook's text");
    const marks = (await book.textContent()).match(/\*\*|`/);
    t.ok(!marks, `Markdown is left as it was written: ${marks}`);
  },

  "an expression that is no comparison with a number is drawn whole": async (page, t) => {
    await t.open(placeOf("cassandra.yaml", "cassandra-availability", "CassandraNodeDown"));
    const chart = page.locator('.chart[data-title="What the rule sees"]');
    await chart.waitFor();
    const text = await chart.textContent();
    t.ok(text.includes("a line only where the expression has a value"), text);
    await t.open(placeOf("cassandra.yaml", "cassandra-availability", "NoSuchRule"));
    await page.locator("text=This rule does not exist.").waitFor();
  },

  "what somebody wrote into the address stays text": async (page, t) => {
    const bad = '"><img src=x onerror=alert(1)>';
    await t.open(`#/alerts?q=${encodeURIComponent(bad)}&cluster=${encodeURIComponent(bad)}`);
    await page.locator("text=No rule has this text").waitFor();
    const alert = encodeURIComponent(JSON.stringify({ alertname: bad, cluster: bad, mount: "$1" }));
    const at = placeOf("cassandra.yaml", "node-machine", "NodeDiskFull");
    await t.open(`${at}?alert=${alert}`);
    await page.locator("text=This alert has ended.").waitFor();
    await page.locator(".silence summary").click();
    const line = await page.locator(".silence pre").textContent();
    t.ok(line.includes("'mount=\"$1\"'"), line);
    await t.open(placeOf(bad, bad, bad));
    t.equal(await page.locator("h1").textContent(), bad);
    t.equal(await page.locator("main img").count(), 0);
  },

  "a report of the last 24 hours, and as a file": async (page, t) => {
    await t.open(`#/alerts?view=report&of=${encodeURIComponent(t.cluster)}`);
    const text = page.locator("pre.report");
    await t.until(async () => (await text.count()) === 1, "the report");
    const shown = await text.textContent();
    t.ok(shown.startsWith(`Cluster ${t.cluster}, `), shown.slice(0, 80));
    t.ok(shown.includes("WORST NODES") && shown.includes("BUSIEST TABLES"), shown);
    const again = [];
    const note = (r) => r.url().includes("format=text") && again.push(r.url());
    page.on("request", note);
    let file;
    page.once("download", (f) => (file = f));
    const button = page.getByRole("button", { name: "Download as HTML" });
    await t.until(async () => {
      // The API gives a report up after two minutes; then somebody presses again.
      if (!file && (await button.count()) === 1) await button.click();
      return file;
    }, "the file");
    await t.again(); // looking at the tab again makes no new report
    await page.evaluate(() => fetch("/").then((a) => a.status)); // after what must not be asked
    page.off("request", note);
    t.equal(again.join(" "), "");
    t.equal(file.suggestedFilename(), `${t.cluster}-24h.html`);
  },
};
