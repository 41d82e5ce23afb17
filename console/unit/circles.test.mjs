// No file of the sources imports itself by way of others: each can be read, and changed, with what
// it imports and no more.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import ts from "typescript";

const src = fileURLToPath(new URL("../src", import.meta.url));

/** The files of src that a file of it imports, types too. */
function imported(name) {
  const { importedFiles } = ts.preProcessFile(readFileSync(join(src, name), "utf8"));
  return importedFiles
    .filter(({ fileName }) => fileName.startsWith("."))
    .flatMap(({ fileName }) =>
      [".ts", ".tsx"]
        .map((end) => join(dirname(name), fileName + end))
        .filter((file) => existsSync(join(src, file))),
    );
}

/** The first circle of imports among files, or nothing. */
function circle(imports) {
  const done = new Set();
  const walk = (name, way) => {
    if (way.includes(name)) return [...way.slice(way.indexOf(name)), name];
    if (done.has(name)) return null;
    done.add(name);
    for (const next of imports.get(name) ?? []) {
      const found = walk(next, [...way, name]);
      if (found) return found;
    }
    return null;
  };
  for (const name of imports.keys()) {
    const found = walk(name, []);
    if (found) return found.join(" → ");
  }
  return null;
}

test("sources do not import each other in circles", () => {
  const names = readdirSync(src, { recursive: true }).filter((n) => /(?<!\.d)\.tsx?$/.test(n));
  const imports = new Map(names.map((name) => [name, imported(name)]));
  assert.ok([...imports.values()].flat().length > 3 * names.length, "imports are found");
  assert.equal(circle(imports), null);
});

test("a circle is found", () => {
  const imports = (last) =>
    new Map([
      ["a", ["b", "c"]],
      ["b", ["c"]],
      ["c", ["d"]],
      ["d", last],
    ]);
  assert.equal(circle(imports([])), null);
  assert.equal(circle(imports(["b"])), "b → c → d → b");
});
