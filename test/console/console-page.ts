import { createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import {
  bearerInterceptor,
  createDevtoolClient,
  type DevtoolClient,
} from "@devtool/client";
import { BrowserAccessService } from "@devtool/schema";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";

/** Where a server is, and the operator's token. */
export interface ServerAddress {
  readonly url: string;
  readonly token: string;
}

/** A page of the console, with what it must never do. */
export interface ConsolePage extends AsyncDisposable {
  readonly page: Page;
  /**
   * What broke the policy, requests to other origins, and errors in the page.
   */
  readonly faults: () => readonly string[];
}

/** Opens the console in a browser of its own, with a code. */
export async function openConsole(
  browser: Browser,
  server: ServerAddress,
  options: BrowserContextOptions = {},
): Promise<ConsolePage> {
  const context = await browser.newContext({
    locale: "en-US",
    viewport: { width: 1280, height: 800 },
    ...options,
  });
  const page = await context.newPage();
  const faults: string[] = [];
  const { origin } = new URL(server.url);
  page.on("request", (request) => {
    const { protocol, origin: to } = new URL(request.url());
    if (protocol !== "data:" && to !== origin) {
      faults.push(`request to ${request.url()}`);
    }
  });
  page.on("console", (message) => {
    if (
      message.type() === "error" &&
      /Content Security Policy|Trusted Type/i.test(message.text())
    ) {
      faults.push(message.text());
    }
  });
  page.on("pageerror", (error) => faults.push(String(error)));
  await page.addInitScript(
    'addEventListener("securitypolicyviolation", (event) => (globalThis.violations ??= []).push(event.violatedDirective));',
  );
  await page.goto(`${server.url}/console/#code=${await accessCode(server)}`);
  return {
    page,
    faults: () => faults,
    [Symbol.asyncDispose]: () => context.close(),
  };
}

/** Creates a code with which a browser is let in. */
export async function accessCode(server: ServerAddress): Promise<string> {
  return (
    await accessOf(server, server.token).createAccessCode({ label: "test" })
  ).code;
}

/**
 * The service that lets browsers in, with a token; without credentials if it is
 * empty.
 */
export function accessOf(
  { url }: ServerAddress,
  token: string,
  headers: Readonly<Record<string, string>> = {},
) {
  return createClient(BrowserAccessService, transportOf(url, token, headers));
}

/** The clients of the services, with a token. */
export function clientOf({ url, token }: ServerAddress): DevtoolClient {
  return createDevtoolClient(transportOf(url, token, {}));
}

function transportOf(
  url: string,
  token: string,
  headers: Readonly<Record<string, string>>,
) {
  const withHeaders: Interceptor = (next) => (request) => {
    for (const [name, value] of Object.entries(headers)) {
      request.header.set(name, value);
    }
    return next(request);
  };
  const interceptors =
    token === "" ? [withHeaders] : [withHeaders, bearerInterceptor(token)];
  return createConnectTransport({
    baseUrl: url,
    httpVersion: "1.1",
    interceptors,
  });
}
