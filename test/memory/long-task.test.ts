import { type IncomingMessage, request } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { EXTENSION_URI } from "@devtool/schema";
import {
  type AgentEvent,
  createServer,
  type DevtoolServer,
  type Turn,
} from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LEFT_TO_CI } from "../depth.ts";

/** What the agent says in all, in pieces of this size, in bytes. */
const SAID = 200_000_000;
const PIECE = 10_000;
/** How much of that it says between two looks at the heap. */
const LOOK = 20_000_000;
/** What the server may hold for the task and its readers over an idle one. */
const MOST = 40_000_000;

describe.skipIf(LEFT_TO_CI !== "")(
  `a task of 200 MB in SQLite (R5)${LEFT_TO_CI}`,
  () => {
    let server: DevtoolServer;
    let idle: number;
    const held: number[] = [];
    const look = (bytes: number): void => void held.push(bytes - idle);
    beforeAll(async () => {
      server = await createServer({
        agents: { long: talker(look) },
        workspace: temporaryDirectory(),
        dataDirectory: temporaryDirectory(),
      });
      idle = await heldBytes();
    });
    afterAll(() => server.close());

    it("holds its head and a page for each reader, however slow, while it grows and after", async () => {
      const { stream: stalled, taskId } = await begin();
      const readers = [stalled, await subscribe(taskId)];
      for (const reader of readers) reader.pause();
      const bytes = await drain(await subscribe(taskId), look);
      expect(bytes).toBeGreaterThan(SAID);
      // What they were not sent yet comes from the store, to the end.
      for (const reader of readers) {
        expect(await drain(reader, look)).toBeGreaterThan(SAID);
      }
      expect(held.length).toBeGreaterThanOrEqual(4 * (SAID / LOOK));
      expect(Math.max(...held)).toBeLessThan(MOST);
      expect((await heldBytes()) - idle).toBeLessThan(MOST);
    });

    /** Begins the task over A2A 1.0. */
    async function begin(): Promise<{
      readonly stream: IncomingMessage;
      readonly taskId: string;
    }> {
      const stream = await call("SendStreamingMessage", {
        message: {
          messageId: "m1",
          role: "ROLE_USER",
          parts: [{ text: "go" }],
        },
      });
      let head = "";
      for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
        head += chunk;
        const [, taskId] = /"id":"([0-9a-f-]{36})"/.exec(head) ?? [];
        if (taskId !== undefined) return { stream, taskId };
      }
      return expect.fail(`no task in ${head}`);
    }

    function subscribe(id: string): Promise<IncomingMessage> {
      return call("SubscribeToTask", { id });
    }

    function call(method: string, params: object): Promise<IncomingMessage> {
      const headers = {
        "a2a-version": "1.0",
        "a2a-extensions": EXTENSION_URI,
        accept: "text/event-stream",
        authorization: `Bearer ${server.token}`,
        "content-type": "application/json",
      };
      const body = { jsonrpc: "2.0", id: 1, method, params };
      return new Promise((resolve, reject) => {
        request(server.url, { method: "POST", headers }, resolve)
          .on("error", reject)
          .end(JSON.stringify(body));
      });
    }
  },
);

/** An agent that talks, and looks at the heap meanwhile. */
function talker(look: (bytes: number) => void) {
  return {
    about: { name: "Talker", description: "Talks for 200 MB." },
    open: () => ({
      createExecutor: () => ({
        keepsSession: true,
        async *execute(_turn: Turn): AsyncIterable<AgentEvent> {
          for (let said = PIECE; said <= SAID; said += PIECE) {
            yield {
              case: "text" as const,
              value: `${said} `.padEnd(PIECE, "x"),
            };
            if (said % 200_000 === 0) await nextTurn();
            if (said % LOOK === 0) look(await heldBytes());
          }
        },
      }),
    }),
  };
}

/** Reads a stream to its end, and looks at the heap meanwhile. */
async function drain(
  stream: IncomingMessage,
  look: (bytes: number) => void,
): Promise<number> {
  let bytes = 0;
  for await (const chunk of stream) {
    const looks = Math.floor(bytes / LOOK);
    bytes += chunk.length;
    if (bytes >= (looks + 1) * LOOK) look(await heldBytes());
  }
  return bytes;
}

/** Returns what lives in the heap and outside of it, in bytes. */
async function heldBytes(): Promise<number> {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  for (let turn = 0; turn < 3; turn++) {
    if (typeof collect === "function") collect();
    await nextTurn();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
