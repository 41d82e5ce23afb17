// Drives the console in a real browser against a running API, and prints a line a test:
//
//   ok NAME
//   FAIL NAME: why
//
// The Go test that starts it has started the API and a monitored Cassandra under load. It tells in
// the environment where they are:
//
//   BASE       URL of the API
//   KEY        a key of the account that owns the monitored cluster, OTHER_KEY one of another account
//   CLUSTER    name of the monitored cluster, NODE the id of its node
//   STAGE      URL of what changes the world when a test asks for it (see t.stage)
//   CHROMIUM   path of the browser; /usr/bin/chromium if left out
//   ONLY       runs only tests whose names contain this
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const { BASE, KEY, OTHER_KEY, CLUSTER, NODE, STAGE, ONLY } = process.env;
const here = dirname(fileURLToPath(import.meta.url));
const patience = 120_000; // ms; machines may be ten times slower from one minute to the next

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});

/** What a test has at hand. */
class Test {
  constructor(page, key, faults) {
    this.page = page;
    this.key = key;
    this.faults = faults;
    this.base = BASE;
    this.cluster = CLUSTER;
    this.node = NODE;
    this.otherKey = OTHER_KEY;
  }

  /** Goes to a place and waits until nothing is loaded any more. */
  async open(hash) {
    await this.page.goto(`${BASE}/#/`); // a page that is open already would not load again
    await this.page.goto(`${BASE}/${hash}`);
    await this.settle();
  }

  /** Waits until nothing is a placeholder. */
  async settle() {
    await this.page.waitForFunction(
      () =>
        document.querySelector("main") &&
        [...document.querySelectorAll(".bone")].every((e) => {
          const { top, bottom } = e.getBoundingClientRect();
          return top > innerHeight || bottom < 0; // charts out of sight wait
        }),
      undefined,
      { timeout: patience },
    );
  }

  /** JSON of a path of the API. */
  async get(path) {
    const a = await fetch(BASE + path, { headers: { Authorization: `Bearer ${this.key}` } });
    if (!a.ok) throw new Error(`${path}: ${a.status} ${await a.text()}`);
    return a.json();
  }

  /** The series of an instant query. */
  async query(expr) {
    return (await this.get(`/api/v1/query?${new URLSearchParams({ query: expr })}`)).data.result;
  }

  /** Changes the world, as the Go test offers it. */
  async stage(action) {
    const a = await fetch(`${STAGE}/${action}`, { method: "POST" });
    if (!a.ok) throw new Error(`${action}: ${await a.text()}`);
  }

  ok(condition, message) {
    if (!condition) throw new Error(message);
  }

  equal(a, b) {
    if (a !== b) throw new Error(`${JSON.stringify(a)} is not ${JSON.stringify(b)}`);
  }

  near(a, b, part) {
    if (!(Math.abs(a - b) <= part * Math.max(Math.abs(a), Math.abs(b)))) {
      throw new Error(`${a} is not near ${b}`);
    }
  }

  /** Asks again and again until the condition holds. */
  async until(condition, what) {
    const end = Date.now() + patience;
    let last = "";
    while (Date.now() < end) {
      try {
        if (await condition()) return;
        last = "";
      } catch (e) {
        last = `: ${e.message}`;
      }
      await this.page.waitForTimeout(200); // between two looks
    }
    throw new Error(`${what} did not happen${last}`);
  }
}

/** A page that is signed in, whose faults are written down. */
async function open(key, { width = 1280, height = 900, colorScheme = "dark" } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme });
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  const faults = [];
  page.on("console", (m) => {
    // What the browser says of an answer that is no success is not the console's own word.
    if (m.type() === "error" && !m.text().startsWith("Failed to load resource")) {
      faults.push(m.text());
    }
  });
  page.on("pageerror", (e) => faults.push(e.message));
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (e) => {
      console.error(`the policy forbids ${e.violatedDirective} of ${e.blockedURI}`);
    });
  });
  await page.goto(`${BASE}/#key=${key}`);
  return { context, page, faults };
}

let failed = 0;

async function run(name, test, options = {}) {
  if (ONLY && !name.includes(ONLY)) return;
  const key = options.key ?? KEY;
  const { context, page, faults } = await open(key, options);
  const began = Date.now();
  try {
    await test(page, new Test(page, key, faults));
    if (faults.length > 0) throw new Error(`the browser says ${faults.join("; ")}`);
    console.log(`ok ${name}\t${((Date.now() - began) / 1000).toFixed(1)} s`);
  } catch (e) {
    failed++;
    const why = String(e.message).split("\n").slice(0, 12).join(" | ");
    console.log(`FAIL ${name}: ${why}`);
    if (process.env.SHOTS) {
      await page.screenshot({ path: join(process.env.SHOTS, `${name.replace(/\W+/g, "-")}.png`) });
    }
  } finally {
    await context.close();
  }
}

const files = (await readdir(here)).filter((f) => f.endsWith(".mjs") && f !== "run.mjs").sort();
for (const file of files) {
  const { tests = {}, options = {} } = await import(join(here, file));
  for (const [name, test] of Object.entries(tests)) {
    await run(`${file.slice(0, -4)}: ${name}`, test, options[name]);
  }
}
await browser.close();
process.exit(failed > 0 ? 1 : 0);
