import { existsSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { type Browser, chromium } from "playwright-core";
import { rolldown } from "rolldown";

/** The Chromium of the system; undefined where there is none. */
export const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);

/** Without a window, and silent: it calls nobody but the addresses of the test. */
const QUIET = [
  ...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"],
  ...["--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"],
];

/** Starts Chromium. */
export function launch(): Promise<Browser> {
  return chromium.launch({ headless: true, args: QUIET, ...(CHROMIUM !== undefined && { executablePath: CHROMIUM }) });
}

/** Makes one file of a module for the browser, with our packages from their sources. */
export async function bundle(path: string): Promise<string> {
  await using build = await rolldown({
    input: fileURLToPath(new URL(path, import.meta.url)),
    platform: "browser",
    resolve: { conditionNames: ["@devtool/source", "browser", "import", "default"] },
  });
  const { output } = await build.generate({ format: "esm", codeSplitting: false });
  return output[0].code;
}

/** A web server with one page that runs a script: an origin of its own. */
export interface Site extends AsyncDisposable {
  readonly origin: string;
}

/** Serves a page on a free port. */
export async function serveSite(script: string): Promise<Site> {
  const server = createServer(({ url }, response) => {
    const isScript = url === "/page.js";
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
    response.end(isScript ? script : '<!doctype html><script type="module" src="/page.js"></script>');
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return {
    origin: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
