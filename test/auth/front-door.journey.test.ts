import { execFile } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { request } from "node:http";
import { connect } from "node:http2";
import { connect as connectSocket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { roundsOf } from "../depth.ts";
import { startServing } from "../durability/crash/server-process.ts";
import { MAIN } from "../our-command.ts";

interface Route {
  readonly method: string;
  readonly path: string;
  readonly open: boolean;
}

/**
 * The paths that are not methods of a service, and some that the server does
 * not serve. Add new paths here.
 */
const PLAIN_ROUTES: readonly Route[] = [
  { method: "GET", path: "/healthz", open: true },
  { method: "GET", path: "/readyz", open: true },
  { method: "GET", path: "/.well-known/agent-card.json", open: true },
  { method: "GET", path: "/.well-known/agent.json", open: true },
  { method: "POST", path: "/", open: false },
  { method: "POST", path: "/a2a", open: false },
  { method: "GET", path: "/.well-known/jwks.json", open: true },
  { method: "POST", path: "/v1/message:send", open: false },
  { method: "GET", path: "/v1/card", open: false },
  { method: "POST", path: "/message:send", open: false },
  { method: "GET", path: "/tasks/x", open: false },
  { method: "GET", path: "/extendedAgentCard", open: false },
  { method: "GET", path: "/listCommands", open: false },
  { method: "POST", path: "/executeCommand", open: false },
  { method: "POST", path: "/tasks", open: false },
  { method: "GET", path: "/tasks/metadata", open: false },
  { method: "GET", path: "/tasks/x/metadata", open: false },
  {
    method: "GET",
    path: "/devtool.v1alpha.TaskService/GetTask?message=%7B%7D",
    open: false,
  },
  { method: "GET", path: "/", open: false },
  { method: "OPTIONS", path: "/", open: false },
  { method: "DELETE", path: "/nothing/here", open: false },
];

/** How often a client has the answer to a request that it still sends. */
const ROUNDS = roundsOf("DEVTOOL_REFUSALS", { quick: 1, ci: 5, deep: 50 });

const HOSTS = [
  "evil.example",
  "localhost.evil.example:PORT",
  "127.0.0.1",
  "127.0.0.1:1",
  "0.0.0.0:PORT",
  "127.0.0.1.:PORT",
  "[::ffff:127.0.0.1]:PORT",
  "[::]:PORT",
];
const ORIGINS = [
  "https://evil.example",
  "null",
  "http://localhost:3000",
  "http://127.0.0.1:PORT",
  "file://",
];
const CREDENTIALS = [
  "",
  "Bearer",
  "Bearer ",
  "Bearer wrong",
  "Basic TOKEN",
  "bearer  TOKEN",
  "Bearer TOKENx",
  "Bearer TOKEN TOKEN",
  "TOKEN",
];

describe("the front door (S5)", () => {
  let server: DevtoolServer;
  let routes: readonly Route[];

  beforeAll(async () => {
    server = await serveCodingAgent();
    const methods = await methodsOf(server);
    routes = [
      ...PLAIN_ROUTES,
      ...methods.map((name) => ({
        method: "POST",
        path: `/${name}`,
        open: false,
      })),
    ];
  });
  afterAll(() => server.close());

  it("is in front of every service", () => {
    expect(routes.map(({ path }) => path)).toEqual(
      expect.arrayContaining([
        "/devtool.v1alpha.TaskService/StreamMessage",
        "/devtool.v1alpha.SlashCommandService/RunSlashCommand",
        "/devtool.v1alpha.PushService/SetPushConfig",
        "/devtool.v1alpha.AuditService/ReadAudit",
        "/devtool.v1alpha.AgentListService/ListAgents",
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
      ]),
    );
  });

  it("refuses requests without the token, from another origin or for another host", async () => {
    const tries = routes.flatMap(({ method, path, open }) => [
      ...HOSTS.map((host) => ({
        method,
        path,
        headers: { host, authorization: "Bearer TOKEN" },
        wanted: [403, 400],
      })),
      ...ORIGINS.map((origin) => ({
        method,
        path,
        headers: { origin, authorization: "Bearer TOKEN" },
        wanted: [403],
      })),
      ...CREDENTIALS.map((authorization) => ({
        method,
        path,
        headers: { authorization },
        wanted: open ? [200] : [401],
      })),
    ]);
    expect(tries.length).toBeGreaterThanOrEqual(300);
    const wrong: unknown[] = [];
    for (const attempt of tries) {
      const status = await statusOf(attempt);
      if (!attempt.wanted.includes(status)) wrong.push({ ...attempt, status });
    }
    expect(wrong).toEqual([]);
  });

  it("answers differently on every closed route with the token and from this machine (sabotage of S5)", async () => {
    for (const { method, path } of routes) {
      const status = await statusOf({
        method,
        path,
        headers: { authorization: "Bearer TOKEN" },
      });
      expect([401, 403]).not.toContain(status);
    }
  });

  it("is the same over HTTP/2, which gRPC uses", async () => {
    const session = connect(server.url);
    const right = {
      ":authority": new URL(server.url).host,
      authorization: `Bearer ${server.token}`,
    };
    const wrongs = [
      { wanted: 401, headers: { ...right, authorization: "Bearer wrong" } },
      { wanted: 403, headers: { ...right, origin: "https://evil.example" } },
      { wanted: 403, headers: { ...right, ":authority": "evil.example" } },
      { wanted: 403, headers: { ...right, host: "evil.example" } },
    ];
    for (const { method, path, open } of routes) {
      for (const { wanted, headers } of wrongs.filter(
        (wrong) => !open || wrong.wanted === 403,
      )) {
        const stream = session
          .request({ ":method": method, ":path": path, ...headers })
          .end();
        const [answer] = await once(stream, "response");
        expect(
          [wanted, 400],
          `${method} ${path} ${JSON.stringify(headers)}`,
        ).toContain(answer[":status"]);
        stream.close();
      }
    }
    session.destroy();
  });

  it("serves no request with two Host headers, whichever of them is right", async () => {
    const { port, host } = new URL(server.url);
    for (const hosts of [
      [host, "evil.example"],
      ["evil.example", host],
      [host, host],
    ]) {
      const lines = hosts.map(
        (name, at) => `${at === 0 ? "Host" : "hOST"}: ${name}`,
      );
      const socket = connectSocket(Number(port), "127.0.0.1");
      socket.write(
        `GET /healthz HTTP/1.1\r\n${lines.join("\r\n")}\r\nConnection: close\r\n\r\n`,
      );
      const answer = await text(socket);
      expect(answer, lines.join()).toMatch(/^HTTP\/1\.1 40[03]/);
    }
  });

  it("reads the rest of a request that it refuses, so that the client learns why", async () => {
    // In another process, since a server in this one sees headers and body at
    // the same moment.
    const base = temporaryDirectory();
    await using cleanup = new AsyncDisposableStack();
    cleanup.defer(() => rm(base, { recursive: true }));
    const other = await startServing([
      "--data",
      join(base, "data"),
      "--workspace",
      join(base, "work"),
    ]);
    cleanup.defer(() => other.kill());
    // The command's first request sends its body a moment after its headers.
    const words = ["tasks", "--url", other.info.url, "--token", "wrong"];
    for (let run = 0; run < ROUNDS; run++) {
      const { stderr } = await promisify(execFile)(process.execPath, [
        MAIN,
        ...words,
      ]).catch((reason) => reason);
      expect(stderr).toBe(
        "devtool: the bearer token is missing or wrong: send it in the Authorization header\n",
      );
    }
  });

  it("refuses at once, and closes the connection of a client that does not send the rest", async () => {
    const { host, port } = new URL(server.url);
    const socket = connectSocket(Number(port), "127.0.0.1");
    socket.write(
      `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 9\r\n\r\n`,
    );
    expect(await text(socket)).toMatch(
      /^HTTP\/1\.1 401 [\s\S]*"the bearer token is missing/,
    );
  });

  it("names the port in use, and the remedy", async () => {
    const port = Number(new URL(server.url).port);
    await expect(serveCodingAgent({ port })).rejects.toThrow(
      `port ${port} of 127.0.0.1 is in use: choose another`,
    );
  });

  it("does not open on an address that others can reach without a token of the operator", async () => {
    await expect(serveCodingAgent({ host: "0.0.0.0" })).rejects.toThrow(
      'host "0.0.0.0" is reachable from other machines',
    );
  });

  function statusOf({
    method,
    path,
    headers,
  }: {
    method: string;
    path: string;
    headers: Record<string, string>;
  }): Promise<number> {
    const { port, host } = new URL(server.url);
    const filled = Object.entries({ host, ...headers }).map(([name, value]) => [
      name,
      value.replaceAll("PORT", port).replaceAll("TOKEN", server.token),
    ]);
    return new Promise((resolve, reject) => {
      const sent = request({
        host: "127.0.0.1",
        port,
        method,
        path,
        headers: {
          "content-type": "application/json",
          ...Object.fromEntries(filled),
        },
      });
      sent.on("error", reject).on("response", (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      sent.end(method === "POST" ? "{}" : undefined);
    });
  }
});

/** Returns every method that the server lists by reflection. */
async function methodsOf({ url, token }: DevtoolServer): Promise<string[]> {
  const header = `authorization: Bearer ${token}`;
  const reflect = [
    "--protocol",
    "grpc",
    "--http2-prior-knowledge",
    "--reflect-header",
    header,
    "-H",
    header,
  ];
  const { stdout } = await promisify(execFile)("buf", [
    "curl",
    "--list-methods",
    ...reflect,
    url,
  ]);
  return stdout.split("\n").filter((name) => name !== "");
}
