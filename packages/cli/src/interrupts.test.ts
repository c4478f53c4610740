import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import { createDevtoolClient } from "@devtool/client";
import { emptyTask, TaskService } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { FakeTerminal } from "../test/fake-terminal.ts";
import { Interrupts } from "./interrupts.ts";
import { createPrompter } from "./prompter.ts";

describe("a turn that fails", () => {
  it("leaves the task as it was seen last when the server cannot say how it is, and the chat goes on", async () => {
    const terminal = new FakeTerminal();
    const transport = createRouterTransport(({ service }) =>
      service(TaskService, {
        getTask: () => {
          throw new ConnectError("gone", Code.Unavailable);
        },
      }),
    );
    const running = { ...emptyTask(), id: "t1" };
    using prompter = createPrompter(terminal.io, {
      complete: () => [[], ""],
      onQueued: () => undefined,
      onEscape: () => undefined,
    });
    const interrupts = new Interrupts({
      client: createDevtoolClient(transport),
      io: terminal.io,
      prompter,
      running: () => running,
      isServerGone: () => false,
    });
    const failed = Promise.reject(new Error("no server came back"));
    expect(await interrupts.during(() => failed)).toBe(running);
    expect(terminal.said).toContain("no server came back\n");
  });
});
