import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import type { Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import {
  bearerInterceptor,
  createDevtoolClient,
  streamMessage,
  textMessage,
} from "@devtool/client";
import { createAgentTransport, fetchAgentCard } from "@devtool/client/a2a";
import { codingAgent } from "@devtool/coding-agent";
import { loadConsole } from "@devtool/console";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  type AgentExecutor,
  createServer,
  type DevtoolServer,
  type ServerOptions,
} from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  BINDINGS,
  officialClient,
  sending,
  textPart,
  textsOf,
  userMessage,
} from "../a2a/v1/a2a-js-client.ts";
import { openConsole } from "../console/console-page.ts";
import { jsClient03 } from "../interop/clients/client-03.ts";
import { CHROMIUM, launch } from "../outer/browser.ts";
import { play } from "../outer/play.ts";
import {
  documentedConfig,
  openEntrance,
  PROXIES,
  type ReverseProxy,
} from "../outer/proxies.ts";
import { Authority, type Certificate, hasOpenssl } from "./certificates.ts";

const A2A = [
  "1.0 JSONRPC",
  "1.0 HTTP+JSON",
  "1.0 GRPC",
  "0.3 JSONRPC",
  "0.3 HTTP+JSON",
];
const PROTOCOLS = ["connect", "grpc", "grpc-web", ...A2A];
/**
 * Those without gRPC, which has no path prefixes, and which nginx forwards by
 * `grpc_pass` and does not buffer.
 */
const PROXIED = PROTOCOLS.filter((name) => !/^grpc$|GRPC$/.test(name));

const withoutOpenssl = (await hasOpenssl())
  ? ""
  : " (skipped: openssl is not installed)";

/** What all proxies of this file have: a certificate, and who signs others. */
let directory: string;
let authority: Authority;
const trusted = getCACertificates();
beforeAll(async () => {
  if (withoutOpenssl !== "") return;
  directory = temporaryDirectory();
  authority = await Authority.create(directory, "ours");
  const { certificate, key } = await authority.issue(
    "/CN=agent",
    "DNS:localhost",
  );
  const clients = await authority.certificate();
  await writeFile(join(directory, "agent.pem"), certificate);
  await writeFile(join(directory, "agent.key"), key);
  await writeFile(join(directory, "agent-and-key.pem"), certificate + key);
  await writeFile(join(directory, "clients.pem"), clients);
  setDefaultCACertificates([...trusted, clients]);
});
afterAll(() => setDefaultCACertificates(trusted));

for (const proxy of PROXIES) {
  const why = proxy.missing || withoutOpenssl;
  const open = (options: SiteOptions): Promise<Site> =>
    openSite(proxy, options);

  describe.skipIf(why !== "")(
    `a server behind the ${proxy.name} of docs/deployment.md${why}`,
    () => {
      let site: Site;
      let below: Site;
      beforeAll(async () => {
        site = await open({});
        below = await open({ prefix: "/agent" });
      });
      afterAll(async () => {
        await site[Symbol.asyncDispose]();
        await below[Symbol.asyncDispose]();
      });

      it.each(PROTOCOLS)(
        "streams, asks and is answered over %s",
        async (protocol) => {
          const file = fileFor(`${proxy.name} ${protocol}`);
          expect(await play(await transportTo(site, protocol), file)).toEqual({
            asked: ["write_file"],
            said: "done",
            state: "COMPLETED",
          });
          expect(await readFile(join(directory, file), "utf8")).toBe("hello");
        },
      );

      it.each(PROXIED)("works below a path, over %s", async (protocol) => {
        const { state } = await play(
          await transportTo(below, protocol),
          fileFor(`${proxy.name} path ${protocol}`),
        );
        expect(state).toBe("COMPLETED");
      });

      it.skipIf(CHROMIUM === undefined)(
        "has the console below a path (skipped without Chromium)",
        async () => {
          await using browser = await launch();
          const { url, server } = below;
          const address = { url, token: server.token };
          await using opened = await openConsole(browser, address, {
            ignoreHTTPSErrors: true,
          });
          const { page, faults } = opened;
          await page.getByRole("link", { name: "New session" }).click();
          await page.locator("textarea").fill("text From a proxy.");
          await page.locator("textarea").press("Enter");
          await page.getByText("From a proxy.", { exact: true }).waitFor();
          expect(new URL(page.url()).pathname).toBe("/agent/console/");
          expect(faults()).toEqual([]);
        },
      );

      it("does not offer gRPC below a path", async () => {
        await expect(transportTo(below, "1.0 GRPC")).rejects.toThrow(
          "the card has no 1.0 GRPC",
        );
      });

      it("admits nobody without a client certificate where it asks for one", async () => {
        await using asking = await open({ clients: true });
        const alice = await authority.issueLimited("/CN=alice", {});
        const stranger = await Authority.create(directory, "theirs");
        const mallory = await stranger.issueLimited("/CN=alice", {});
        const tasksOf = (transport: Transport) =>
          createDevtoolClient(transport).tasks.listTasks({});
        expect(await tasksOf(withCertificate(asking, alice))).toMatchObject({
          tasks: [],
        });
        const refused = [
          await transportTo(asking, "connect"),
          withCertificate(asking, mallory),
        ];
        for (const transport of refused) {
          await expect(tasksOf(transport)).rejects.toThrow();
        }
      });

      describe.concurrent("while the agent works", () => {
        it.each(PROTOCOLS)(
          "forwards each event as it comes, over %s",
          async (protocol) => {
            expect(
              await arrivals(open, protocol, { patienceMs: 15_000 }),
            ).toEqual(["one", "two", "three"]);
          },
        );
      });
    },
  );
}

