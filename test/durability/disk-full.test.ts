import { Code } from "@devtool/server";
import { describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import {
  type SmallDiskServer,
  smallDiskProblem,
  startOnSmallDisk,
} from "./disk-full/small-disk.ts";

const problem = smallDiskProblem();

/** A message that no page of the log that is free by chance has room for. */
const LARGE = `text ${"x".repeat(600_000)}`;

/** Readiness may be half a second old, and a machine slow. */
const READINESS_MS = 30_000;

describe("a server whose disk is full (R12)", () => {
  const title =
    "says so in words of each protocol and in /readyz, serves reads, and goes on by itself when there is room";
  it.skipIf(problem !== undefined)(
    problem === undefined ? title : `${title} (${problem})`,
    async () => {
      await using server = await startOnSmallDisk("24m");
      const task = (
        await rpc(server, "message/send", { message: v03("text hello") })
      ).result;
      for (let round = 0; round < 3; round++) {
        server.fill();
        expect(await readiness(server, 503)).toEqual({
          status: "unavailable",
          problem: "the disk is full: free some space and try again",
        });
        expect(await failuresOf(server, task.id)).toEqual({
          "0.3, new task": -32050,
          "0.3, same task": -32050,
          "0.3, stream": -32050,
          "0.3, HTTP+JSON": { status: 507, code: -32050 },
          "1.0": { code: -32050, reason: "RESOURCE_EXHAUSTED" },
          "1.0, HTTP+JSON": { status: 507, name: "RESOURCE_EXHAUSTED" },
          Connect: Code.ResourceExhausted,
        });
        const read = await rpc(server, "tasks/get", { id: task.id });
        expect(read.result.id).toBe(task.id);
        server.free();
        expect(await readiness(server, 200)).toEqual({
          status: "ok",
        });
        const again = await rpc(server, "message/send", {
          message: { ...v03("text again"), taskId: task.id },
        });
        expect(again.result.status.state).toBe("completed");
      }
    },
  );
});

async function failuresOf(
  server: SmallDiskServer,
  taskId: string,
): Promise<object> {
  const rest = await post(server, "/v1/message:send", {
    message: restMessage(LARGE, "content"),
  });
  const rest1 = await post(
    server,
    "/message:send",
    { message: restMessage(LARGE, "parts") },
    { "a2a-version": "1.0" },
  );
  const send1 = await rpc(server, "SendMessage", {
    message: restMessage(LARGE, "parts"),
  });
  return {
    "0.3, new task": (
      await rpc(server, "message/send", { message: v03(LARGE) })
    ).error?.code,
    "0.3, same task": (
      await rpc(server, "message/send", { message: { ...v03(LARGE), taskId } })
    ).error?.code,
    "0.3, stream": (
      await rpc(server, "message/stream", {
        message: { ...v03(LARGE), taskId },
      })
    ).error?.code,
    "0.3, HTTP+JSON": { status: rest.status, code: rest.body.code },
    "1.0": { code: send1.error?.code, reason: send1.error?.data?.[0]?.reason },
    "1.0, HTTP+JSON": { status: rest1.status, name: rest1.body.error?.status },
    Connect: await connectCode(server),
  };
}

async function connectCode(server: SmallDiskServer): Promise<Code | undefined> {
  const client = clientOf(server).tasks;
  const message = {
    messageId: crypto.randomUUID(),
    parts: [{ content: { case: "text", value: LARGE } as const }],
  };
  return client.sendMessage({ message }).then(
    () => undefined,
    ({ code }) => code,
  );
}

/** Polls readiness until it has a status; fails after a timeout. */
async function readiness(
  { url }: SmallDiskServer,
  status: number,
): Promise<unknown> {
  const end = performance.now() + READINESS_MS;
  for (;;) {
    const response = await fetch(new URL("/readyz", url));
    const body: unknown = await response.json();
    if (response.status === status || performance.now() > end) return body;
  }
}

async function rpc(server: SmallDiskServer, method: string, params: object) {
  return (await post(server, "/", { jsonrpc: "2.0", id: 1, method, params }))
    .body;
}

async function post(
  { url, token }: SmallDiskServer,
  path: string,
  body: object,
  headers: Record<string, string> = {},
) {
  const response = await fetch(new URL(path, url), {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${token}`,
      ...headers,
    },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: JSON.parse(await response.text()) };
}

function v03(text: string): object {
  return {
    kind: "message",
    role: "user",
    messageId: crypto.randomUUID(),
    parts: [{ kind: "text", text }],
  };
}

function restMessage(text: string, parts: "content" | "parts"): object {
  return {
    role: "ROLE_USER",
    messageId: crypto.randomUUID(),
    [parts]: [{ text }],
  };
}
