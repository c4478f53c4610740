import { once } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { get as getOpenly } from "node:http";
import { get } from "node:https";
import { join } from "node:path";
import { json, text } from "node:stream/consumers";
import { connect } from "node:tls";
import { Code, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
} from "@connectrpc/connect-node";
import {
  bearerInterceptor,
  confirmationPart,
  createDevtoolClient,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Authority, type Certificate, hasOpenssl } from "./certificates.ts";

const ALICE = "/O=Example/CN=alice";

describe.skipIf(!(await hasOpenssl()))("a server with certificates", () => {
  let directory: string;
  let authority: Authority;
  let stranger: Authority;
  let server: DevtoolServer;
  let ca: string;

  beforeAll(async () => {
    directory = temporaryDirectory();
    [authority, stranger] = [
      await Authority.create(directory, "ours"),
      await Authority.create(directory, "theirs"),
    ];
    ca = await authority.certificate();
    const tls = {
      ...(await authority.issue("/CN=127.0.0.1")),
      clientAuthorities: ca,
    };
    server = await serveCodingAgent({
      workspace: directory,
      tls,
      authentication: { certificateRights: [] },
    });
  });
  afterAll(() => server.close());

  it("has an https URL, and speaks nothing else", async () => {
    expect(server.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    await expect(openly(server.url.replace("https", "http"))).rejects.toThrow(
      /socket hang up|ECONNRESET/,
    );
  });

  it("lists certificates in its card", async () => {
    const [response] = await once(
      get(`${server.url}/.well-known/agent-card.json`, { ca }),
      "response",
    );
    const card = Object(await json(response));
    expect(card.securitySchemes.mtls).toMatchObject({
      type: "mutualTLS",
      mtlsSecurityScheme: {},
    });
    expect(card.security).toEqual([{ bearer: [] }, { mtls: [] }]);
  });

  it("identifies a client by issuer and subject, over HTTP/1.1 and HTTP/2, also with a renewed certificate", async () => {
    const [old, renewed] = [
      await authority.issue(ALICE),
      await authority.issue(ALICE),
    ];
    const { task } = await send(over("1.1", old), "text hello");
    expect(task?.principal).toBe("x509:CN%3Dours#O%3DExample,CN%3Dalice");
    expect(
      (
        await createDevtoolClient(over("2", renewed)).tasks.getTask({
          taskId: task?.id ?? "",
        })
      ).task?.id,
    ).toBe(task?.id);
    expect(
      (
        await createDevtoolClient(grpc(renewed)).tasks.getTask({
          taskId: task?.id ?? "",
        })
      ).task?.id,
    ).toBe(task?.id);
  });

  it("keeps the tasks of clients apart", async () => {
    const { task } = await send(
      over("2", await authority.issue(ALICE)),
      "text hello",
    );
    const bob = createDevtoolClient(
      over("2", await authority.issue("/O=Example/CN=bob")),
    );
    await expect(
      bob.tasks.getTask({ taskId: task?.id ?? "" }),
    ).rejects.toMatchObject({ code: Code.NotFound });
  });

  it("gives certificates only the rights that the operator named", async () => {
    const client = createDevtoolClient(over("2", await authority.issue(ALICE)));
    const { task } = await client.tasks.sendMessage({
      message: textMessage("w", "write x.txt x"),
    });
    const parts = task
      ? pendingToolCalls(task).map((call) =>
          confirmationPart(call, "proceed_once"),
        )
      : [];
    expect(parts).toHaveLength(1);
    const answer = client.tasks.sendMessage({
      message: { messageId: "a", parts },
      taskId: task?.id ?? "",
    });
    await expect(answer).rejects.toMatchObject({ code: Code.PermissionDenied });
  });

  it.each(["1.1", "2"] as const)(
    "refuses clients over HTTP/%s with a certificate of a foreign authority, or without one",
    async (version) => {
      const transports = [
        over(version, await stranger.issue(ALICE)),
        over(version),
      ];
      for (const transport of transports) {
        await expect(send(transport, "text hello")).rejects.toMatchObject({
          code: Code.Unauthenticated,
        });
      }
    },
  );

  it("refuses a wrong token and other credentials in spite of a valid certificate", async () => {
    const client = await authority.issue(ALICE);
    for (const authorization of [
      "Bearer wrong",
      "Bearer a.b.c",
      "Basic x",
      "",
    ]) {
      expect(
        await listing({ client, headers: { authorization } }),
        authorization,
      ).toMatchObject({ status: 401 });
    }
    expect(await listing({ client })).toMatchObject({ status: 200 });
  });

  it("refuses a certificate that names no subject: all such callers would be one principal", async () => {
    expect(await listing({ client: await authority.issue("/") })).toMatchObject(
      {
        status: 401,
        body: expect.stringContaining("names no subject"),
      },
    );
  });

  it.each([
    ["has expired", { from: "20200101000000Z", to: "20200201000000Z" }],
    ["is not valid yet", { from: "20400101000000Z", to: "20410101000000Z" }],
    ["is for servers", { usage: "serverAuth" }],
  ])("refuses a certificate that %s", async (_what, limits) => {
    expect(
      await listing({ client: await authority.issueLimited(ALICE, limits) }),
    ).toMatchObject({ status: 401 });
    expect(
      await listing({ client: await authority.issueLimited(ALICE, {}) }),
    ).toMatchObject({ status: 200 });
  });

  it("refuses a certificate that a client signed, or an authority of the same name", async () => {
    const alice = await authority.issueLimited(ALICE, {});
    const signed = await authority.issueLimited("/O=Example/CN=bob", {
      signer: alice,
    });
    const namesake = await Authority.create(
      await mkdtemp(join(directory, "namesake-")),
      "ours",
    );
    for (const client of [signed, await namesake.issueLimited(ALICE, {})]) {
      expect(await listing({ client })).toMatchObject({ status: 401 });
    }
  });

  it.each([
    "/CN=alice/O=Example",
    "/O=Example,CN=alice",
    "/O=Example\\nCN=alice",
    "/O=example/CN=ALICE",
    "/O=Example/CN=alice,CN=alice",
  ])("treats a client named %s as another principal", async (subject) => {
    const alice = await send(
      over("2", await authority.issue(ALICE)),
      "text hello",
    );
    const other = await send(
      over("2", await authority.issue(subject)),
      "text hello",
    );
    expect(other.task?.principal).not.toBe(alice.task?.principal);
  });

  it("identifies a client by its subject alone, whatever else its certificate names", async () => {
    const mallory = await authority.issue(
      "/O=Example/CN=mallory",
      "DNS:alice,email:alice@example.org",
    );
    expect(
      (await send(over("2", mallory), "text hello")).task?.principal,
    ).toMatch(/CN%3Dmallory$/);
  });

  it("resumes a TLS session as its own client, and never as another one", async () => {
    const strangers = await sessionOf(await stranger.issue(ALICE));
    expect(
      await listing({
        client: await authority.issue(ALICE),
        session: strangers,
      }),
    ).toMatchObject({ status: 401 });
    const alices = await sessionOf(await authority.issue(ALICE));
    expect(
      await listing({ client: await stranger.issue(ALICE), session: alices }),
    ).toMatchObject({ status: 200 });
  });

  it("admits the operator by the token, without a certificate", async () => {
    const transport = createConnectTransport({
      baseUrl: server.url,
      httpVersion: "2",
      nodeOptions: { ca },
      interceptors: [bearerInterceptor(server.token)],
    });
    expect((await send(transport, "text hello")).task?.principal).toBe("local");
  });

  interface Asking {
    readonly client: Certificate;
    readonly headers?: Readonly<Record<string, string>>;
    readonly session?: Buffer;
  }

  /** Lists tasks over a new connection. */
  async function listing({ client, headers = {}, session }: Asking) {
    const credentials = {
      cert: client.certificate,
      key: client.key,
      ...(session && { session }),
    };
    const request = get(`${server.url}/v1/tasks`, {
      ca,
      agent: false,
      headers,
      ...credentials,
    });
    const [response] = await once(request, "response");
    return { status: response.statusCode, body: await text(response) };
  }

  /** Returns a TLS session, with which a client can connect faster. */
  async function sessionOf(client: Certificate): Promise<Buffer> {
    const { hostname: host, port } = new URL(server.url);
    const socket = connect({
      host,
      port: Number(port),
      ca,
      cert: client.certificate,
      key: client.key,
    });
    try {
      socket.write(`GET /healthz HTTP/1.1\r\nHost: ${host}:${port}\r\n\r\n`);
      socket.resume();
      const [session] = await once(socket, "session");
      return session;
    } finally {
      socket.destroy();
    }
  }

  function over(httpVersion: "1.1" | "2", client?: Certificate): Transport {
    const nodeOptions = {
      ca,
      ...(client && { cert: client.certificate, key: client.key }),
    };
    return createConnectTransport({
      baseUrl: server.url,
      httpVersion,
      nodeOptions,
    });
  }

  function grpc(client: Certificate): Transport {
    return createGrpcTransport({
      baseUrl: server.url,
      nodeOptions: { ca, cert: client.certificate, key: client.key },
    });
  }
});

function send(transport: Transport, script: string) {
  return createDevtoolClient(transport).tasks.sendMessage({
    message: textMessage(crypto.randomUUID(), script),
  });
}

function openly(url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    getOpenly(`${url}/healthz`, () => resolve()).on("error", reject);
  });
}
