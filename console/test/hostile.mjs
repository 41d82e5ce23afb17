// A node of another account, whose names and facts are markup, until it falls silent.
const key = process.env.OTHER_KEY;

export const tests = {
  "names and facts of a node stay text; silent, it turns late, then down": async (page, t) => {
    await t.stage("hostile");
    await page.evaluate(() => {
      window.struck = false; // what the markup would change
    });
    await t.open("#/fleet");
    const row = page.getByRole("row").filter({ hasText: "onerror" }).first();
    await row.locator(".state.up").waitFor();
    const [node] = await t.get("/v1/nodes");
    const cluster = encodeURIComponent(node.cluster);
    for (const hash of [
      "#/fleet?q=onerror",
      `#/cluster/${cluster}`,
      `#/node/${node.id}`,
      `#/tables/${cluster}`,
      "#/alerts",
      "#/explore?expr=up",
    ]) {
      await t.open(hash);
      t.equal(await page.locator("img").count(), 0);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      t.ok(wide <= 1280, `${hash} is ${wide} pixels wide`);
    }
    t.equal(await page.evaluate(() => window.struck), false);
    await t.open("#/fleet");
    await t.stage("silence");
    await t.until(() => row.locator(".state.late").isVisible(), "it is late");
    await t.until(() => row.locator(".state.down").isVisible(), "it is down");
    await page.getByRole("button", { name: /^1\s*down$/ }).click();
    t.ok(page.url().includes("state=down"), page.url());
    await row.waitFor();
  },
};

export const options = {
  "names and facts of a node stay text; silent, it turns late, then down": {
    key,
    first: true,
  },
};
