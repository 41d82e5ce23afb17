// The node of hostile.mjs, of which nothing comes any more.
export const tests = {
  "a silent node is down": async (page, t) => {
    await t.open("#/fleet");
    const row = page.getByRole("row").filter({ hasText: "onerror" }).first();
    await row.locator(".state.down").waitFor();
    await page.getByRole("button", { name: /^1\s*down$/ }).click();
    t.ok(page.url().includes("state=down"), page.url());
    await row.waitFor();
  },
};

export const options = { "a silent node is down": { key: process.env.OTHER_KEY } };
