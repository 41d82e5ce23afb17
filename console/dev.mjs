// Serves the console from its sources, built anew for each load of the page, in front of a running
// API: RINGWATCH_API (http://127.0.0.1:9470) and PORT (9480).
import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import { extname } from "node:path";

const api = new URL(process.env.RINGWATCH_API ?? "http://127.0.0.1:9470");
const port = Number(process.env.PORT ?? 9480);
const out = process.env.OUT ?? "/tmp/ringwatch-console-dev";
const kinds = {
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".json": "application/json",
};
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

createServer(async (q, a) => {
  const path = new URL(q.url ?? "/", "http://x").pathname;
  if (path === "/" || path.startsWith("/assets/")) {
    try {
      if (path === "/") execFileSync("node", ["build.mjs", out], { stdio: "inherit" });
      const body = await readFile(out + (path === "/" ? "/index.html" : path));
      const kind = path === "/" ? "text/html" : kinds[extname(path)];
      a.writeHead(200, { "Content-Type": kind, "Content-Security-Policy": policy }).end(body);
    } catch (e) {
      a.writeHead(500).end(String(e));
    }
    return;
  }
  const { hostname, port } = api;
  const on = request({ hostname, port, path: q.url, method: q.method, headers: q.headers }, (r) => {
    a.writeHead(r.statusCode ?? 502, r.headers);
    r.pipe(a);
  });
  on.on("error", (e) => a.writeHead(502).end(String(e)));
  q.pipe(on);
}).listen(port, "127.0.0.1", () => console.log(`the console: http://127.0.0.1:${port}/`));
