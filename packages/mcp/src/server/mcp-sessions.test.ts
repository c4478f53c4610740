import { Server } from "@modelcontextprotocol/server";
import { beforeEach, describe, expect, it } from "vitest";
import { McpSessions } from "./mcp-sessions.ts";
import type { PortTasks } from "./port.ts";

describe("sessions of hosts", () => {
  let nowMs: number;
  let sessions: McpSessions;
  let count: number;
  beforeEach(() => {
    nowMs = 0;
    count = 0;
    sessions = new McpSessions(
      () =>
        new Server(
          { name: "s", version: "1" },
          { capabilities: { tools: {} } },
        ),
      { nextId: () => `s${count++}`, now: () => nowMs },
      new AbortController().signal,
    );
  });

  /** Sends a request, and returns the status and the session of its answer. */
  const ask = async (
    principal: string,
    id: string | undefined,
    hold: () => Promise<void> = () => Promise.resolve(),
  ): Promise<{ readonly status: number; readonly session: string | null }> => {
    const body = {
      jsonrpc: "2.0",
      id: 1,
      ...(id === undefined
        ? {
            method: "initialize",
            params: {
              protocolVersion: "2025-06-18",
              capabilities: {},
              clientInfo: { name: "h", version: "1" },
            },
          }
        : { method: "ping" }),
    };
    const request = new Request("http://x.invalid/mcp", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...(id !== undefined && { "mcp-session-id": id }),
      },
      body: JSON.stringify(body),
    });
    let answer = { status: 0, session: null as string | null };
    await sessions.answer(
      { request, body, principal, tasks: NO_TASKS },
      async (response) => {
        await hold();
        await response.text();
        answer = {
          status: response.status,
          session: response.headers.get("mcp-session-id"),
        };
      },
    );
    return answer;
  };
  const begin = async (principal: string): Promise<string> =>
    (await ask(principal, undefined)).session ?? "";
  const statusOf = async (principal: string, id: string): Promise<number> =>
    (await ask(principal, id)).status;

  it("end after an hour in which their host asks nothing", async () => {
    const id = await begin("ada");
    nowMs = 3_600_000;
    expect(await statusOf("ada", id)).toBe(200);
    nowMs = 7_200_001;
    expect(await statusOf("ada", id)).toBe(404);
  });

  it("last while a response is being sent", async () => {
    const id = await begin("ada");
    const sent = Promise.withResolvers<void>();
    const streaming = ask("ada", id, () => sent.promise);
    nowMs = 4_000_000;
    const other = await begin("bob");
    sent.resolve();
    await streaming;
    expect(await statusOf("ada", id)).toBe(200);
    expect(await statusOf("bob", other)).toBe(200);
  });

  it("end after those without a response that is being sent", async () => {
    const first = await begin("ada");
    const sent = Promise.withResolvers<void>();
    const streaming = ask("ada", first, () => sent.promise);
    const second = await begin("ada");
    for (let at = 2; at < 65; at++) await begin("ada");
    expect(await statusOf("ada", second)).toBe(404);
    sent.resolve();
    await streaming;
    expect(await statusOf("ada", first)).toBe(200);
  });

  it("are 64 of a caller, and 1024 in all: the least recently used one ends", async () => {
    const first = await begin("ada");
    const second = await begin("ada");
    expect(await statusOf("ada", first)).toBe(200);
    for (let at = 2; at < 65; at++) await begin("ada");
    expect(await statusOf("ada", second)).toBe(404);
    expect(await statusOf("ada", first)).toBe(200);
    for (let at = 0; at < 1023; at++) await begin(`caller-${at}`);
    expect(await statusOf("ada", first)).toBe(200);
    await begin("last");
    await begin("last");
    expect(await statusOf("caller-0", "s65")).toBe(404);
    expect(await statusOf("ada", first)).toBe(200);
  });
});

const NO_TASKS: PortTasks = {
  send: () => Promise.reject(new Error("not here")),
  get: () => Promise.reject(new Error("not here")),
  follow: async function* () {},
  cancel: () => Promise.reject(new Error("not here")),
  list: () => Promise.reject(new Error("not here")),
};
