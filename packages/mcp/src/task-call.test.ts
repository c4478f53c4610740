import { Code, DevtoolError } from "@devtool/server/agent";
import type { CallToolResult } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import type { CallHooks } from "./call-events.ts";
import {
  followTask,
  TASKS_EXTENSION,
  type TaskRequests,
  taskOfResult,
  taskWithId,
} from "./task-call.ts";

const HOOKS: CallHooks = {
  progress: () => undefined,
  keepAlive: () => undefined,
  recordTask: () => Promise.resolve(),
  ask: () => Promise.reject(new Error("asked")),
  sample: () => Promise.reject(new Error("asked")),
};

/** Follows a task whose requests are `requests`, and notes what is cancelled. */
function follow(
  requests: Partial<TaskRequests>,
  signal: AbortSignal,
): { readonly result: Promise<CallToolResult>; readonly cancelled: string[] } {
  const cancelled: string[] = [];
  const result = followTask(
    taskWithId("t1"),
    {
      record: () => Promise.resolve(),
      get: () => Promise.resolve({ taskId: "t1", status: "working" }),
      update: () => Promise.resolve(),
      cancel: async (taskId) => void cancelled.push(taskId),
      answer: () => Promise.reject(new Error("asked")),
      readResult: () => undefined,
      ...requests,
    },
    HOOKS,
    signal,
  );
  return { result, cancelled };
}

describe("the task of a call", () => {
  it.each([
    [1, "a cancellation", new DevtoolError("canceled", Code.Canceled)],
    [0, "a stop", new DevtoolError("stops", Code.Unavailable)],
    [0, "a full disk", new DevtoolError("full", Code.ResourceExhausted)],
  ])("is cancelled %i times after %s", async (times, _what, reason) => {
    const over = new AbortController();
    const { result, cancelled } = follow({}, over.signal);
    over.abort(reason);
    await expect(result).rejects.toThrow();
    expect(cancelled).toHaveLength(times);
  });

  it("is cancelled when the call ends before it is recorded", async () => {
    const over = new AbortController();
    const { result, cancelled } = follow(
      {
        record: async () => {
          over.abort();
          over.signal.throwIfAborted();
        },
      },
      over.signal,
    );
    await expect(result).rejects.toThrow();
    expect(cancelled).toEqual(["t1"]);
  });

  it.each<[object, string]>([
    [{ code: -32_603 }, "an error of JSON-RPC"],
    [{ status: 404 }, "HTTP 404"],
  ])("fails with %j: %s stays", async (fields) => {
    const get = () => Promise.reject(Object.assign(new Error("no"), fields));
    const { result } = follow({ get }, AbortSignal.timeout(30_000));
    await expect(result).rejects.toThrow("no");
  });

  it("says how a request failed that had no answer in time", async () => {
    const busy = Object.assign(new Error("slow"), { status: 429 });
    const get = () => Promise.reject(busy);
    const { result } = follow({ get }, AbortSignal.timeout(200));
    await expect(result).rejects.toThrow(
      "the last request about its task failed: the server answered with HTTP 429",
    );
  });

  it("has an id of 1 KiB at most, and a short message", () => {
    const read = (taskId: string) =>
      taskOfResult({
        content: [],
        _meta: {
          [TASKS_EXTENSION]: {
            taskId,
            status: "working",
            statusMessage: "x".repeat(5000),
          },
        },
      });
    expect(read("a".repeat(1024))?.statusMessage).toHaveLength(1000);
    expect(() => read("ä".repeat(513))).toThrow(
      "its taskId is 1026 bytes: limit is 1024",
    );
  });
});
