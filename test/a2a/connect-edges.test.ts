import { once } from "node:events";
import { connect } from "node:http2";
import { connect as connectTcp } from "node:net";
import { gzipSync } from "node:zlib";
import type { DescMethod } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  AgentListService,
  AuditService,
  PushService,
  SlashCommandService,
  TaskService,
} from "@devtool/schema";
import { A2AService } from "@devtool/schema/a2a-v1";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const SERVICES = [
  TaskService,
  SlashCommandService,
  PushService,
  AuditService,
  AgentListService,
  A2AService,
];
const METHODS: readonly DescMethod[] = SERVICES.flatMap(
  ({ methods }) => methods,
);
const CHANGING = METHODS.filter(
  ({ idempotency, methodKind }) =>
    methodKind === "unary" &&
    idempotency !== MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS,
);
const LIST = "devtool.v1alpha.TaskService/ListTasks";
/** More than the maximum size of a request, by some bytes that are not read. */
const TOO_LARGE = new Uint8Array(6 * 2 ** 20);
const CUT = gzipSync("{}").subarray(0, 15);

describe("Connect", () => {
  let workspace: string;
  let server: DevtoolServer;

  beforeAll(async () => {
    workspace = temporaryDirectory();
    server = await serveCodingAgent({ workspace });
  });
  afterAll(() => server.close());

  it("changes nothing by GET, which a page or a mail can make a browser send (S5)", async () => {
    expect(CHANGING.length).toBeGreaterThan(8);
    for (const { parent, name } of CHANGING) {
      const { status } = await get(`${parent.typeName}/${name}`, {
        message: "{}",
        encoding: "json",
      });
      expect(status, `${parent.typeName}/${name}`).toBe(405);
    }
  });

  it("reads by GET, and accepts no token in the URL", async () => {
    const query = {
      message: "{}",
      encoding: "json",
      authorization: `Bearer ${server.token}`,
    };
    expect((await get(LIST, query)).status).toBe(200);
    expect((await get(LIST, query, {})).status).toBe(401);
  });

  it.each([
    ["no base64", { message: "!", encoding: "proto", base64: "1" }],
    [
      "compressed bytes that end too early",
      { ...compressed(CUT), compression: "gzip" },
    ],
    [
      "bytes that are not compressed",
      { ...compressed(Buffer.from("text")), compression: "gzip" },
    ],
    ["no message", { encoding: "json" }],
  ])(
    "reports an error of the client when a query holds %s (ERR-1)",
    async (_what, query) => {
      const response = await get(LIST, query);
      expect([response.status, Object(await response.json()).code]).toEqual([
        400,
        "invalid_argument",
      ]);
    },
  );

  it("reports an error of the client when a compressed body ends too early (ERR-1)", async () => {
    const { status, body } = await post({ "content-encoding": "gzip" }, CUT);
    expect([status, body.code]).toEqual([400, "invalid_argument"]);
  });

  it("ignores a deadline that is too far away for a timer", async () => {
    const message = {
      messageId: "far",
      parts: [{ text: "wait 20\ntext done" }],
    };
    const { status, body } = await post(
      { "connect-timeout-ms": "9999999999" },
      JSON.stringify({ message }),
    );
    expect([status, body.task?.state]).toEqual([200, "TASK_STATE_COMPLETED"]);
  });

  it("answers the next request of a connection after one that was too large", async () => {
    const { hostname, port, host } = new URL(server.url);
    const socket = connectTcp(Number(port), hostname).setEncoding("utf8");
    const send = async (head: readonly string[], body: string) => {
      const authorization = `Authorization: Bearer ${server.token}`;
      const lines = [...head, `Host: ${host}`, authorization];
      socket.write(`${lines.join("\r\n")}\r\n\r\n${body}`);
      const signal = AbortSignal.timeout(60_000);
      const [answer] = await once(socket, "data", { signal });
      return String(answer).split("\r\n")[0];
    };
    // In a chunk, so that its length shows only while it is read.
    const chunk = `${TOO_LARGE.length.toString(16)}\r\n${"x".repeat(TOO_LARGE.length)}\r\n0\r\n\r\n`;
    const post = `POST /${LIST} HTTP/1.1`;
    const json = "Content-Type: application/json";
    expect(await send([post, json, "Transfer-Encoding: chunked"], chunk)).toBe(
      "HTTP/1.1 429 Too Many Requests",
    );
    expect(await send(["GET /healthz HTTP/1.1"], "")).toBe("HTTP/1.1 200 OK");
    socket.destroy();
  });

  it("answers other requests of an HTTP/2 session after one that was too large", async () => {
    const session = connect(server.url);
    const exchange = async (body: Uint8Array) => {
      const stream = session.request(
        {
          ":method": "POST",
          ":path": `/${LIST}`,
          "content-type": "application/json",
          ...authorized(),
        },
        { signal: AbortSignal.timeout(60_000) },
      );
      stream.end(body);
      const [headers] = await once(stream, "response");
      await stream.resume().toArray();
      return Object(headers)[":status"];
    };
    expect(await exchange(TOO_LARGE)).toBe(429);
    expect(await exchange(Buffer.from("{}"))).toBe(200);
    session.close();
  });

  function authorized(): Record<string, string> {
    return { authorization: `Bearer ${server.token}` };
  }

  function get(
    path: string,
    query: Readonly<Record<string, string>>,
    headers = authorized(),
  ): Promise<Response> {
    return fetch(
      `${server.url}/${path}?${new URLSearchParams({ connect: "v1", ...query })}`,
      { headers },
    );
  }

  async function post(
    headers: Readonly<Record<string, string>>,
    body: string | Uint8Array,
  ) {
    const response = await fetch(
      `${server.url}/devtool.v1alpha.TaskService/SendMessage`,
      {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...authorized(),
          ...headers,
        },
        body: typeof body === "string" ? body : new Uint8Array(body),
      },
    );
    return { status: response.status, body: Object(await response.json()) };
  }
});

function compressed(bytes: Uint8Array) {
  return {
    message: Buffer.from(bytes).toString("base64url"),
    encoding: "json",
    base64: "1",
  };
}
