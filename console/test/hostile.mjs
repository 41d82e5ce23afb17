// A node of another account, whose names and facts are markup. It falls silent at the end of this;
// silent.mjs looks at it again.
const key = process.env.OTHER_KEY;

export const tests = {
  "names and facts of a node stay text, and it turns late": async (page, t) => {
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
    await row.locator(".state.late").waitFor();
  },
};

export const options = {
  "names and facts of a node stay text, and it turns late": { key },
};