const [nginx, , haproxy] = PROXIES;
const withoutHaproxy = haproxy?.missing || withoutOpenssl;

it.skipIf(withoutHaproxy !== "")(
  `a server behind HAProxy knows callers by their certificates where it ends TLS itself${withoutHaproxy}`,
  async () => {
    const tls = {
      certificate: await readFile(join(directory, "agent.pem"), "utf8"),
      key: await readFile(join(directory, "agent.key"), "utf8"),
      clientAuthorities: await authority.certificate(),
    };
    await using site = await openSite(haproxy, {
      config: "passthrough",
      tls,
      authentication: { certificateRights: [] },
    });
    const alice = await authority.issue("/CN=alice");
    const { url } = site;
    const client = createDevtoolClient(
      withCertificate({ url, server: { token: "" } }, alice),
    );
    const message = textMessage(crypto.randomUUID(), "text Hello.");
    const { task } = await client.tasks.sendMessage({ message });
    expect(task?.principal).toBe("x509:CN%3Dours#CN%3Dalice");
  },
);

const withoutNginx = nginx?.missing || withoutOpenssl;

describe.skipIf(withoutNginx !== "")(
  `what one proxy shows of all: nginx${withoutNginx}`,
  () => {
    const open = (options: SiteOptions): Promise<Site> =>
      openSite(nginx, options);

    describe("at the root of a host", () => {
      let site: Site;
      beforeAll(async () => {
        site = await open({});
      });
      afterAll(() => site[Symbol.asyncDispose]());

      it.each(BINDINGS)(
        "serves the official SDK of A2A 1.0 over %s, which knows its URL alone",
        async (binding) => {
          const client = await officialClient(
            { url: site.url, token: site.server.token },
            binding,
          );
          const answer = await Array.fromAsync(
            client.sendMessageStream(
              sending(userMessage([textPart("text Hello.")])),
            ),
          );
          expect(textsOf(answer)).toContain("Hello.");
        },
      );

      it.each(BINDINGS)(
        "serves the official SDK of A2A 0.3 over %s, which knows its URL alone",
        async (binding) => {
          const file = fileFor(`sdk 0.3 ${binding}`);
          const scenarios = await jsClient03({
            url: site.url,
            token: site.server.token,
            binding,
            file,
            ...UNUSED,
          });
          await scenarios.message?.();
          await scenarios.appendix_a?.();
          expect(await readFile(join(directory, file), "utf8")).toBe("made");
        },
      );

      it("names no address but that of the proxy, in all forms of its card", async () => {
        for (const version of ["", "0.3", "1.0"]) {
          const response = await fetch(
            `${site.url}/.well-known/agent-card.json`,
            {
              headers: { "a2a-version": version },
            },
          );
          const text = await response.text();
          expect(text).toContain(new URL(site.url).host);
          expect(text).not.toContain(new URL(site.server.url).host);
        }
      });

      it("still refuses requests without a token, or of a foreign origin", async () => {
        expect((await fetch(`${site.url}/`, { method: "POST" })).status).toBe(
          401,
        );
        const origin = "https://evil.example";
        expect(
          (await fetch(`${site.url}/healthz`, { headers: { origin } })).status,
        ).toBe(403);
      });
    });

    it.each(BINDINGS)(
      "serves the official SDKs below a path, over %s",
      async (binding) => {
        await using site = await open({ prefix: "/agent" });
        const place = { url: `${site.url}/`, token: site.server.token };
        const client = await officialClient(place, binding);
        expect(
          textsOf(
            await Array.fromAsync(
              client.sendMessageStream(
                sending(userMessage([textPart("text Hello.")])),
              ),
            ),
          ),
        ).toContain("Hello.");
        const scenarios = await jsClient03({
          ...place,
          binding,
          file: "x",
          ...UNUSED,
        });
        await scenarios.message?.();
      },
    );

    it.each(A2A)(
      "cannot be reached over %s without its public URL (sabotage)",
      async (protocol) => {
        await using site = await open({
          change: (text) => text.replace("Host $host", "Host $proxy_host"),
          ownAddress: true,
        });
        const { state } = await play(
          await transportTo(site, "connect"),
          fileFor(`inner ${protocol}`),
        );
        expect(state).toBe("COMPLETED");
        const played = transportTo(site, protocol).then((transport) =>
          play(transport, "outer.txt", 2_000),
        );
        await expect(played).rejects.toThrow();
        await expect(readFile(join(directory, "outer.txt"))).rejects.toThrow(
          "ENOENT",
        );
      },
    );

    describe.concurrent("while the agent works", () => {
      it.each(PROXIED)(
        "does so over %s also where nginx is left to buffer",
        async (protocol) => {
          const change = (text: string): string =>
            text.replace("proxy_buffering off;", "");
          expect(
            await arrivals(open, protocol, { patienceMs: 15_000, change }),
          ).toEqual(["one", "two", "three"]);
        },
      );

      it.each(PROXIED)(
        "fails this test over %s if it holds events back (sabotage)",
        async (protocol) => {
          const buffering =
            "proxy_buffering on; proxy_ignore_headers X-Accel-Buffering;";
          const change = (text: string): string =>
            text.replace("proxy_buffering off;", buffering);
          expect(
            await arrivals(open, protocol, { patienceMs: 500, change }),
          ).toEqual([]);
        },
      );
    });
  },
);

