// What is kept quiet: at an alert, a node and a cluster, on its page, and by a link.
import { inspect } from "./every.mjs";

const { EMPTY_KEY: emptyKey } = process.env;
const author = "console test";
const alertmanager = "/alertmanager/api/v2";

/** A rule file whose alert fires of the node at once, as a warning and gravely. */
const rules = (node) => `groups:
  - name: drill
    interval: 1s
    rules:${["warning", "critical"]
      .map(
        (severity) => `
      - alert: QuietDrill
        expr: >-
          group by (cluster, node)
          (jvm_start_time_seconds{node="${node}"} or up{node="${node}"})
        labels: {severity: ${severity}}
        annotations: {summary: "A drill, ${severity}"}`,
      )
      .join("")}
`;

async function ask(t, method, path, body) {
  const headers = { Authorization: `Bearer ${t.key}` };
  const a = await fetch(t.base + path, { method, headers, ...(body && { body }) });
  if (!a.ok) throw new Error(`${method} ${path}: ${a.status} ${await a.text()}`);
}

/** The silences of these tests that hold. */
const silences = async (t) =>
  (await t.get(`${alertmanager}/silences`)).filter(
    (s) => s.createdBy === author && s.status.state !== "expired",
  );

/** Takes away what a test has made. */
async function tidy(t) {
  for (const { id } of await silences(t)) await ask(t, "DELETE", `${alertmanager}/silence/${id}`);
}

/** Runs a test while the alert fires. */
async function withDrill(t, run) {
  await ask(t, "PUT", "/v1/rules/quiet-drill.yaml", rules(t.node));
  try {
    await t.until(async () => {
      const list = await t.get(`${alertmanager}/alerts`);
      return list.filter((a) => a.labels.alertname === "QuietDrill").length === 2;
    }, "the alerts");
    await run();
  } finally {
    await tidy(t);
    await ask(t, "DELETE", "/v1/rules/quiet-drill.yaml");
  }
}

const dialog = (page) => page.locator("dialog.quiet-form");

async function fill(page, because) {
  await dialog(page).getByLabel("because").fill(because);
  await dialog(page).getByLabel("by", { exact: true }).fill(author);
}

