import { JsonRpcCode } from "@devtool/schema/a2a-v03";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { idleAgent } from "../../../test/idle-agent.ts";
import {
  serveRoutes,
  servicesWith,
  silentHandler,
} from "../../../test/serve-routes.ts";
import { createServer, type DevtoolServer } from "../../server.ts";
import { a2a } from "../a2a.ts";

const agents = { idle: idleAgent };

describe("the routes of A2A 0.3", () => {
  let server: DevtoolServer;
  beforeAll(async () => {
    server = await createServer({
      agents,
      workspace: process.cwd(),
      limits: { maxRequestBytes: 1000 },
    });
  });
  afterAll(() => server.close());

  it("answer with 304 when the client has the card already (CARD-1)", async () => {
    const url = `${server.url}/.well-known/agent-card.json`;
    const first = await fetch(url);
    const again = await fetch(url, {
      headers: { "if-none-match": first.headers.get("etag") ?? "" },
    });
    expect([first.status, again.status, await again.text()]).toEqual([
      200,
      304,
      "",
    ]);
  });

  it("answer with 304 to a list of tags, and to a tag that a proxy made weak (RFC 9110, section 13.1.2)", async () => {
    const url = `${server.url}/.well-known/agent-card.json`;
    const etag = (await fetch(url)).headers.get("etag") ?? "";
    for (const [tags, status] of [
      [`"other", W/${etag}`, 304],
      [`W/"other"`, 200],
    ] as const) {
      expect([
        tags,
        (await fetch(url, { headers: { "if-none-match": tags } })).status,
      ]).toEqual([tags, status]);
    }
  });

  it("send results and errors as JSON, over both bindings", async () => {
    const headers = {
      "content-type": "application/json",
      authorization: `Bearer ${server.token}`,
    };
    const types = async (url: string, init: RequestInit) => {
      const response = await fetch(url, { ...init, headers });
      await response.text();
      return response.headers.get("content-type");
    };
    const rpc = (method: string) => ({
      method: "POST",
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method }),
    });
    expect(await types(server.url, rpc("commands/get"))).toBe(
      "application/json",
    );
    expect(await types(server.url, rpc("tasks/get"))).toBe("application/json");
    expect(await types(`${server.url}/v1/card`, {})).toBe("application/json");
    expect(await types(`${server.url}/v1/tasks/none`, {})).toBe(
      "application/json",
    );
  });

  it("refuse a parameter of the query that is given twice, in either spelling", async () => {
    const headers = { authorization: `Bearer ${server.token}` };
    for (const query of ["pageSize=1&pageSize=2", "pageSize=1&page_size=2"]) {
      const response = await fetch(`${server.url}/v1/tasks?${query}`, {
        headers,
      });
      expect([response.status, await response.text()]).toEqual([
        400,
        expect.stringContaining("give it once"),
      ]);
    }
  });

  it("refuse another content type with 415 and a large body with 413, as JSON-RPC errors (ERR-2)", async () => {
    const typed = await post("{}", { "content-type": "text/plain" });
    expect([typed.status, typed.json.error.code]).toEqual([
      415,
      JsonRpcCode.INVALID_REQUEST,
    ]);
    const large = await post(JSON.stringify({ text: "x".repeat(2000) }));
    expect([large.status, large.json.error.code]).toEqual([
      413,
      JsonRpcCode.INVALID_REQUEST,
    ]);
    expect(large.json.error.message).toContain("limit is 1000");
  });

  it("refuse a batch and a request without id, and repeat the id of a call to an unknown method (ERR-1)", async () => {
    expect((await post("[]")).json).toMatchObject({
      id: null,
      error: { code: JsonRpcCode.INVALID_REQUEST },
    });
    const unnamed = JSON.stringify({
      jsonrpc: "2.0",
      method: "tasks/get",
      params: { id: "t" },
    });
    expect((await post(unnamed)).json).toMatchObject({
      id: null,
      error: { code: JsonRpcCode.INVALID_REQUEST },
    });
    const unknown = await call("tasks/nothing", {});
    expect(unknown.json).toMatchObject({
      id: "r1",
      error: { code: JsonRpcCode.METHOD_NOT_FOUND },
    });
  });

  it("name the header when the position to resume from is not valid (STREAM-3)", async () => {
    const { json } = await call(
      "tasks/resubscribe",
      { id: "t" },
      { "last-event-id": "-1" },
    );
    expect(json.error).toMatchObject({
      code: JsonRpcCode.INVALID_PARAMS,
      data: { field: "Last-Event-ID", value: "-1" },
    });
  });

  it("give authenticated callers a card with the slash commands, and others none", async () => {
    const { json } = await call("agent/getAuthenticatedExtendedCard", {});
    const open = JSON.parse(
      await (await fetch(`${server.url}/.well-known/agent-card.json`)).text(),
    );
    expect(open.supportsAuthenticatedExtendedCard).toBe(true);
    expect(json.result).toMatchObject({ name: open.name, url: open.url });
    const names = json.result.skills.map(({ name }: { name: string }) => name);
    expect(names).toEqual(
      expect.arrayContaining(["idle", "/memory", "/memory show"]),
    );
    expect(open.skills).toHaveLength(1);
    expect((await fetch(`${server.url}/v1/card`)).status).toBe(401);
  });

  it("notice that the client of a silent stream disconnects", async () => {
    const gone = Promise.withResolvers<void>();
    const served = a2a()(servicesWith(silentHandler(gone.resolve)));
    await using agent = await serveRoutes(
      served.filter((each) => "matches" in each),
    );
    const client = new AbortController();
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tasks/resubscribe",
      params: { id: "t" },
    });
    const headers = {
      "content-type": "application/json",
      "last-event-id": "0",
    };
    const response = await fetch(agent.url, {
      method: "POST",
      headers,
      body,
      signal: client.signal,
    });
    expect(response.status).toBe(200);
    client.abort();
    await gone.promise;
  });

  it("refuse a client without the extension where it is required (CARD-1, CARD-3)", async () => {
    await using strict = await createServer({
      agents,
      workspace: process.cwd(),
      extensionRequired: true,
    });
    const message = {
      role: "user",
      messageId: "m1",
      parts: [{ kind: "text", text: "text Hi." }],
    };
    const { json } = await call("message/send", { message }, {}, strict);
    expect(json.error).toMatchObject({ code: JsonRpcCode.INVALID_REQUEST });
    expect(json.error.message).toContain("X-A2A-Extensions");
  });

  function call(
    method: string,
    params: object,
    headers: Record<string, string> = {},
    to: DevtoolServer = server,
  ) {
    return post(
      JSON.stringify({ jsonrpc: "2.0", id: "r1", method, params }),
      headers,
      to,
    );
  }

  async function post(
    body: string,
    headers: Record<string, string> = {},
    to: DevtoolServer = server,
  ) {
    const authorization = `Bearer ${to.token}`;
    const all = {
      "content-type": "application/json",
      authorization,
      ...headers,
    };
    const response = await fetch(to.url, {
      method: "POST",
      headers: all,
      body,
    });
    return { status: response.status, json: JSON.parse(await response.text()) };
  }
});
