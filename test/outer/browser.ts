import { existsSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { type Browser, chromium } from "playwright-core";
import { rolldown } from "rolldown";

/** The Chromium of the system; undefined where there is none. */
export const CHROMIUM = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
].find(existsSync);

/**
 * Chromium's features that no test wants. It would load the page of its address
 * bar for each window, which took half of the processor time of a test's page.
 * This list takes the place of Playwright's, which is the rest of it.
 */
const NO_FEATURES = [
  "WebUIOmniboxPopup",
  "WebUIOmniboxAimPopup",
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "HttpsUpgrades",
  "DestroyProfileOnBrowserClose",
  "HttpsFirstBalancedModeAutoEnable",
  "LensOverlay",
  "MediaRouter",
  "PaintHolding",
  "ThirdPartyStoragePartitioning",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "OptimizationHints",
  "AimEnabled",
  "NetworkTimeServiceQuerying",
  "PreconnectToSearch",
];

/**
 * Without a window, and silent: it calls nobody but the addresses of the test.
 */
const QUIET = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-sync",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-dev-shm-usage",
  `--disable-features=${NO_FEATURES.join(",")}`,
];

/** Starts Chromium, with further flags of its own. */
export function launch(...flags: readonly string[]): Promise<Browser> {
  return chromium.launch({
    headless: true,
    args: [...QUIET, ...flags],
    ...(CHROMIUM !== undefined && { executablePath: CHROMIUM }),
  });
}

/**
 * Makes one file of a module for the browser, with our packages from their
 * sources.
 */
export function bundle(path: string): Promise<string> {
  return bundleFor(fileURLToPath(new URL(path, import.meta.url)), [
    "@devtool/source",
    "browser",
    "import",
    "default",
  ]);
}

/**
 * Makes one file of a module for the browser, with the packages that are
 * installed beside it.
 */
export function bundlePage(file: string): Promise<string> {
  return bundleFor(file, ["browser", "import", "default"]);
}

async function bundleFor(
  input: string,
  conditionNames: string[],
): Promise<string> {
  await using build = await rolldown({
    input,
    platform: "browser",
    resolve: { conditionNames },
  });
  const { output } = await build.generate({
    format: "esm",
    codeSplitting: false,
  });
  return output[0].code;
}

/** A web server with one page that runs a script: an origin of its own. */
export interface Site extends AsyncDisposable {
  readonly origin: string;
}

/** A file of a web server. */
export interface ServedFile {
  readonly type: string;
  readonly text: string;
}

/** Serves a page that runs a script on a free port. */
export function serveSite(script: string): Promise<Site> {
  return serveFiles({
    "/": {
      type: "text/html",
      text: '<!doctype html><script type="module" src="/page.js"></script>',
    },
    "/page.js": { type: "text/javascript", text: script },
  });
}

/** Serves files by their paths on a free port. */
export async function serveFiles(
  files: Readonly<Record<string, ServedFile>>,
): Promise<Site> {
  const server = createServer(({ url = "" }, response) => {
    const file = files[url];
    if (file === undefined) return void response.writeHead(404).end();
    response.setHeader("content-type", file.type).end(file.text);
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
