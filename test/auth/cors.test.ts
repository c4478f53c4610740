import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:http2";
import { text } from "node:stream/consumers";
import { cors } from "@connectrpc/connect";
import { serveCodingAgent } from "@devtool/coding-agent";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const LISTED = "https://app.example";
const PATHS = [
  "/",
  "/v1/message:stream",
  "/message:stream",
  "/.well-known/agent-card.json",
  "/.well-known/jwks.json",
  "/healthz",
  "/readyz",
  "/devtool.v1alpha.TaskService/StreamMessage",
];

describe("a server that lists origins (S5)", () => {
  let server: DevtoolServer;
  beforeAll(async () => {
    server = await serveCodingAgent({
      allowedOrigins: [LISTED, "vscode-webview://abc"],
    });
  });
  afterAll(() => server.close());

  it.each(PATHS)(
    "answers the preflight request of %s without a token",
    async (path) => {
      const { status, headers } = await preflight(path, LISTED);
      expect(status).toBe(204);
      expect(headers["access-control-allow-origin"]).toBe(LISTED);
      expect(headers.vary).toContain("Origin");
      expect(listOf(headers["access-control-allow-methods"])).toEqual(
        expect.arrayContaining(["get", "post", "delete"]),
      );
      expect(listOf(headers["access-control-allow-headers"])).toEqual(
        expect.arrayContaining([
          ...cors.allowedHeaders.map((name) => name.toLowerCase()),
          "authorization",
          "last-event-id",
          "a2a-version",
          "a2a-extensions",
          "x-a2a-extensions",
        ]),
      );
    },
  );

  it.each(PATHS)(
    "refuses the preflight request of %s for an origin that is not listed",
    async (path) => {
      for (const origin of [
        "https://evil.example",
        "null",
        `${LISTED}.evil.example`,
        `${LISTED}:8443`,
      ]) {
        const { status, headers } = await preflight(path, origin);
        expect(status, origin).toBe(403);
        expect(
          Object.keys(headers).filter((name) =>
            name.startsWith("access-control-"),
          ),
        ).toEqual([]);
      }
    },
  );

  it.each([...PATHS, "/nothing"])(
    "lets a listed page read the response of %s, also a refusal",
    async (path) => {
      const { status, headers } = await call("POST", path, {
        origin: LISTED,
        authorization: "Bearer wrong",
      });
      expect(status).toBe(401);
      expect(headers["access-control-allow-origin"]).toBe(LISTED);
      expect(headers.vary).toContain("Origin");
      expect(listOf(headers["access-control-expose-headers"])).toEqual(
        expect.arrayContaining([
          ...cors.exposedHeaders.map((name) => name.toLowerCase()),
          "x-a2a-extensions",
        ]),
      );
    },
  );

  it("keeps the other Vary values of the card, also for callers without an origin", async () => {
    for (const headers of [{}, { origin: LISTED }]) {
      const card = await call("GET", "/.well-known/agent-card.json", headers);
      expect(listOf(card.headers.vary)).toEqual(["origin", "a2a-version"]);
    }
  });

  it("never allows credentials that the browser attaches", async () => {
    const { headers } = await preflight("/", LISTED);
    expect(headers["access-control-allow-credentials"]).toBeUndefined();
  });

  it("answers a page of the public internet that calls this machine", async () => {
    const name = "access-control-request-private-network";
    expect(
      (await preflight("/", LISTED, { [name]: "true" })).headers[
        "access-control-allow-private-network"
      ],
    ).toBe("true");
    expect(
      (await preflight("/", LISTED)).headers[
        "access-control-allow-private-network"
      ],
    ).toBeUndefined();
  });

  it("requires the token for an OPTIONS request that is not a preflight request", async () => {
    expect((await call("OPTIONS", "/", { origin: LISTED })).status).toBe(401);
    expect(
      (await call("OPTIONS", "/", { "access-control-request-method": "POST" }))
        .status,
    ).toBe(401);
  });

  it("checks the host of a preflight request", async () => {
    expect(
      (await preflight("/", LISTED, { host: "evil.example" })).status,
    ).toBe(403);
  });

  it("does the same over HTTP/2", async () => {
    const session = connect(server.url);
    const headers = {
      ":method": "OPTIONS",
      ":path": "/",
      origin: LISTED,
      "access-control-request-method": "POST",
    };
    const [answer] = await once(session.request(headers).end(), "response");
    expect(answer).toMatchObject({
      ":status": 204,
      "access-control-allow-origin": LISTED,
    });
    session.destroy();
  });

  it("names the flags and fields that would allow a caller", async () => {
    const origin = await call("GET", "/healthz", {
      origin: "https://evil.example",
    });
    expect(origin.body).toContain("--allow-origin (allowed_origins)");
    const host = await call("GET", "/healthz", { host: "localhost:9" });
    expect(host.body).toContain("--allow-host (allowed_hosts)");
    expect(host.body).toContain("--public-url (public_url)");
  });

  it.each([
    "*",
    "null",
    "app.example",
    "https://app.example/",
    "https://app.example:443",
    "https://*.example",
  ])("does not start with %s in its list", async (origin) => {
    await expect(
      serveCodingAgent({ allowedOrigins: [origin] }),
    ).rejects.toThrow("is not an origin: write one as browsers");
  });

  it("shows no password of an origin that it does not start with", async () => {
    const allowedOrigins = ["https://me:s3cret@app.example"];
    await expect(serveCodingAgent({ allowedOrigins })).rejects.toThrow(
      'allowed_origins "https://app.example/" is not an origin',
    );
  });

  function preflight(
    path: string,
    origin: string,
    headers: Readonly<Record<string, string>> = {},
  ) {
    return call("OPTIONS", path, {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization,content-type",
      ...headers,
    });
  }

  async function call(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
  ) {
    const { host } = new URL(server.url);
    const sent = request(`${server.url}${path}`, {
      method,
      headers: { host, ...headers },
    }).end();
    const [response] = await once(sent, "response");
    return {
      status: response.statusCode,
      headers: response.headers,
      body: await text(response),
    };
  }
});

function listOf(value: unknown): string[] {
  return String(value).toLowerCase().split(", ");
}
