import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import {
  createServer as createNetServer,
  type Server,
  type Socket,
} from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { EXTENSION_URI } from "@devtool/schema";
import { beforeAll, describe, expect, it } from "vitest";
import { pipedIo } from "../testing/run-command.ts";
import { run } from "./run.ts";
import { cancel, tasks } from "./tasks.ts";
import { watch } from "./watch.ts";

const ID = "0afe1130-0000-4000-8000-000000000001";
const PLACE = { taskId: ID, contextId: "c1" };
const PNG = Buffer.from("picture").toString("base64");

describe("the command with an A2A agent of others at --url", () => {
  let directory: string;
  beforeAll(() => {
    directory = temporaryDirectory();
  });

  it("I8, I4, B11: speaks A2A by the card, and shows and keeps messages and artifacts apart", async () => {
    await using agent = await serveAgent([
      opened,
      says("working", "a1", "working on it"),
      makes("x", false, [{ kind: "text", text: "one" }]),
      makes("y", false, [{ kind: "text", text: "dra" }]),
      makes("y", true, [{ kind: "text", text: "ft" }]),
      makes("y", false, [{ kind: "text", text: "FINAL" }]),
      says("completed", "a2", "both done"),
    ]);
    const { code, out, last } = await runs(agent.url);
    expect(out).toBe(
      "working on it\none\ndraft\n· artifact y replaced, it is now:\nFINAL\nboth done\n",
    );
    expect([code, last]).toEqual([
      0,
      "working on it\n\none\n\nFINAL\n\nboth done",
    ]);
  });

  it("I3: shows a line for each file, and has them with --json", async () => {
    const file = { name: "a.png", mimeType: "image/png", bytes: PNG };
    const link = { name: "b.pdf", uri: "https://agent.test/b.pdf" };
    await using agent = await serveAgent([
      opened,
      makes("x", false, [
        { kind: "file", file },
        { kind: "file", file: link },
      ]),
      ends("completed"),
    ]);
    expect((await runs(agent.url)).out).toBe(
      "a.png (image/png) 7 bytes\nb.pdf https://agent.test/b.pdf\n",
    );
    expect((await runs(agent.url, { json: true })).out).toContain(link.uri);
  });

  it("I9: says that a message alone has no task", async () => {
    const message = {
      kind: "message",
      messageId: "a1",
      role: "agent",
      parts: [{ kind: "text", text: "Hi." }],
    };
    await using agent = await serveAgent([message]);
    const { out, err, code } = await runs(agent.url);
    expect([code, out, err]).toEqual([
      0,
      "Hi.\n",
      "the agent answered with a message, without a task\n",
    ]);
  });

  it("I7: names the whole id and the server where a task waits", async () => {
    await using agent = await serveAgent([
      opened,
      says("input-required", "a1", "Which?"),
    ]);
    expect((await runs(agent.url)).err).toContain(
      `answer with devtool chat --task ${ID} --url ${agent.url}`,
    );
  });

  it("I7: finds a task by the beginning of its id, as a list shows it", async () => {
    await using agent = await serveAgent([opened]);
    const list = pipedIo();
    expect(await tasks({ url: agent.v1 }, list.io)).toBe(0);
    expect(list.out()).toMatch(/^0afe1130 {2}working/);
    const canceled = pipedIo();
    expect(await cancel("0afe1130", { url: agent.v1 }, canceled.io)).toBe(0);
    expect(canceled.out()).toBe(`canceled ${ID}\n`);
  });

  it("B10, I5: shows an error at once, and sends the message once", async () => {
    await using agent = await serveAgent({ code: -32603, message: "boom" });
    await expect(runs(agent.url)).rejects.toThrow("boom");
    expect(agent.calls.map(({ method }) => method)).toEqual(["message/stream"]);
  });

  it("N6: sends an agent with the extension the workspace, as the RFC asks", async () => {
    await using agent = await serveAgent(
      [opened, ends("completed")],
      [EXTENSION_URI],
    );
    await runs(agent.url);
    expect(agent.calls[0]?.params?.message?.metadata).toMatchObject({
      [EXTENSION_URI]: { workspace_path: process.cwd() },
    });
    await using plain = await serveAgent([opened, ends("completed")]);
    await runs(plain.url);
    expect(JSON.stringify(plain.calls)).not.toContain(process.cwd());
  });

  it("B12: watches a task whose stream the agent refuses", async () => {
    await using agent = await serveAgent({
      code: -32601,
      message: "no such method",
    });
    const { io, out } = pipedIo();
    expect(await watch(ID, { url: agent.url }, io)).toBe(0);
    expect(out()).toBe("made\n");
  });

  it("I8: speaks to devtool's server as before, though it has a card", async () => {
    await using server = await serveCodingAgent({
      workspace: directory,
      sandbox: "none",
    });
    const { io, out } = pipedIo();
    const options = { url: server.url, token: server.token, approve: "never" };
    expect(await run("think\ntext Hello.", options, io)).toBe(0);
    expect(out()).toContain("…");
  });

  it.each([
    [404, "there is no card (HTTP 404): check the path"],
    [401, "its card is refused without credentials"],
  ])("N7: says what to do about HTTP %i", async (status, says) => {
    await using web = await serve((_request, response) => {
      response.writeHead(status).end();
    });
    await expect(runs(web.url)).rejects.toThrow(says);
  });

  it.each(["connect", "grpc", "a2a", undefined])(
    "U8: says at once that nothing listens, over %s",
    async (protocol) => {
      const web = await serve(() => undefined);
      await web[Symbol.asyncDispose]();
      const given = protocol === undefined ? {} : { protocol };
      await expect(runs(web.url, given)).rejects.toThrow(
        `nothing listens at ${new URL(web.url).host}`,
      );
      await expect(
        tasks({ url: web.url, ...given }, pipedIo().io),
      ).rejects.toThrow("start the agent, or check host and port");
    },
  );

  it.each(["connect", "grpc", "a2a", undefined])(
    "V10: says at once that the server does not speak TLS, over %s",
    async (protocol) => {
      await using web = await serve((_request, response) => {
        response.writeHead(404).end();
      });
      const given = protocol === undefined ? {} : { protocol };
      await expect(
        runs(web.url.replace("http:", "https:"), given),
      ).rejects.toThrow("does not speak TLS");
    },
  );

  it.each([
    ["a web server", () => serve((_request, response) => response.end("hi"))],
    ["a server that never answers", () => serveMute()],
  ])(
    "V24: says, after 4 seconds at most, that %s does not speak gRPC",
    async (_what, start) => {
      await using web = await start();
      const begin = performance.now();
      await expect(runs(web.url, { protocol: "grpc" })).rejects.toThrow(
        /nothing answers as gRPC there \(.+\): check the port, or leave --protocol out/,
      );
      // Without that limit it would wait for ever. A busy machine is slow.
      expect(performance.now() - begin).toBeLessThan(30_000);
    },
  );

  async function runs(url: string, more: object = {}) {
    const { io, out, err } = pipedIo();
    const outputLastMessage = join(directory, "last");
    const options = { url, approve: "never", outputLastMessage, ...more };
    const code = await run("go", options, io);
    return {
      code,
      out: out(),
      err: err(),
      last: await readFile(outputLastMessage, "utf8"),
    };
  }
});

