import { create } from "@bufbuild/protobuf";
import { InboxRequestSchema, TaskCreatedSchema } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { MemoryTaskStore } from "../store/memory-task-store.ts";
import type { InboxReply, TaskInbox } from "../store/task-inbox.ts";
import { InboxWorker } from "./inbox-worker.ts";
import { OpenTasks } from "./open-tasks.ts";

describe("a request of another server for a task of this one", () => {
  it("is replied to again when the reply could not be stored, and not refused", async () => {
    await using registry = new OpenTasks({
      store: new MemoryTaskStore(),
      createExecutor: () => ({ async *execute() {} }),
      now: () => new Date(0),
    });
    const created = create(TaskCreatedSchema, { message: { messageId: "m" } });
    const place = {
      contextId: "c",
      extensionActive: false,
      agentSessionId: "",
    };
    using held = await registry.create("t", place, created);
    const inbox = new BrokenInbox();
    const failed = Promise.withResolvers<unknown>();
    await using _worker = new InboxWorker({
      inbox,
      registry,
      onPushConfig: () => Promise.resolve(),
      onError: failed.resolve,
    });
    expect(await Promise.race([failed.promise, inbox.stored])).toMatchObject({
      message: "no connection",
    });
    expect(held.handle.extensionActive).toBe(true);
    inbox.isBroken = false;
    inbox.wake();
    expect(await inbox.stored).toMatchObject({ case: "taken" });
  });
});

/** An inbox with one request, whose replies cannot be stored at first. */
class BrokenInbox implements TaskInbox {
  isBroken = true;
  wake: () => void = () => undefined;
  readonly #stored = Promise.withResolvers<InboxReply>();
  readonly stored: Promise<InboxReply> = this.#stored.promise;
  #replies = 0;

  async waiting(): Promise<readonly string[]> {
    return this.#replies === 0 ? ["t"] : [];
  }

  async backlog() {
    return { count: 1 - this.#replies, oldestMs: 0 };
  }

  async next() {
    if (this.#replies > 0) return undefined;
    const request = create(InboxRequestSchema, {
      request: { case: "activateExtension", value: true },
    });
    return { id: 1n, request };
  }

  async reply(
    _taskId: string,
    _entry: bigint,
    _fence: bigint,
    reply: InboxReply,
  ): Promise<boolean> {
    // Only the reply that a request was taken meets the broken connection.
    if (this.isBroken && reply.case === "taken") {
      throw new Error("no connection");
    }
    this.#replies++;
    this.#stored.resolve(reply);
    return true;
  }

  watch(wake: () => void): Disposable {
    this.wake = wake;
    return { [Symbol.dispose]: () => undefined };
  }

  put = () => Promise.resolve(1n);
  takeReply = () => Promise.resolve(undefined);
}
