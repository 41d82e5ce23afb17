// The words of the pipeline fit the installation.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./build.mjs";

const { enginesOf, hops, hopsOf } = await load("pages/hops.ts");

const ingest = { tls: false, port: 9471 };

test("without engines no word is of Kafka, Cassandra or Redis", () => {
  const here = { stream: "directory", store: "directory", recent: "memory", ingest };
  const words = hopsOf(here).flatMap((h) => [h.name, h.what, ...h.figures.map((f) => f.title)]);
  for (const word of [...words, ...Object.values(enginesOf(here))]) {
    assert.doesNotMatch(word, /Kafka|Cassandra|Redis/);
  }
  assert.equal(hopsOf(here).length, hops.length);
});

test("with engines they are named", () => {
  const here = { stream: "kafka", store: "cassandra", recent: "redis", ingest };
  assert.deepEqual(hopsOf(here), hops);
  assert.deepEqual(enginesOf(here), { stream: "Kafka", store: "Cassandra", recent: "Redis" });
});
