// Bundles the console into dist, or into the folder that is named. The same sources give the same
// bytes: a test builds them again and compares.
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { build } from "esbuild";

const out = process.argv[2] ?? "dist";
await rm(out, { recursive: true, force: true });
await mkdir(join(out, "assets"), { recursive: true });

/** Keeps a file under a name that has its hash, and returns the name. */
async function keep(name, extension, body) {
  const hash = createHash("sha256").update(body).digest("hex").slice(0, 8);
  const path = `assets/${name}-${hash}.${extension}`;
  await writeFile(join(out, path), body);
  return path;
}

/** The runbooks' sections by their headings. */
async function runbooks() {
  const sections = {};
  const folder = "../docs/runbooks";
  for (const file of (await readdir(folder)).filter((f) => f.endsWith(".md")).sort()) {
    const parts = (await readFile(join(folder, file), "utf8")).split(/^## /m).slice(1);
    for (const part of parts) {
      const end = part.indexOf("\n");
      sections[part.slice(0, end).trim()] = part.slice(end).trim();
    }
  }
  return JSON.stringify(sections);
}

const runbooksName = await keep("runbooks", "json", await runbooks());
const result = await build({
  entryPoints: { console: "src/main.tsx", style: "src/style.css" },
  bundle: true,
  minify: true,
  splitting: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  outdir: join(out, "assets"),
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  legalComments: "none",
  define: { RUNBOOKS: JSON.stringify(`/${runbooksName}`) },
  metafile: true,
  logLevel: "warning",
});

/** The name of what an entry point became. */
function made(entry) {
  for (const [file, { entryPoint }] of Object.entries(result.metafile.outputs)) {
    if (entryPoint === entry) return `assets/${basename(file)}`;
  }
  throw new Error(`${entry} was not built`);
}

/** What an entry point imports at once: the browser asks for it together with the script. */
function needed(entry) {
  const { outputs } = result.metafile;
  const [file] = Object.keys(outputs).filter((f) => outputs[f].entryPoint === entry);
  const found = new Set();
  const follow = (f) => {
    for (const { path, kind } of outputs[f].imports) {
      if (kind !== "import-statement" || found.has(path)) continue;
      found.add(path);
      follow(path);
    }
  };
  follow(file);
  return [...found].sort().map((f) => `<link rel="modulepreload" href="/assets/${basename(f)}" />`);
}

const iconName = await keep("icon", "svg", await readFile("src/icon.svg"));
const page = (await readFile("src/index.html", "utf8"))
  .replace("%SCRIPT%", `/${made("src/main.tsx")}`)
  .replace("%NEEDED%", needed("src/main.tsx").join("\n    "))
  .replace("%STYLE%", `/${made("src/style.css")}`)
  .replace("%ICON%", `/${iconName}`);
await writeFile(join(out, "index.html"), page);
console.log(`${out}: ${(await readdir(join(out, "assets"))).length} files`);
