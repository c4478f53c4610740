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
import { jsClient03 } from "../interop/clients/client-03.ts";
import {
  documentedConfig,
  openEntrance,
  startNginx,
  WITHOUT_NGINX,
} from "../outer/nginx.ts";
import { play } from "../outer/play.ts";
import { Authority, hasOpenssl } from "./certificates.ts";

const A2A = [
  "1.0 JSONRPC",
  "1.0 HTTP+JSON",
  "1.0 GRPC",
  "0.3 JSONRPC",
  "0.3 HTTP+JSON",
];
const PROTOCOLS = ["connect", "grpc", "grpc-web", ...A2A];
/**
 * The bindings that nginx forwards by `proxy_pass`; gRPC uses `grpc_pass`,
 * which does not buffer.
 */
const PROXIED = PROTOCOLS.filter((name) => !/^grpc$|GRPC$/.test(name));

const why =
  WITHOUT_NGINX ||
  ((await hasOpenssl()) ? "" : " (skipped: openssl is not installed)");

describe.skipIf(why !== "")(
  `a server behind the nginx of docs/deployment.md${why}`,
  () => {
    let directory: string;
    const trusted = getCACertificates();
    beforeAll(async () => {
      directory = temporaryDirectory();
      const authority = await Authority.create(directory, "ours");
      const { certificate, key } = await authority.issue("/CN=agent");
      await writeFile(join(directory, "agent.pem"), certificate);
      await writeFile(join(directory, "agent.key"), key);
      setDefaultCACertificates([...trusted, await authority.certificate()]);
    });
    afterAll(() => setDefaultCACertificates(trusted));

    describe("at the root of a host", () => {
      let site: Site;
      beforeAll(async () => {
        site = await open({});
      });
      afterAll(() => site[Symbol.asyncDispose]());

      it.each(PROTOCOLS)(
        "streams, asks and is answered over %s",
        async (protocol) => {
          const file = fileFor(protocol);
          expect(await play(await transportTo(site, protocol), file)).toEqual({
            asked: ["write_file"],
            said: "done",
            state: "COMPLETED",
          });
          expect(await readFile(join(directory, file), "utf8")).toBe("hello");
        },
      );

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

    it.each(PROTOCOLS.filter((name) => !/GRPC$|^grpc$/.test(name)))(
      "works below a path, over %s",
      async (protocol) => {
        await using site = await open({ prefix: "/agent" });
        const { state } = await play(
          await transportTo(site, protocol),
          fileFor(`path ${protocol}`),
        );
        expect(state).toBe("COMPLETED");
      },
    );

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

    it("does not offer gRPC below a path", async () => {
      await using site = await open({ prefix: "/agent" });
      await expect(transportTo(site, "1.0 GRPC")).rejects.toThrow(
        "the card has no 1.0 GRPC",
      );
    });

    it.each(A2A)(
      "cannot be reached over %s without its public URL (sabotage)",
      async (protocol) => {
        await using site = await open({
          change: (text) => text.replace("Host $host", "Host $proxy_host"),
          publicUrl: false,
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
      it.each(PROTOCOLS)(
        "forwards each event as it comes, over %s",
        async (protocol) => {
          expect(await arrivals(protocol, { patienceMs: 15_000 })).toEqual([
            "one",
            "two",
            "three",
          ]);
        },
      );

      it.each(PROXIED)(
        "does so over %s also where nginx is left to buffer",
        async (protocol) => {
          const change = (text: string): string =>
            text.replace("proxy_buffering off;", "");
          expect(
            await arrivals(protocol, { patienceMs: 15_000, change }),
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
          expect(await arrivals(protocol, { patienceMs: 500, change })).toEqual(
            [],
          );
        },
      );
    });

    /**
     * The words of an agent that arrived before it said the next one, which it
     * delays until these have arrived.
     */
    async function arrivals(
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
            if (
              (await Promise.race([gates.get(word)?.promise, late])) !== "late"
            ) {
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

    interface SiteOptions extends Partial<Pick<ServerOptions, "agents">> {
      readonly prefix?: string;
      /** Changes the documented configuration. */
      readonly change?: (text: string) => string;
      readonly publicUrl?: false;
    }

    async function open({
      prefix = "",
      change = String,
      publicUrl,
      ...options
    }: SiteOptions): Promise<Site> {
      await using stack = new AsyncDisposableStack();
      const home = await mkdtemp(join(directory, "nginx-"));
      const socket = join(home, "socket");
      const entrance = stack.use(await openEntrance(socket));
      const url = `https://127.0.0.1:${entrance.port}${prefix}`;
      const server = stack.use(
        await createServer({
          agents: { devtool: codingAgent() },
          workspace: directory,
          a2a: { grpcInCard: true },
          ...(publicUrl ?? { publicUrl: url }),
          ...options,
        }),
      );
      const whole = await documentedConfig("server");
      const location = /location \/ \{[\s\S]*\n {2}\}\n/;
      const text =
        prefix === ""
          ? whole
          : whole.replace(location, await documentedConfig("prefix"));
      const fitted = change(text)
        .replace("listen 443", `listen unix:${socket}`)
        .replace(
          /ssl_certificate .*/,
          `ssl_certificate ${join(directory, "agent.pem")};`,
        )
        .replace(
          /ssl_certificate_key .*/,
          `ssl_certificate_key ${join(directory, "agent.key")};`,
        )
        .replaceAll("127.0.0.1:41242", new URL(server.url).host);
      stack.use(await startNginx(home, fitted));
      const all = stack.move();
      return { url, server, [Symbol.asyncDispose]: () => all.disposeAsync() };
    }
  },
);

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
  const card = await fetchAgentCard({ url }, AbortSignal.timeout(10_000));
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
