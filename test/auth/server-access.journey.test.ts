import { existsSync } from "node:fs";
import { get } from "node:http";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { create } from "@bufbuild/protobuf";
import type { Io } from "@devtool/cli/testing";
import {
  createTckAgent,
  listenOptions,
  runProgram,
} from "@devtool/cli/testing";
import {
  type CodingAgentOptions,
  codingAgent,
  serveCodingAgent,
} from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { ServerConfigSchema } from "@devtool/schema/operator";
import {
  createServer,
  type ServerOptions,
  type ServerSettings,
} from "@devtool/server";
import { describe, expect, it } from "vitest";

const TOKEN = "0123456789abcdef0123456789abcdef";
const PUBLIC = "https://agent.example";
const JWT = { issuer: "https://login.example", audience: "devtool" };
const TLS = "--tls-ended-by-proxy";
const CREDENTIALS = "--token-file";
const URL_OF_CLIENTS = "--public-url";

describe("a server that other machines reach (S5)", () => {
  it.each<[string, ServerSettings, string[]]>([
    ["nothing", { host: "0.0.0.0" }, [TLS, CREDENTIALS, URL_OF_CLIENTS]],
    [
      "nothing, on an empty host",
      { host: "" },
      [TLS, CREDENTIALS, URL_OF_CLIENTS],
    ],
    ["nothing, on IPv6", { host: "::" }, [TLS, CREDENTIALS, URL_OF_CLIENTS]],
    ["nothing, on one address", { host: "192.0.2.1" }, [TLS, CREDENTIALS]],
    ["a token alone", { host: "0.0.0.0", token: TOKEN }, [TLS, URL_OF_CLIENTS]],
    [
      "a public URL alone",
      { host: "0.0.0.0", publicUrl: PUBLIC },
      [TLS, CREDENTIALS],
    ],
    [
      "an issuer alone",
      { host: "192.0.2.1", authentication: { jwt: JWT } },
      [TLS],
    ],
    [
      "a proxy alone",
      { host: "0.0.0.0", publicUrl: PUBLIC, tlsEndedByProxy: true },
      [CREDENTIALS],
    ],
    [
      "a certificate alone",
      { host: "192.0.2.1", tls: { key: "", certificate: "" } },
      [CREDENTIALS],
    ],
  ])(
    "does not start with %s, and names what is missing and nothing else",
    async (_what, options, missing) => {
      const message = await refusalOf(options);
      expect(
        [TLS, CREDENTIALS, URL_OF_CLIENTS].filter((flag) =>
          message.includes(flag),
        ),
      ).toEqual(missing);
    },
  );

  it.each<[string, ServerSettings]>([
    ["a token", { token: TOKEN, host: "0.0.0.0" }],
    ["an issuer", { authentication: { jwt: JWT }, host: "0.0.0.0" }],
    ["a token on an empty host", { token: TOKEN, host: "" }],
  ])("starts behind a proxy that ends TLS, with %s", async (_what, options) => {
    await using server = await serveCodingAgent({
      ...options,
      publicUrl: PUBLIC,
      tlsEndedByProxy: true,
    });
    expect(server.publicUrl).toBe(PUBLIC);
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  });

  it("is never open without credentials", async () => {
    const agents = {
      test: createTckAgent({ ordinary: "completed", streamingTimeoutMs: 1 }),
    };
    const open = {
      anonymous: "admit",
      agents,
      token: TOKEN,
      publicUrl: PUBLIC,
    } as const;
    expect(await refusalOf(open)).toContain(
      "would admit other machines at agent.example",
    );
    expect(
      await refusalOf({ ...open, host: "0.0.0.0", tlsEndedByProxy: true }),
    ).toContain("would admit other machines");
  });

  it.each([
    ["agent.example", "is not a URL"],
    ["ftp://agent.example", "is not a URL"],
    ["http://agent.example", "would send tokens in the clear"],
  ])("does not start with the public URL %s", async (publicUrl, problem) => {
    expect(await refusalOf({ publicUrl })).toContain(
      `public_url "${publicUrl}" ${problem}`,
    );
  });

  it.each(["https://agent.example/?a=b", "https://user@agent.example/"])(
    "does not start with the public URL %s, and shows no secret of it",
    async (publicUrl) => {
      expect(await refusalOf({ publicUrl })).toContain(
        'public_url "https://agent.example/" may have a host, a port and a path only',
      );
    },
  );

  it("does not trust a proxy for a URL without TLS, or without a URL", async () => {
    expect(await refusalOf({ tlsEndedByProxy: true })).toContain(
      "set --public-url (public_url)",
    );
    expect(
      await refusalOf({
        tlsEndedByProxy: true,
        publicUrl: "http://localhost:8080",
      }),
    ).toContain("does not fit TLS");
  });

  it.each(["http://localhost:3000", "localhost", "*:*", "127.0.0.1:x"])(
    "does not start with the target %s, which would match nothing",
    async (target) => {
      expect(await refusalOf({ pushTargets: [target] })).toContain(
        `push_targets "${target}" is not a host with a port`,
      );
      expect(await refusalOf({ fetchTargets: [target] })).toContain(
        "fetch_targets",
      );
    },
  );
});

