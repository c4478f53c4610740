import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import type { Client } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rotate, variantsOf } from "../depth.ts";
import {
  type ServerProcess,
  startServing,
} from "../durability/crash/server-process.ts";
import { connectHost } from "./host.ts";
import { modernRequest, TASK_HOST } from "./modern-request.ts";
import { modernMeta, RawHost } from "./raw-host.ts";

/** A connection of a host that does wrong. */
interface Wire extends AsyncDisposable {
  /** Writes a text, in the frame of the transport, or a part of that. */
  write(text: string, share?: number): void;
  /** Reads nothing any more of what the server sends. */
  stopReading(): void;
  /** Ends the host at once, as `kill -9` does. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** One way in to our MCP server. */
interface Surface {
  readonly name: string;
  readonly open: (place: Place) => Promise<Wire>;
  /** The `_meta` that a request has there. */
  readonly _meta?: object;
}

interface Place {
  readonly server: ServerProcess;
  readonly data: string;
  readonly work: string;
}

const INITIALIZE = {
  protocolVersion: "2025-11-25",
  capabilities: { elicitation: { form: {} } },
  clientInfo: { name: "wild", version: "1" },
};

const SURFACES: readonly Surface[] = [
  {
    name: "devtool mcp",
    open: async ({ data, work }) => {
      await using opening = new AsyncDisposableStack();
      const raw = opening.use(new RawHost(["--data", data], work));
      await raw.request("initialize", INITIALIZE);
      raw.notify("notifications/initialized");
      opening.move();
      return {
        write: (text, share = 1) => raw.write(part(`${text}\n`, share)),
        stopReading: () => void raw.stdout.pause(),
        [Symbol.asyncDispose]: () => raw[Symbol.asyncDispose](),
      };
    },
  },
  {
    name: "/mcp with a session",
    open: async ({ server }) => {
      const begun = await fetch(`${server.info.url}/mcp`, {
        method: "POST",
        headers: headersOf(server),
        body: request("initialize", INITIALIZE),
      });
      await begun.text();
      const id = begun.headers.get("mcp-session-id") ?? "";
      return openSocket(server, { "mcp-session-id": id });
    },
  },
  {
    name: "/mcp without sessions",
    open: ({ server }) =>
      openSocket(server, { "mcp-protocol-version": "2026-07-28" }),
    _meta: modernMeta(TASK_HOST),
  },
];

/** What a host does wrong; each begins with a connection of its own. */
const FAULTS: Readonly<
  Record<string, (wire: Wire, surface: Surface) => Promise<void> | void>
> = {
  "half a message": (wire, { _meta }) =>
    wire.write(call("agent_devtool", { prompt: "text Half." }, _meta), 0.5),
  "what is no JSON": (wire) => {
    for (const text of ["{nope", "\0\0", '"', "[1,", "}{"]) wire.write(text);
  },
  "messages of a wrong form": (wire, { _meta }) => {
    const params = { name: { deep: "x" }, arguments: [], _meta };
    const wrong: unknown[] = [
      ...[5, null, [], {}, [[]], { jsonrpc: "1.0", id: 1, method: "ping" }],
      ...[{}, [], 1.5, null, true].map((id) => ({ id, method: "tools/list" })),
      { id: 7, method: 5 },
      { id: 8, method: "tools/call", params: "x" },
      { id: 9, method: "tools/call", params },
      { id: 10, method: "__proto__", params: { _meta } },
      { method: "notifications/cancelled", params: { requestId: {} } },
      { method: "notifications/progress", params: { progressToken: [] } },
    ];
    for (const message of wrong) {
      const isObject = typeof message === "object" && message !== null;
      wire.write(
        JSON.stringify(
          isObject && !Array.isArray(message)
            ? { jsonrpc: "2.0", ...message }
            : message,
        ),
      );
    }
    const depth = 20_000;
    wire.write(
      `{"jsonrpc":"2.0","id":11,"method":"ping","params":${'{"a":'.repeat(depth)}1${"}".repeat(depth)}}`,
    );
  },
  "answers to what nobody asked": (wire) => {
    for (const id of [0, 1, 99, "x", null]) {
      const result = { action: "accept", content: { answer: "proceed_once" } };
      wire.write(JSON.stringify({ jsonrpc: "2.0", id, result }));
      wire.write(JSON.stringify({ jsonrpc: "2.0", id, error: 5 }));
    }
  },
  "a message that is too large": (wire, { _meta }) =>
    wire.write(
      call("agent_devtool", { prompt: "x".repeat(12 * 1024 * 1024) }, _meta),
    ),
  "a flood": (wire, { _meta }) => {
    for (let id = 0; id < 3000; id++) {
      wire.write(request("tools/list", { _meta }, id));
    }
  },
  "requests whose answers it does not read": async (wire, { _meta }) => {
    wire.stopReading();
    for (let round = 0; round < 20; round++) {
      for (let id = 0; id < 200; id++) {
        wire.write(request("tools/list", { _meta }, round * 200 + id));
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
  },
  "a call that it leaves": (wire, { _meta }) =>
    wire.write(call("agent_devtool", { prompt: "text Left." }, _meta)),
};

/** The surfaces, each with other faults first: CI plays every one somewhere. */
const HOSTS = SURFACES.map((surface, index) => {
  const { name } = surface;
  return { name, surface, faults: rotate(Object.keys(FAULTS), index) };
});

describe.each(HOSTS)(
  "a host at $name that does wrong",
  ({ surface, faults }) => {
    let place: Place;
    let calm: Client;
    beforeAll(async () => {
      const data = join(temporaryDirectory(), "data");
      const work = temporaryDirectory();
      const server = await startServing([
        ...["--data", data, "--workspace", work, "--no-console"],
      ]);
      place = { server, data, work };
      calm = await connectHost(server.info, { era: "legacy" });
    });
    afterAll(async () => {
      await calm.close();
      await place.server.kill();
    });

    it.each(variantsOf("faults of MCP hosts", faults, 2, 4))(
      "disturbs no other host, and is gone with its end: %s",
      async (fault) => {
        const before = residentBytes(place.server.info.pid);
        {
          await using wire = await surface.open(place);
          await FAULTS[fault]?.(wire, surface);
          const played = await calm.callTool({
            name: "agent_devtool",
            arguments: { prompt: "text Calm." },
          });
          expect(played.structuredContent).toMatchObject({ text: "Calm." });
        }
        const { tools } = await calm.listTools();
        expect(tools[0]?.name).toBe("agent_devtool");
        expect(residentBytes(place.server.info.pid) - before).toBeLessThan(
          256 * 1024 * 1024,
        );
        expect(place.server.said.stderr).not.toMatch(
          /unhandled|internal error/i,
        );
      },
    );
  },
);

describe("a host that lies about what its user answered", () => {
  const APPROVE = { action: "accept", content: { answer: "proceed_once" } };
  const LIES: readonly unknown[] = [
    null,
    5,
    "accept",
    {},
    { action: "perhaps" },
    { action: ["accept"], content: { answer: "proceed_once" } },
    { action: "accept" },
    { action: "accept", content: "proceed_once" },
    { action: "accept", content: { answer: ["proceed_once"] } },
    { action: "accept", content: { answer: "PROCEED_ONCE" } },
    { action: "decline", content: { answer: "proceed_once" } },
    JSON.parse(
      '{"action":"accept","content":{"__proto__":{"answer":"proceed_once"}}}',
    ),
  ];
  let place: Place;
  beforeAll(async () => {
    const data = join(temporaryDirectory(), "data");
    const work = temporaryDirectory();
    const server = await startServing([
      ...["--data", data, "--workspace", work, "--no-console"],
    ]);
    place = { server, data, work };
  });
  afterAll(() => place.server.kill());

  it("runs nothing, over standard streams", async () => {
    await using raw = new RawHost(["--data", place.data], place.work);
    await raw.request("initialize", INITIALIZE);
    raw.notify("notifications/initialized");
    for (const lie of LIES) {
      const id = raw.send("tools/call", {
        name: "agent_devtool",
        arguments: { prompt: "write lied.txt lied\ntext Ended." },
      });
      const asked = await raw.asked("elicitation/create");
      raw.write({ jsonrpc: "2.0", id: asked.id, result: lie });
      // A second answer counts for nothing. What is no object is no answer.
      const isAnswer = typeof lie === "object" && lie !== null;
      const result = isAnswer ? APPROVE : { action: "decline" };
      raw.write({ jsonrpc: "2.0", id: asked.id, result });
      await raw.response(id);
      expect([lie, existsSync(join(place.work, "lied.txt"))]).toEqual([
        lie,
        false,
      ]);
    }
  });

  it("runs nothing, without sessions", async () => {
    const args = { prompt: "write lied.txt lied\ntext Ended." };
    const params = { name: "agent_devtool", arguments: args };
    const call = async (more: object) => {
      const { answer } = await modernRequest(place.server.info, {
        method: "tools/call",
        params: { ...params, ...more },
        capabilities: { elicitation: { form: {} } },
      });
      return answer;
    };
    for (const lie of LIES) {
      const { requestState, inputRequests } = (await call({})).result;
      const [key = ""] = Object.keys(inputRequests);
      await call({ requestState, inputResponses: { [key]: lie } });
      await call({ requestState, inputResponses: { [`${key}x`]: APPROVE } });
      const elsewhere = { requestState: "nobody's" };
      await call({ ...elsewhere, inputResponses: { [key]: APPROVE } });
      expect([lie, existsSync(join(place.work, "lied.txt"))]).toEqual([
        lie,
        false,
      ]);
    }
  });
});

it("devtool mcp ends with a host that is gone", async () => {
  const data = join(temporaryDirectory(), "data");
  await using raw = new RawHost(["--data", data], temporaryDirectory());
  await raw.request("initialize", INITIALIZE);
  raw.send("tools/call", {
    name: "agent_devtool",
    arguments: { prompt: "write a.txt hello" },
  });
  await raw.asked("elicitation/create");
  const ended = once(raw.process, "exit");
  raw.stdin.destroy();
  raw.stdout.destroy();
  expect(await ended).toEqual([0, null]);
});

function request(method: string, params: object, id = 1): string {
  return JSON.stringify({ jsonrpc: "2.0", id, method, params });
}

function call(name: string, args: object, _meta?: object): string {
  return request("tools/call", { name, arguments: args, _meta });
}

function part(text: string, share: number): string {
  return text.slice(0, Math.floor(text.length * share));
}

function headersOf({ info }: ServerProcess): Record<string, string> {
  return {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    authorization: `Bearer ${info.token}`,
  };
}

/** Opens a socket for requests, one after the other. */
async function openSocket(
  server: ServerProcess,
  more: Record<string, string>,
): Promise<Wire> {
  const { host, port } = new URL(server.info.url);
  const socket: Socket = connect(Number(port), "127.0.0.1");
  // The server may end the connection before it has read what is written.
  socket.on("error", () => undefined).resume();
  await once(socket, "connect");
  return {
    write: (text, share = 1) => {
      const sent = { host, ...headersOf(server), ...more, ...headersFor(text) };
      const lines = Object.entries(sent).map(
        ([name, value]) => `${name}: ${value}\r\n`,
      );
      const whole = `POST /mcp HTTP/1.1\r\n${lines.join("")}content-length: ${Buffer.byteLength(text)}\r\n\r\n`;
      socket.write(whole + part(text, share));
    },
    stopReading: () => void socket.pause(),
    [Symbol.asyncDispose]: async () => {
      if (socket.closed) return;
      const closed = once(socket, "close");
      socket.resetAndDestroy();
      await closed;
    },
  };
}

/** The headers of a request of 2026-07-28 that belong to its body. */
function headersFor(text: string): Record<string, string> {
  const method = /"method":"([\w/]+)"/.exec(text)?.[1];
  const name = /"name":"(\w+)"/.exec(text)?.[1];
  return {
    ...(method !== undefined && { "mcp-method": method }),
    ...(name !== undefined && { "mcp-name": name }),
  };
}

/** The memory of a process, in bytes. */
function residentBytes(pid: number): number {
  const pages = readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1];
  return Number(pages) * 4096;
}
