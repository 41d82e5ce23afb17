// Makes a module of the console's sources one that node runs.
import { Buffer } from "node:buffer";
import { build } from "esbuild";

/** What a file of src exports. */
export async function load(name) {
  const { outputFiles } = await build({
    entryPoints: [new URL(`../src/${name}`, import.meta.url).pathname],
    bundle: true,
    write: false,
    format: "esm",
    platform: "neutral",
  });
  return import(
    `data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString("base64")}`
  );
}