describe("a server with a public URL", () => {
  it.each([
    "https://agent.example",
    "https://agent.example/",
    "https://agent.example:8443/a/b/",
  ])("gives %s wherever it gives its address", async (publicUrl) => {
    await using server = await serveCodingAgent({
      publicUrl,
      a2a: { grpcInCard: true },
    });
    const base = publicUrl.replace(/\/$/, "");
    const headers = { authorization: `Bearer ${server.token}` };
    const texts = await Promise.all(
      ["", "0.3", "1.0"].flatMap((version) =>
        ["/.well-known/agent-card.json", "/v1/card", "/extendedAgentCard"].map(
          async (path) => {
            const response = await fetch(`${server.url}${path}`, {
              headers: { ...headers, "a2a-version": version },
            });
            return response.text();
          },
        ),
      ),
    );
    for (const text of texts) {
      expect(text).not.toContain(new URL(server.url).port);
    }
    const [hybrid = "", , , v03 = "", , , v1 = ""] = texts;
    const shared = {
      url: `${base}/`,
      additionalInterfaces: [{ url: `${base}/` }, { url: base }],
    };
    expect(JSON.parse(hybrid)).toMatchObject(shared);
    expect(JSON.parse(v03)).toMatchObject(shared);
    const { supportedInterfaces, signatures } = JSON.parse(v1);
    const grpc = {
      url: "agent.example:443",
      protocolBinding: "GRPC",
      protocolVersion: "1.0",
    };
    expect(supportedInterfaces).toEqual([
      { url: `${base}/`, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
      { url: base, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
      // Clients of gRPC have no place for a path.
      ...(new URL(publicUrl).pathname === "/" ? [grpc] : []),
      { url: `${base}/`, protocolBinding: "JSONRPC", protocolVersion: "0.3" },
      { url: base, protocolBinding: "HTTP+JSON", protocolVersion: "0.3" },
    ]);
    const header = JSON.parse(
      Buffer.from(signatures[0].protected, "base64url").toString(),
    );
    expect(header.jku).toBe(`${base}/.well-known/jwks.json`);
  });

  it("serves its host, and the hosts that are listed, with and without a port", async () => {
    const allowedHosts = ["Devbox.local", "tunnel.example:9000"];
    await using server = await serveCodingAgent({
      publicUrl: "https://agent.example:8443",
      allowedHosts,
    });
    const statusOf = (host: string) =>
      new Promise((resolve) => {
        get(`${server.url}/healthz`, { headers: { host } }, (response) =>
          resolve(response.resume().statusCode),
        );
      });
    for (const host of [
      "agent.example",
      "agent.example:443",
      "devbox.local",
      "devbox.local:41242",
      "tunnel.example:9000",
    ]) {
      expect(await statusOf(host), host).toBe(200);
    }
    for (const host of [
      "evil.agent.example",
      "tunnel.example",
      "tunnel.example:9001",
      "devbox.local.evil.example",
    ]) {
      expect(await statusOf(host), host).toBe(403);
    }
  });
});

describe("devtool serve", () => {
  it("says in its card that the extension is required, with --require-extension (CARD-1)", async () => {
    const nowhere = { config: create(ServerConfigSchema), directory: "" };
    await using server = await serveCodingAgent(
      await listenOptions({ port: "0", requireExtension: true }, nowhere),
    );
    const card = Object(
      await (await fetch(`${server.url}/.well-known/agent-card.json`)).json(),
    );
    const required = card.capabilities.extensions.map(
      (extension: { required?: boolean }) => extension.required === true,
    );
    expect(required).toEqual([true, false, false]);
  });

  it.each([
    [
      ["--host", "0.0.0.0"],
      [TLS, CREDENTIALS, URL_OF_CLIENTS],
    ],
    [
      ["--host", "0.0.0.0", "--public-url", PUBLIC, "--tls-ended-by-proxy"],
      [CREDENTIALS],
    ],
    [["--allow-origin", "*"], ["allowed_origins"]],
    [["--push-target", "http://localhost:3000"], ["localhost:3000"]],
  ])("does not start with %j, and says what to do", async (flags, words) => {
    const data = temporaryDirectory();
    const stderr = new PassThrough();
    const io: Io = {
      ...{
        stdin: new PassThrough(),
        stdout: new PassThrough(),
        stderr,
        env: {},
        interactive: false,
      },
      ...{ onInterrupt: () => () => undefined, interrupt: () => undefined },
    };
    expect(
      await runProgram(
        [
          "serve",
          "--port",
          "0",
          "--data",
          data,
          "--workspace",
          `${data}-work`,
          ...flags,
        ],
        io,
      ),
    ).toBe(1);
    stderr.end();
    const said = await text(stderr);
    for (const word of words) expect(said).toContain(word);
    expect(existsSync(`${data}-work`)).toBe(false);
  });
});

async function refusalOf(
  options: Partial<ServerOptions> & CodingAgentOptions,
): Promise<string> {
  try {
    const server = await createServer({
      agents: { devtool: codingAgent(options) },
      ...options,
    });
    await server.close();
    return "";
  } catch (reason) {
    return reason instanceof Error ? reason.message : "";
  }
}