const opened = {
  kind: "task",
  id: ID,
  contextId: "c1",
  status: { state: "submitted" },
};

function says(state: string, messageId: string, said: string) {
  const message = {
    kind: "message",
    messageId,
    role: "agent",
    parts: [{ kind: "text", text: said }],
  };
  return { kind: "status-update", ...PLACE, status: { state, message } };
}

function ends(state: string) {
  return { kind: "status-update", ...PLACE, status: { state }, final: true };
}

function makes(artifactId: string, append: boolean, parts: readonly object[]) {
  return {
    kind: "artifact-update",
    ...PLACE,
    append,
    artifact: { artifactId, parts },
  };
}

interface Call {
  readonly method?: string;
  readonly params?: { readonly message?: { readonly metadata?: object } };
}

/**
 * An agent of A2A 0.3, and of 1.0 below `/v1`, that answers each stream with
 * the frames or the error, and has one task.
 */
async function serveAgent(
  answer:
    | readonly object[]
    | { readonly code: number; readonly message: string },
  uris: readonly string[] = [],
) {
  const calls: Call[] = [];
  const server = await serve(async (request, response) => {
    const isV1 = request.url?.startsWith("/v1") ?? false;
    if (request.method === "GET") {
      const capabilities = { extensions: uris.map((uri) => ({ uri })) };
      const old = {
        name: "other",
        url: "/",
        preferredTransport: "jsonrpc",
        capabilities,
      };
      const offer = {
        url: "/v1/rpc",
        protocolBinding: "JSONRPC",
        protocolVersion: "1.0",
      };
      response.end(
        JSON.stringify(
          isV1 ? { name: "other", supportedInterfaces: [offer] } : old,
        ),
      );
      return;
    }
    const { id, ...call } = JSON.parse(await text(request));
    const whole = {
      ...opened,
      status: { state: "completed" },
      artifacts: [{ artifactId: "x", parts: [{ kind: "text", text: "made" }] }],
    };
    const task = {
      id: ID,
      contextId: "c1",
      status: { state: "TASK_STATE_WORKING" },
    };
    const results = new Map<string, object>([
      ["tasks/get", whole],
      ["ListTasks", { tasks: [task] }],
      ["CancelTask", task],
    ]);
    if (call.method === undefined) return void response.writeHead(404).end();
    calls.push(call);
    const result = results.get(call.method);
    if (result || !Array.isArray(answer)) {
      const outcome = result ? { result } : { error: answer };
      response.end(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }));
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const frame of answer) {
      response.write(
        `data: ${JSON.stringify({ jsonrpc: "2.0", id, result: frame })}\n\n`,
      );
    }
    response.end();
  });
  return { ...server, v1: `${server.url}/v1`, calls };
}

function serve(listener: RequestListener): Promise<Listening> {
  const server = createServer(listener);
  return listening(server, () => server.closeAllConnections());
}

/** Starts a server that takes connections and says nothing. */
function serveMute(): Promise<Listening> {
  const sockets: Socket[] = [];
  const server = createNetServer((socket) => void sockets.push(socket));
  return listening(server, () => {
    for (const socket of sockets) socket.destroy();
  });
}

type Listening = AsyncDisposable & { readonly url: string };

async function listening(
  server: Server,
  closeConnections: () => void,
): Promise<Listening> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      closeConnections();
      if (server.listening) await once(server.close(), "close");
    },
  };
}
