// Signing in: what stays, where the key is not, and how it ends.

/** Everything that a script of the page can read and that outlives it. */
const readable = (page) =>
  page.evaluate(() =>
    JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }, location.href]),
  );

const fleet = (page) => page.locator('main[data-place=""], main[data-place="fleet"]').waitFor();

/** The status of a request with the browser's cookie, but with these headers. */
async function statusOf(page, t, headers, path = "/v1/me") {
  const cookie = (await page.context().cookies()).map((c) => `${c.name}=${c.value}`).join("; ");
  return (await fetch(t.base + path, { headers: { Cookie: cookie, ...headers } })).status;
}

const ours = { "Ringwatch-Console": "1" };

export const tests = {
  "somebody stays signed in in another tab, and no script can read by what": async (page, t) => {
    await fleet(page);
    t.ok(!(await readable(page)).includes("rw_"), "a script can read a key or a token");
    const other = await page.context().newPage();
    await other.goto(`${t.base}/#/pipeline`);
    await other.getByRole("heading", { level: 1, name: "Pipeline" }).waitFor();
    await other.reload();
    await other.getByRole("heading", { level: 1, name: "Pipeline" }).waitFor();
    const [cookie] = await page.context().cookies();
    t.ok(cookie.httpOnly && cookie.sameSite === "Strict", JSON.stringify(cookie));
    t.ok(!cookie.value.includes(t.key), "the cookie has the key");
    await other.close();
  },

  "the cookie is no key for another site's page": async (page, t) => {
    await fleet(page);
    t.equal(await statusOf(page, t, ours), 200);
    t.equal(await statusOf(page, t, {}), 401);
    t.equal(await statusOf(page, t, { ...ours, "Sec-Fetch-Site": "cross-site" }), 401);
    t.equal(await statusOf(page, t, { ...ours, "Sec-Fetch-Site": "same-site" }), 401);
    const asked = await fetch(`${t.base}/v1/keys`, {
      method: "OPTIONS",
      headers: {
        Origin: "https://elsewhere.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "ringwatch-console",
      },
    });
    t.equal(asked.headers.get("Access-Control-Allow-Origin"), null);
  },

  "signing out ends the session for whoever has a copy": async (page, t) => {
    await fleet(page);
    const cookie = (await page.context().cookies()).map((c) => `${c.name}=${c.value}`).join("; ");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("API key").waitFor();
    t.equal((await page.context().cookies()).length, 0);
    const status = async () =>
      (await fetch(`${t.base}/v1/me`, { headers: { Cookie: cookie, ...ours } })).status;
    await t.until(async () => (await status()) === 401, "the copy's end");
    await page.reload();
    await page.getByLabel("API key").waitFor();
  },

  "a key that is pasted into an open tab signs in": async (page, t) => {
    await fleet(page);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("API key").waitFor();
    await page.evaluate((key) => (location.hash = `#key=${key}`), t.key);
    await fleet(page);
    t.ok(!page.url().includes("rw_"), page.url());
    await page.evaluate(() => (location.hash = "#key=rw_wrong"));
    await page.locator('.signin [role="alert"]').waitFor();
    t.ok(!page.url().includes("rw_"), page.url());
  },

  "while the key of a link is on its way the page says so": async (page, t) => {
    const other = await page.context().newPage();
    let arrive;
    const go = new Promise((f) => (arrive = f));
    await other.route("**/v1/session", async (r) => {
      await go;
      await r.continue();
    });
    await other.goto(`${t.base}/#key=${t.key}`);
    const button = other.getByRole("button", { name: "Signing in" });
    await button.waitFor();
    t.ok(await button.isDisabled(), "somebody can sign in twice");
    arrive();
    await fleet(other);
    await other.close();
  },

  "an end that nobody wanted is said once, and the place stays": async (page, t) => {
    await t.open(`#/cluster/${t.cluster}`);
    const [cookie] = await page.context().cookies();
    await page.context().addCookies([{ ...cookie, value: "rw_0000000000_gone" }]);
    await t.again();
    await page.getByText("You are no longer signed in").waitFor();
    t.equal(await page.locator('[role="alert"]').count(), 1);
    await page.getByLabel("API key").fill(t.key);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.locator(`main[data-place="cluster/${t.cluster}"]`).waitFor();
  },

  "a page that is opened while the API is away comes when it is back": async (page, t) => {
    await fleet(page);
    const other = await page.context().newPage();
    const parts = "**/assets/tables-*.js";
    await other.route(parts, (r) => r.abort());
    await other.goto(`${t.base}/#/tables`);
    await other.getByText("This page could not be loaded").waitFor();
    await other.unroute(parts);
    await other.getByRole("heading", { level: 1, name: "Tables" }).waitFor();
    await other.close();
  },
};

export const options = Object.fromEntries(Object.keys(tests).map((name) => [name, { own: true }]));