export const tests = {
  "an alert is kept quiet where it stands, and ended there": async (page, t) => {
    await withDrill(t, async () => {
      await t.open("#/alerts?q=QuietDrill&severity=critical");
      const item = page.locator('.alert-item[data-alert="QuietDrill"]');
      await item.getByRole("button", { name: "Quiet…" }).click();
      const form = dialog(page);
      await form.waitFor();
      const what = await form.locator(".quiet-what").textContent();
      t.ok(
        what.startsWith("QuietDrill of node ") && what.endsWith(`in cluster ${t.cluster}`),
        what,
      );
      await form.locator('[data-preview="2"]').waitFor();
      await inspect(page, t);
      await form.getByRole("button", { name: "Keep quiet" }).click();
      await form.getByText("Say why: others will ask.").waitFor();
      await fill(page, "a <b>drill</b>");
      await page.keyboard.press("Enter");
      await form.waitFor({ state: "detached" });
      const focused = await page.evaluate(() => document.activeElement?.className);
      t.equal(focused, "quiet-button");
      const lines = item.locator(".quiet-lines");
      await lines.waitFor();
      const text = await lines.textContent();
      t.ok(text.includes(`by ${author}: a <b>drill</b>`), text);
      await page.locator('.tile:has-text("firing"):has-text("quiet")').waitFor();
      const [silence] = await silences(t);
      t.equal(
        silence.matchers.map((m) => `${m.name}=${m.value}`).join(" "),
        `alertname=QuietDrill cluster=${t.cluster} node=${t.node}`,
      );
      t.near(Date.parse(silence.endsAt) - Date.parse(silence.startsAt), 3_600_000, 0.05);
      const choice = page.locator('label.field:has-text("quiet") select');
      await choice.selectOption("no");
      await page.getByText("No alert is like that.").waitFor();
      await choice.selectOption("alone");
      await item.getByRole("button", { name: "End: " }).click();
      await t.until(async () => (await silences(t)).length === 0, "its end");
      await t.open("#/alerts?q=QuietDrill&severity=warning");
      await item.getByText("critical QuietDrill says it already").waitFor();
    });
  },

  "a node, its cluster and the list say what is quiet": async (page, t) => {
    await withDrill(t, async () => {
      await t.open(`#/node/${t.node}`);
      await page.getByRole("button", { name: "Quiet…" }).first().click();
      await dialog(page).getByLabel("4 h").check();
      await fill(page, "maintenance: a restart");
      await dialog(page).getByRole("button", { name: "Keep quiet" }).click();
      const above = page.locator('section[aria-label="What is quiet"]');
      await above.waitFor();
      const text = await above.textContent();
      t.ok(/all alerts of node .* maintenance until .*: a restart/.test(text), text);
      await page.locator('.hurts li:has-text("QuietDrill") .quiet-mark').waitFor();
      const mark = page.locator(`.marks li:has-text("Maintenance by ${author}: a restart")`);
      await mark.first().waitFor({ state: "attached" });
      await t.open(`#/cluster/${encodeURIComponent(t.cluster)}`);
      await above.getByText("a restart").waitFor();
      await t.open("#/quiet");
      const [silence] = await silences(t);
      const item = page.locator(`[data-silence="${silence.id}"]`);
      await t.until(
        async () => (await item.locator('.label:has-text("QuietDrill")').count()) === 2,
        "the alerts that it keeps quiet",
      );
      await inspect(page, t);
      await item.getByRole("button", { name: "Change: " }).click();
      await dialog(page).getByLabel("because").fill("maintenance: a new disk");
      await dialog(page).getByRole("button", { name: "Change it" }).click();
      await page.locator('section[aria-label="Quiet now"]').getByText("a new disk").waitFor();
      t.equal((await silences(t)).length, 1);
      const now = page.locator('section[aria-label="Quiet now"] li:has-text("a new disk")');
      await now.getByRole("button", { name: "End: " }).click();
      await page
        .locator('section[aria-label="Ended lately"] li:has-text("a new disk")')
        .first()
        .waitFor();
      await t.until(async () => (await now.count()) === 0, "its end");
    });
  },

  "a link opens the form, and Escape closes it": async (page, t) => {
    const params = new URLSearchParams({ cluster: t.cluster, node: t.node, alert: "NodeDiskFull" });
    await t.open(`#/quiet?${params}`);
    await dialog(page).getByText("NodeDiskFull of node").waitFor();
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "detached" });
    t.ok(!page.url().includes("NodeDiskFull"), page.url());
    await page.setViewportSize({ width: 380, height: 800 });
    await t.open(`#/quiet?${params}`);
    await dialog(page).locator("summary").click();
    const wide = await dialog(page).evaluate((d) => d.scrollWidth - d.clientWidth);
    t.ok(wide <= 0, `the form is ${wide} pixels too wide`);
    await page.keyboard.press("Escape");
  },

  "everything is asked twice, and what is wrong is said": async (page, t) => {
    await t.open("#/quiet");
    await page.getByRole("button", { name: "Keep something quiet…" }).click();
    const form = dialog(page);
    await fill(page, "everything");
    const submit = form.locator('button[type="submit"]');
    await submit.click();
    await form.getByText("at least one condition").waitFor();
    await form.getByLabel("Label of condition 1").fill("alertname");
    await form.getByLabel("Comparison of condition 1").selectOption("is like");
    await form.getByLabel("Value of condition 1").fill(".+");
    await form.getByLabel("Until this time").fill("2020-01-01T00:00");
    await submit.click();
    await form.getByText("The end must be later than now.").waitFor();
    const from = form.getByLabel("from", { exact: true });
    await from.fill("2020-01-01T00:00");
    await submit.click();
    await form.getByText("The beginning must be later than now, or empty.").waitFor();
    await from.fill("2099-01-01T00:00");
    await submit.click();
    await form.getByText("The end must be later than the beginning.").waitFor();
    await form.getByLabel("1 h").check();
    await form.getByText("It ends at 2099-01-01 01:00").waitFor();
    await from.fill("");
    await submit.click();
    await form.getByText("Nothing narrows this").waitFor();
    t.equal(await submit.textContent(), "Keep all of it quiet");
    await form.getByLabel("Value of condition 1").fill("(");
    await submit.click();
    await form.getByText("error parsing regexp").waitFor();
    t.equal((await silences(t)).length, 0);
    await form.getByRole("button", { name: "Close" }).click();
  },

  "a key without the scope sees it, and is told what it lacks": async (page, t) => {
    await t.open("#/quiet");
    await page.locator("main").getByText("it lacks the scope rules").waitFor();
    await page.getByRole("button", { name: "Keep something quiet…" }).click();
    await dialog(page).getByText("it lacks the scope rules").waitFor();
    t.equal(await dialog(page).locator('button[type="submit"]').count(), 0);
    await page.keyboard.press("Escape");
  },

  "a process without an Alertmanager is asked once, and says who has one": async (page, t) => {
    let requests = 0;
    const error = { reason: "no_alertmanager", message: "nobody is told here: ask another" };
    await page.route(`**${alertmanager}/**`, (route) => {
      requests++;
      return route.fulfill({ status: 501, json: { error } });
    });
    await t.anew();
    await t.open("#/quiet");
    await page.locator("main").getByText("Nobody is told here: ask another.").waitFor();
    const asked = requests;
    t.ok(asked <= 2, `it is asked ${asked} times`);
    await page.getByRole("button", { name: "Keep something quiet…" }).click();
    await dialog(page).getByText("Nobody is told here").waitFor();
    await page.keyboard.press("Escape");
    await t.open("#/alerts");
    await t.again();
    t.equal(requests, asked);
  },

  "the cookie silences nothing for another site's page": async (page, t) => {
    const cookie = (await page.context().cookies()).map((c) => `${c.name}=${c.value}`).join("; ");
    const ours = { "Ringwatch-Console": "1", "Content-Type": "application/json" };
    const post = async (headers) =>
      (
        await fetch(`${t.base}${alertmanager}/silences`, {
          method: "POST",
          headers: { Cookie: cookie, ...headers },
          body: "{}",
        })
      ).status;
    t.equal(await post({ "Content-Type": "application/json" }), 401);
    t.equal(await post({ ...ours, "Sec-Fetch-Site": "cross-site" }), 401);
    t.equal(await post({ ...ours, "Content-Type": "text/plain" }), 415);
    t.equal(await post(ours), 422); // it is let in, and says nothing
  },
};

export const options = {
  "an alert is kept quiet where it stands, and ended there": { alone: true },
  "a node, its cluster and the list say what is quiet": { alone: true },
  "a key without the scope sees it, and is told what it lacks": { key: emptyKey },
  "a process without an Alertmanager is asked once, and says who has one": { own: true },
};
