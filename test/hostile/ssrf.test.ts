import diagnostics from "node:diagnostics_channel";
import {
  createServer as createHttpServer,
  get as httpGet,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { LookupFunction, Socket } from "node:net";
import { webFetchTool } from "@devtool/coding-agent/testing";
import type { OutboundPolicy } from "@devtool/server/agent";
import {
  guardedFetch,
  isPublicAddress,
  type OutboundRequest,
} from "@devtool/server/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { NOWHERE, resolveName, urlForms } from "../push/ssrf/url-forms.ts";

describe("the guard of outbound requests (S7)", () => {
  const signal = AbortSignal.timeout(300_000);
  let forbidden: Listener;
  let listed: Listener;
  let dials = 0;
  const countDial = (): void => void dials++;

  beforeAll(async () => {
    diagnostics.subscribe("undici:client:beforeConnect", countDial);
    forbidden = await listenBoth();
    listed = await listenBoth(answerListed);
  });
  afterAll(async () => {
    diagnostics.unsubscribe("undici:client:beforeConnect", countDial);
    await Promise.all([forbidden.close(), listed.close()]);
  });
  beforeEach(() => {
    dials = 0;
    forbidden.reset();
  });

  it("connects to no forbidden target, however it is written", async () => {
    const forms = urlForms(forbidden.port);
    expect(new Set(forms).size).toBeGreaterThanOrEqual(150);
    const refused = await Promise.all(
      forms.map((url) => isRefused(url, policy())),
    );
    expect(forms.filter((_url, index) => !refused[index])).toEqual([]);
    expect({ dials, connections: forbidden.connections }).toEqual({
      dials: 0,
      connections: 0,
    });
    console.info(`S7: ${forms.length} forms of URLs, 0 connections`);
  });

  it("follows no redirect to one", async () => {
    const forms = urlForms(forbidden.port).filter((url) =>
      /^https?:(\/\/|\\\\)[^\t\n]*$/i.test(url),
    );
    const refused = await Promise.all(
      forms.map((url) =>
        isRefused(
          `http://127.0.0.1:${listed.port}/to?${encodeURIComponent(url)}`,
          policy(),
        ),
      ),
    );
    expect(forms.filter((_url, index) => !refused[index])).toEqual([]);
    expect(forbidden.connections).toBe(0);
  });

  it("asks a resolver once, and goes where that answer said", async () => {
    const flip = flippingResolver();
    const request = {
      ...get(`http://flip.test:${forbidden.port}/`),
      timeoutMs: 500,
    };
    await expect(
      guardedFetch(request, policy({ resolve: flip.resolve }), signal),
    ).rejects.toThrow(/flip.test/);
    expect({ asked: flip.asked(), connections: forbidden.connections }).toEqual(
      { asked: 1, connections: 0 },
    );
  });

  it("does not reach this server, even where the operator allowed its address", async () => {
    const allowedHosts = [
      `127.0.0.1:${forbidden.port}`,
      `[::1]:${forbidden.port}`,
      `localhost:${forbidden.port}`,
    ];
    const own = policy({ allowedHosts, ownPorts: () => [forbidden.port] });
    for (const host of [
      "127.0.0.1",
      "[::1]",
      "localhost",
      "127.1",
      "[::ffff:127.0.0.1]",
    ]) {
      await expect(
        guardedFetch(get(`http://${host}:${forbidden.port}/`), own, signal),
        host,
      ).rejects.toThrow("is this server");
    }
    expect(forbidden.connections).toBe(0);
  });

  it("takes no proxy from the environment", async () => {
    const names = [
      "HTTP_PROXY",
      "http_proxy",
      "HTTPS_PROXY",
      "ALL_PROXY",
      "NODE_USE_ENV_PROXY",
    ] as const;
    for (const name of names) {
      process.env[name] = name.startsWith("NODE")
        ? "1"
        : `http://127.0.0.1:${forbidden.port}`;
    }
    try {
      expect(
        (
          await guardedFetch(
            get(`http://127.0.0.1:${listed.port}/`),
            policy(),
            signal,
          )
        ).status,
      ).toBe(200);
    } finally {
      for (const name of names) delete process.env[name];
    }
    expect(forbidden.connections).toBe(0);
  });

  it("reaches what the operator allowed, follows five redirects and not six, and keeps secrets from other origins", async () => {
    const at = (path: string): OutboundRequest =>
      get(`http://127.0.0.1:${listed.port}${path}`);
    const answer = await guardedFetch(at("/hops?5"), policy(), signal);
    expect(answer).toMatchObject({
      status: 200,
      url: `http://127.0.0.1:${listed.port}/hops?0`,
      isTruncated: false,
    });
    await expect(guardedFetch(at("/hops?6"), policy(), signal)).rejects.toThrow(
      "redirects more than 5 times",
    );
    expect(
      await guardedFetch(
        { ...at("/hops?6"), method: "POST" },
        policy(),
        signal,
      ),
    ).toMatchObject({ status: 302 });
    const secret = { accept: "*/*", authorization: "Bearer secret" };
    const elsewhere = `/to?${encodeURIComponent(`http://localhost:${listed.port}/headers`)}`;
    const body = async (path: string) =>
      (
        await guardedFetch({ ...at(path), headers: secret }, policy(), signal)
      ).body.toString();
    expect(await body("/headers")).toContain("Bearer secret");
    expect(await body(elsewhere)).not.toContain("Bearer secret");
  });

  it("ends at its limits of time and size", async () => {
    const at = (path: string): OutboundRequest =>
      get(`http://127.0.0.1:${listed.port}${path}`);
    const cut = await guardedFetch(
      { ...at("/flood"), maxBytes: 1000 },
      policy(),
      signal,
    );
    expect({ bytes: cut.body.length, isTruncated: cut.isTruncated }).toEqual({
      bytes: 1000,
      isTruncated: true,
    });
    await expect(guardedFetch(at("/zip"), policy(), signal)).rejects.toThrow(
      'sends "gzip" although',
    );
    await expect(
      guardedFetch({ ...at("/drip"), timeoutMs: 200 }, policy(), signal),
    ).rejects.toThrow("longer than 200 ms");
    await expect(
      guardedFetch({ ...at("/hang"), timeoutMs: 200 }, policy(), signal),
    ).rejects.toThrow("longer than 200 ms");
    const never = policy({ resolve: () => new Promise(() => {}) });
    const slow = { ...get("http://slow.test/"), timeoutMs: 200 };
    await expect(guardedFetch(slow, never, signal)).rejects.toThrow(
      "longer than 200 ms",
    );
  });

  it("web_fetch asks, fetches nothing before, and gives the text of a page", async () => {
    const invocation = await webFetchTool(policy()).prepare(
      { url: `http://127.0.0.1:${listed.port}/page` },
      signal,
    );
    expect(dials).toBe(0);
    expect(invocation.confirmation).toMatchObject({
      case: "genericDetails",
      value: { description: `Fetch http://127.0.0.1:${listed.port}/page` },
    });
    const events = await Array.fromAsync(invocation.execute(signal));
    expect(events).toMatchObject([
      {
        value: {
          value: {
            result: { value: expect.stringContaining("# A page\n\nOne & two") },
          },
        },
      },
    ]);
    await expect(
      webFetchTool(policy()).prepare({ url: "file:///etc/passwd" }, signal),
    ).rejects.toThrow("must begin with");
  });

  it("fails these tests if it checks nothing (sabotage of S7)", async () => {
    const forms = urlForms(forbidden.port).filter(
      (url) =>
        /^http:\/\/[^@]*$/i.test(url) && /127|local|0x7f|::1|\[::\]/.test(url),
    );
    const seen = new AbortController();
    const fetched = Promise.allSettled(
      forms.map((url) => fetch(url, { signal: seen.signal })),
    );
    await expect.poll(() => forbidden.connections).toBeGreaterThan(20);
    seen.abort();
    await fetched;
  });

  it("fails these tests if it resolves a checked name again (sabotage of S7)", async () => {
    const flip = flippingResolver();
    expect((await flip.resolve()).every(isPublicAddress)).toBe(true);
    const again: LookupFunction = (_host, _options, callback) =>
      void flip
        .resolve()
        .then(([address = ""]) => callback(null, [{ address, family: 4 }]));
    const { promise, resolve } = Promise.withResolvers<void>();
    const options = {
      host: "flip.test",
      port: forbidden.port,
      lookup: again,
      agent: false,
    } as const;
    httpGet(options, (response) => response.resume()).on("close", resolve);
    await promise;
    expect(forbidden.connections).toBeGreaterThan(0);
  });

  function policy(change: Partial<OutboundPolicy> = {}): OutboundPolicy {
    const hosts = [`127.0.0.1:${listed.port}`, `localhost:${listed.port}`];
    return {
      allowedHosts: hosts,
      allowing: String,
      ownPorts: () => [],
      resolve: resolveName,
      ...change,
    };
  }

  async function isRefused(
    url: string,
    rules: OutboundPolicy,
  ): Promise<boolean> {
    try {
      await guardedFetch({ ...get(url), timeoutMs: 60_000 }, rules, signal);
      return false;
    } catch (reason) {
      return /may not be reached|cannot be reached|is not an absolute URL|must begin with|holds a user name|has a control character/.test(
        String(reason),
      );
    }
  }
});

function flippingResolver(): {
  readonly resolve: () => Promise<readonly string[]>;
  readonly asked: () => number;
} {
  let asked = 0;
  return {
    resolve: async () => (asked++ === 0 ? [NOWHERE] : ["127.0.0.1"]),
    asked: () => asked,
  };
}

function get(url: string): OutboundRequest {
  return {
    url,
    method: "GET",
    headers: {},
    maxRedirects: 5,
    maxBytes: 1 << 20,
    timeoutMs: 10_000,
  };
}

interface Listener {
  readonly port: number;
  readonly connections: number;
  reset(): void;
  close(): Promise<void>;
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** Listens on one port of both loopback addresses, and counts who connects. */
async function listenBoth(
  answer: Answer = (_request, response) => void response.end(),
): Promise<Listener> {
  const first = await listenOn("127.0.0.1", 0, answer);
  const port = portOf(first);
  const second = await listenOn("::1", port, answer);
  let connections = 0;
  for (const server of [first, second]) {
    server.on("connection", (_socket: Socket) => connections++);
  }
  return {
    port,
    get connections() {
      return connections;
    },
    reset: () => {
      connections = 0;
    },
    close: async () => {
      for (const server of [first, second]) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
}

async function listenOn(
  host: string,
  port: number,
  answer: Answer,
): Promise<Server> {
  const server = createHttpServer(answer);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen(port, host, resolve);
  await promise;
  return server;
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address ? address.port : 0;
}

/** Text as the bytes of a header, which Node takes one character each. */
function inBytes(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}

const PAGE =
  "<html><head><title>A page</title><script>evil()</script></head><body><p>One &amp; two</p></body></html>";

function answerListed(
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const [path = "", query = ""] = (request.url ?? "").split("?");
  switch (path) {
    case "/to":
      return void response
        .writeHead(307, { location: inBytes(decodeURIComponent(query)) })
        .end();
    case "/hops":
      return void (query === "0"
        ? response.end()
        : response
            .writeHead(302, { location: `/hops?${Number(query) - 1}` })
            .end());
    case "/headers":
      return void response.end(JSON.stringify(request.headers));
    case "/flood":
      return void response.end("x".repeat(1 << 22));
    case "/zip":
      return void response
        .writeHead(200, { "content-encoding": "gzip" })
        .end("x");
    case "/drip":
      return void response.write("x");
    case "/hang":
      return;
    case "/page":
      return void response
        .writeHead(200, { "content-type": "text/html; charset=utf-8" })
        .end(PAGE);
    default:
      return void response.end("there");
  }
}
