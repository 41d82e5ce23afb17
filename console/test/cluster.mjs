// The pages of a cluster and of a node show what the API says.
import { called, clusterPlace, newest, nodePlace, shows } from "./read.mjs";

export const tests = {
  "a cluster's head counts its nodes by state and names its version and schema": async (
    page,
    t,
  ) => {
    await t.open(clusterPlace(t));
    const own = (await t.get("/v1/nodes")).filter((n) => n.cluster === t.cluster);
    for (const state of ["up", "late", "down"]) {
      const count = own.filter((n) => n.state === state).length;
      await shows(page, t, `[data-count=${state}]`, `${count} ${state}`);
    }
    const facts = page.getByLabel("Facts");
    const version = await t.first(`cassandra_node_version_info{node="${t.node}"}`);
    const schema = await t.first(`cassandra_node_schema_version_info{node="${t.node}"}`);
    t.ok((await facts.innerText()).includes(`Cassandra ${version.metric.value}`), "no version");
    t.ok((await facts.innerText()).includes(schema.metric.value.slice(0, 8)), "no schema");
  },

  "a cluster's charts show requests, latencies, processors and disks as PromQL has them": async (
    page,
    t,
  ) => {
    await t.open(clusterPlace(t, "range=15m"));
    const scope = `cluster="${t.cluster}"`;
    const name = "cassandra_client_request_latency_seconds";
    const node = (await t.get("/v1/nodes")).find((n) => n.id === t.node);
    // Of four frames, or of a step, and not of the five minutes of recorded rates.
    const window = `${Math.max(5, (4 * node.interval_ms) / 1000)}s`;
    const rate = `sum(rate(${name}_count{${scope},request="Write"}[${window}]))`;
    const busy =
      `100 - 100 * sum(rate(os_cpu_seconds_total{${scope},mode=~"idle|iowait"}[${window}]))` +
      ` / sum(rate(os_cpu_seconds_total{${scope}}[${window}]))`;
    const full =
      `max(100 - 100 * os_filesystem_available_bytes{${scope}}` +
      ` / os_filesystem_size_bytes{${scope}})`;
    for (const [title, line, expr] of [
      ["Requests", "Write", rate],
      ["CPU busy", called(node), busy],
      ["Disk used", called(node), full],
    ]) {
      await t.until(async () => {
        const shown = await newest(page, title, line);
        return t.isOf(shown, await t.lately(expr), 0.1);
      }, `${title} of ${line} is what ${expr} gives`);
    }
    for (const title of ["Read latency", "Write latency"]) {
      await t.until(async () => {
        const [p50, p99] = [await newest(page, title, "p50"), await newest(page, title, "p99")];
        return p50 > 0 && p99 >= p50;
      }, `${title} has quantiles that rise`);
    }
    t.equal(await page.locator("figure.chart").count(), 12);
    for (const title of ["Requests", "Read latency"]) {
      const caption = page.locator(`[data-title="${title}"] figcaption`);
      t.ok(!(await caption.innerText()).includes("recorded"), `${title} is recorded`);
      await caption.getByTitle(/^A point each 5 s, of the .+ before it$/).waitFor();
    }
  },

  "a cluster's alerts stand under what hurts, and its map keeps its colour in the address": async (
    page,
    t,
  ) => {
    // The harness has one node: the answer is of two, so that there is a map.
    await page.route(/\/v1\/nodes\?/, async (route) => {
      const node = (await t.get("/v1/nodes")).find((n) => n.id === t.node);
      await route.fulfill({ json: [node, { ...node, id: "other", address: "10.0.0.2" }] });
    });
    await t.open(clusterPlace(t, `by=${encodeURIComponent("n::heapUtilization")}`));
    t.equal(await page.locator("select").last().inputValue(), "n::heapUtilization");
    await t.until(async () => {
      const { data } = await t.get("/api/v1/alerts");
      const names = data.alerts
        .filter((a) => a.labels.cluster === t.cluster && a.state === "firing")
        .map((a) => a.labels.alertname);
      const text = await page.getByLabel("What hurts now").innerText();
      return names.every((n) => text.includes(n));
    }, "every alert of the cluster is listed");
  },

  "a cluster of one node says things once: no map, no list, a way to the node": async (page, t) => {
    await t.open(clusterPlace(t));
    t.equal(await page.getByRole("table", { name: "Nodes, worst first" }).count(), 0);
    t.equal(await page.getByText("Datacenters and racks").count(), 0);
    t.equal(await page.getByText("Who differs from its peers").count(), 0);
    await page.getByLabel("Facts").locator("a").click();
    await t.until(
      async () => page.url().includes(`#/node/${t.node}`),
      "the link leads to the node",
    );
  },

  "a node far from the median of its datacenter is named, with both values": async (page, t) => {
    // The harness has one node: the answers are those of five. The median is 10, the distances
    // from it are 0 in the median, so a tenth of the median counts as the spread.
    const values = [10, 10, 10, 10.5, 50];
    await page.route(/\/v1\/nodes\?/, async (route) => {
      const node = (await t.get("/v1/nodes")).find((n) => n.id === t.node);
      const nodes = values.map((_, i) => ({
        ...{ ...node, id: `peer-${i}`, address: `10.0.0.${i}` },
        facts: { ...node.facts, hostname: `db-${i}` },
      }));
      await route.fulfill({ json: nodes });
    });
    await page.route("**/api/v1/query", async (route) => {
      const comparison = /deviation/.test(route.request().postData() ?? "");
      if (!comparison) return route.continue();
      const result = values.map((v, i) => ({
        metric: { datacenter: "dc1", node: `peer-${i}`, q: "0" },
        value: [Date.now() / 1000, String(v)],
      }));
      await route.fulfill({ json: { status: "success", data: { resultType: "vector", result } } });
    });
    await t.open(clusterPlace(t));
    const rows = page
      .getByRole("table", { name: "Who differs from its peers" })
      .locator(".table-row");
    await t.until(async () => (await rows.count()) === 1, "one node differs");
    const text = (await rows.first().innerText()).replace(/\s+/g, " ").trim();
    t.equal(text, "db-4 (10.0.0.4) CPU utilization 50 % 10 % ↑ 40 ×");
  },

  "a name that is no cluster's stays text": async (page, t) => {
    const name = `"><img src=x onerror=alert(1)>$& {{`;
    await t.open(`#/cluster/${encodeURIComponent(name)}`);
    await shows(page, t, "h1", name);
    t.equal(await page.locator("main img").count(), 0);
    await shows(page, t, ".face", "This key sees no node of a cluster of this name.");
  },

  "a node's page shows who it is, its heap and when it was started": async (page, t) => {
    await t.open(nodePlace(t, "range=1h"));
    const node = (await t.get("/v1/nodes")).find((n) => n.id === t.node);
    await shows(page, t, "h1", node.address);
    const facts = await page.getByLabel("Facts").innerText();
    for (const text of [node.facts.cassandra_version, node.facts.java_version, node.id]) {
      t.ok(facts.includes(text), `${text} is no fact`);
    }
    await page.locator('[data-title="Heap"]').scrollIntoViewIfNeeded();
    await t.until(async () => {
      const [heap] = await t.query(`jvm_heap_max_bytes{node="${t.node}"}`);
      const shown = await newest(page, "Heap", "most");
      return Math.abs(shown - heap.value[1]) <= 0.01 * heap.value[1];
    }, "the heap's limit is the API's");
    const start = await t.first(`jvm_start_time_seconds{node="${t.node}"}`);
    if (Date.now() / 1000 - start.value[1] > 3000) return; // it left the chart's hour
    const at = new Date(1000 * start.value[1]).toISOString().slice(0, 19).replace("T", " ");
    await t.until(async () => {
      const marks = (await page.locator(".marks").allTextContents()).join();
      return marks.includes("was started") && marks.includes(at);
    }, `a mark at ${at} says that it was started`);
  },

  "a node is compared with another one, and each line is that node's": async (page, t) => {
    await t.stage("pair");
    let pair = [];
    await t.until(async () => {
      pair = (await t.get("/v1/nodes?cluster=pair")).filter((n) => n.state === "up");
      return pair.length === 2;
    }, "two nodes of recordings");
    const [one, other] = pair;
    const [a, b] = [one, other].map(called);
    await t.open(`#/node/${one.id}?range=15m`);
    await shows(page, t, "h1", a);
    await t.until(
      async () => (await page.getByLabel("compare with").locator("option").count()) === 5,
      "the other node can be chosen",
    );
    await page.getByLabel("compare with").selectOption(`with ${other.id}`);
    t.ok(new URL(page.url()).hash.includes(`with=${other.id}`), page.url());
    await page.locator('[data-title="Heap"]').scrollIntoViewIfNeeded();
    // The newest point lies on one of the steps of a while ago, and moves on.
    const used = async (node, end) => {
      const query = `jvm_heap_used_bytes{node="${node.id}"}`;
      const params = new URLSearchParams({ query, start: end - 120, end, step: 5 });
      const { data } = await t.get(`/api/v1/query_range?${params}`);
      return new Map((data.result[0]?.values ?? []).map(([at, value]) => [at, Number(value)]));
    };
    for (const [line, node, not] of [
      ["used", one, other],
      [`used · ${b}`, other, one],
    ]) {
      await t.until(async () => {
        const shown = await newest(page, "Heap", line);
        const end = Math.floor(Date.now() / 5000) * 5;
        const theirs = await used(not, end);
        return [...(await used(node, end))].some(([at, mine]) => {
          const far = Math.abs(mine - theirs.get(at)) > 0.02 * mine;
          return far && Math.abs(shown - mine) <= 0.01 * mine;
        });
      }, `${line} is what the API says of ${node.id}, not of the other`);
    }
    await page.reload(); // a link shows the same
    await t.settle();
    t.equal(await page.getByLabel("compare with").inputValue(), `with ${other.id}`);
  },

  "a node is compared with itself an hour before, and the address says so": async (page, t) => {
    await t.open(nodePlace(t, "range=15m"));
    const asked = page.waitForRequest(
      (r) => /offset\+1h/.test(r.postData() ?? "") && /os_load1/.test(r.postData() ?? ""),
    );
    await page.getByLabel("compare with").selectOption("ago 1h");
    await page.locator('[data-title="Load"]').scrollIntoViewIfNeeded();
    const answer = await (await (await asked).response()).json();
    t.ok(new URL(page.url()).hash.includes("ago=1h"), "the address has no ago=1h");
    const before = answer.data.result.filter((s) => s.metric.q === "1");
    await t.until(async () => {
      const lines = await page.locator('[data-title="Load"] .legend').innerText();
      return lines.includes("1 min · an hour before") === before.length > 0;
    }, "a dashed line stands beside the newest one where there is data of then");
  },
};

export const options = {
  "a node is compared with another one, and each line is that node's": {
    key: process.env.OTHER_KEY,
  },
};