/**
 * The words of an agent that arrived before it said the next one, which it
 * delays until these have arrived.
 */
async function arrivals(
  open: (options: SiteOptions) => Promise<Site>,
  protocol: string,
  {
    patienceMs,
    change,
  }: {
    readonly patienceMs: number;
    readonly change?: (text: string) => string;
  },
): Promise<string[]> {
  const words = ["one", "two", "three"];
  const gates = new Map(
    words.map((word) => [word, Promise.withResolvers<void>()]),
  );
  const inTime: string[] = [];
  const createExecutor = (): AgentExecutor => ({
    modelFor: () => "",
    async *execute(_turn, signal) {
      for (const word of words) {
        yield { case: "text", value: word };
        const late = delay(patienceMs, "late", { signal });
        if ((await Promise.race([gates.get(word)?.promise, late])) !== "late") {
          inTime.push(word);
        }
      }
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  });
  const slow = {
    about: { name: "slow", description: "Says a word at a time." },
    open: () => ({ createExecutor }),
  };
  await using site = await open({
    agents: { slow },
    ...(change && { change }),
  });
  const client = createDevtoolClient(await transportTo(site, protocol));
  const message = textMessage(crypto.randomUUID(), "begin");
  for await (const { payload } of streamMessage(
    client,
    { message },
    AbortSignal.timeout(60_000),
  )) {
    if (payload.case === "text") gates.get(payload.value.text)?.resolve();
  }
  return inTime;
}

/** A server behind a proxy. */
interface Site extends AsyncDisposable {
  readonly url: string;
  readonly server: DevtoolServer;
}

interface SiteOptions extends Partial<ServerOptions> {
  readonly prefix?: string;
  /** The proxy asks for client certificates. */
  readonly clients?: true;
  /** The name of the documented configuration. Default: `server`. */
  readonly config?: string;
  /** Changes the documented configuration. */
  readonly change?: (text: string) => string;
  readonly ownAddress?: true;
}

async function openSite(
  proxy: ReverseProxy | undefined,
  {
    prefix = "",
    clients,
    config = "server",
    change = String,
    ownAddress,
    ...options
  }: SiteOptions,
): Promise<Site> {
  if (proxy === undefined) throw new Error("no proxy is named");
  await using stack = new AsyncDisposableStack();
  const home = await mkdtemp(join(directory, `${proxy.name}-`));
  const socket = join(home, "socket");
  const entrance = stack.use(await openEntrance(socket));
  const url = `https://localhost:${entrance.port}${prefix}`;
  const server = stack.use(
    await createServer({
      agents: { devtool: codingAgent() },
      workspace: directory,
      a2a: { grpcInCard: true },
      ...(!ownAddress && { publicUrl: url }),
      site: await loadConsole(),
      ...options,
    }),
  );
  let text = await documentedConfig(proxy, config);
  if (prefix !== "") {
    text = belowPath(proxy, text, await documentedConfig(proxy, "prefix"));
  }
  if (clients) {
    text = withClients(proxy, text, await documentedConfig(proxy, "clients"));
  }
  const fitted = change(text)
    .replaceAll("/etc/ssl/", `${directory}/`)
    .replace(
      "agent.example {",
      `https://localhost {\n  bind ${proxy.address(socket)}`,
    )
    .replace("listen 443", `listen ${proxy.address(socket)}`)
    .replace("bind :443", `bind ${proxy.address(socket)}`)
    .replaceAll("127.0.0.1:41242", new URL(server.url).host);
  stack.use(await proxy.start(home, fitted, socket));
  const all = stack.move();
  return { url, server, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

/** Puts the documented lines for a path where the page says. */
function belowPath(
  { name }: ReverseProxy,
  text: string,
  lines: string,
): string {
  const places = {
    nginx: /location \/ \{[\s\S]*\n {2}\}\n/,
    caddy: / {2}reverse_proxy .*\n/,
    haproxy: /(?= {2}default_backend)/,
  };
  return replaced(text, places[name], lines);
}

/** Puts the documented lines for client certificates where the page says. */
function withClients(
  { name }: ReverseProxy,
  text: string,
  lines: string,
): string {
  const places = {
    nginx: /(?=\n {2}location)/,
    caddy: / {2}tls .*\n/,
    haproxy: / {2}bind .*\n/,
  };
  return replaced(text, places[name], lines);
}

function replaced(text: string, place: RegExp, lines: string): string {
  if (!place.test(text)) throw new Error(`${place} is not in ${text}`);
  return text.replace(place, () => lines);
}

function withCertificate(
  {
    url,
    server: { token },
  }: {
    readonly url: string;
    readonly server: Pick<DevtoolServer, "token">;
  },
  { certificate: cert, key }: Certificate,
): Transport {
  return createConnectTransport({
    baseUrl: url,
    httpVersion: "1.1",
    interceptors: token === "" ? [] : [bearerInterceptor(token)],
    nodeOptions: { cert, key },
  });
}

async function transportTo(
  {
    url,
    server: { token },
  }: { readonly url: string; readonly server: DevtoolServer },
  protocol: string,
): Promise<Transport> {
  const options = { baseUrl: url, interceptors: [bearerInterceptor(token)] };
  if (protocol === "connect") {
    return createConnectTransport({ ...options, httpVersion: "1.1" });
  }
  if (protocol === "grpc-web") {
    return createGrpcWebTransport({ ...options, httpVersion: "1.1" });
  }
  if (protocol === "grpc") return createGrpcTransport(options);
  const card = await fetchAgentCard({ url }, AbortSignal.timeout(60_000));
  const supportedInterfaces = card.supportedInterfaces.filter(
    ({ protocolVersion, protocolBinding }) =>
      `${protocolVersion} ${protocolBinding}` === protocol,
  );
  if (supportedInterfaces.length === 0) {
    throw new Error(`the card has no ${protocol}`);
  }
  const grpc = (baseUrl: string): Transport => createGrpcTransport({ baseUrl });
  return createAgentTransport(
    { ...card, supportedInterfaces },
    { url, token, grpc },
  );
}

/** Arguments of scenarios that these do not use. */
const UNUSED = { protocol: "0.3", hook: "" };

function fileFor(name: string): string {
  return `${name.replaceAll(/\W/g, "-")}.txt`;
}
