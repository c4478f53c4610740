import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { type DevtoolClient, textMessage } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { PushFormat, TaskState } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";

const SECRETS = ["s3cret-in-the-url", "s3cret-token", "s3cret-credentials"];

/**
 * What a hostile receiver writes in answer to a post. `TRAP` stands for the
 * address of a program that nobody may be led to.
 */
const ANSWERS: Readonly<
  Record<string, (socket: Socket, trap: string) => void>
> = {
  "a permanent redirect that keeps the method": (socket, trap) =>
    redirect(socket, 308, trap),
  "a temporary redirect that keeps the method": (socket, trap) =>
    redirect(socket, 307, trap),
  "a redirect to a GET": (socket, trap) => redirect(socket, 303, trap),
  "a redirect within the host, to the server's own path": (socket) =>
    redirect(socket, 301, "//127.0.0.1:1/"),
  "a switch of protocols": (socket) =>
    socket.write(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
    ),
  "early hints without end": (socket) =>
    flood(
      socket,
      "HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n",
    ),
  "a body without end": (socket) => {
    socket.write("HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n");
    flood(socket, `10000\r\n${"x".repeat(0x1_00_00)}\r\n`);
  },
  "headers without end": (socket) => {
    socket.write("HTTP/1.1 500 No\r\n");
    flood(socket, `x-${"a".repeat(1000)}: ${"b".repeat(1000)}\r\n`);
  },
  "a compressed body": (socket) =>
    socket.write(
      "HTTP/1.1 500 No\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
    ),
  "two answers at once": (socket) =>
    socket.write("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n".repeat(1000)),
  "no HTTP": (socket) => socket.write(Buffer.from("\u0000\u001b[2J\r\n\r\n")),
  "nothing, and closes": (socket) => socket.destroy(),
};

describe("a receiver of notifications that is hostile", () => {
  let base: string;
  let server: DevtoolServer;
  let client: DevtoolClient;
  const notices: string[] = [];
  let trap: Server;
  let trapped = 0;
  const receivers: Server[] = [];
  const posts = new Map<string, string>();

  beforeAll(async () => {
    base = temporaryDirectory();
    trap = await listening((socket) => {
      trapped++;
      socket.destroy();
    });
    for (const [name, answer] of Object.entries(ANSWERS)) {
      const receiver = await listening((socket) =>
        socket.once("data", (data) => {
          posts.set(name, `${posts.get(name) ?? ""}${data}`);
          answer(socket, `http://127.0.0.1:${portOf(trap)}/`);
        }),
      );
      receivers.push(receiver);
    }
    server = await serveCodingAgent({
      workspace: base,
      sandbox: "none",
      pushTargets: receivers.map((each) => `127.0.0.1:${portOf(each)}`),
      onNotice: (text) => notices.push(text),
      onError: (reason) => notices.push(String(reason)),
    });
    client = clientOf(server);
  });
  afterAll(async () => {
    await server.close();
    for (const each of [trap, ...receivers]) each.close();
    for (const socket of SOCKETS) socket.destroy();
  });

  it("is posted to, leads to no other address, and keeps no task and no other caller waiting", {
    timeout: 180_000,
  }, async () => {
    const sent = receivers.map((receiver, index) => {
      const url = `http://127.0.0.1:${portOf(receiver)}/hook?token=${SECRETS[0]}`;
      const authentication = {
        scheme: "Bearer",
        credentials: SECRETS[2] ?? "",
      };
      const pushConfig = {
        id: `hook ${index}\u001b[2J`,
        url,
        token: SECRETS[1] ?? "",
        authentication,
        format: PushFormat.TASK_EVENT,
      };
      return client.tasks.sendMessage({
        message: textMessage(`m${index}`, "say 3\ntext Done."),
        pushConfig,
      });
    });
    for (const { task } of await Promise.all(sent)) {
      expect(task?.state).toBe(TaskState.COMPLETED);
    }
    await expect
      .poll(() => posts.size, { timeout: 120_000 })
      .toBe(receivers.length);
    // The posts in progress do not keep others waiting.
    for (let index = 0; index < 20; index++) {
      expect((await client.tasks.listTasks({})).tasks).toHaveLength(
        receivers.length,
      );
    }
    expect([
      trapped,
      notices.filter((text) => SECRETS.some((secret) => text.includes(secret))),
    ]).toEqual([0, []]);
    for (const post of posts.values()) {
      expect(post).toMatch(
        /^POST \/hook\?token=s3cret-in-the-url HTTP\/1\.1\r\n/,
      );
    }
  });

  it.each([
    ["a line break in the token", { token: "a\r\nx-evil: 1" }],
    [
      "a line break in the scheme",
      { authentication: { scheme: "Bearer\r\nx-evil: 1", credentials: "c" } },
    ],
    [
      "a line break in the credentials",
      { authentication: { scheme: "Bearer", credentials: "c\nx-evil: 1" } },
    ],
    ["a NUL", { token: "a\u0000b" }],
    [
      "letters that an encoding of one byte would cut to line breaks",
      { token: "a\u010d\u010ax-evil: 1" },
    ],
  ])("gets no header by %s", async (_, wrong) => {
    const [receiver = expect.unreachable()] = receivers;
    const pushConfig = {
      url: `http://127.0.0.1:${portOf(receiver)}/`,
      ...wrong,
    };
    const sent = client.tasks.sendMessage({
      message: textMessage(crypto.randomUUID(), "text x"),
      pushConfig,
    });
    await expect(sent).rejects.toThrow("push_config.");
    expect([...posts.values()].join("")).not.toContain("x-evil");
  });
});

const SOCKETS = new Set<Socket>();

async function listening(onSocket: (socket: Socket) => void): Promise<Server> {
  const server = createServer((socket) => {
    SOCKETS.add(socket);
    socket
      .on("error", () => undefined)
      .on("close", () => SOCKETS.delete(socket));
    onSocket(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

function redirect(socket: Socket, status: number, location: string): void {
  socket.end(
    `HTTP/1.1 ${status} Moved\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`,
  );
}

/**
 * Writes a text again and again until the connection is closed. The server
 * under test has turns of the same event loop.
 */
function flood(socket: Socket, text: string): void {
  if (socket.destroyed) return;
  const more = (): void => void setImmediate(() => flood(socket, text));
  if (socket.write(text)) {
    more();
  } else {
    socket.once("drain", more);
  }
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address
    ? address.port
    : expect.unreachable();
}
