import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pendingToolCalls } from "@devtool/client";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  findToolCall,
  type Task,
  TaskState,
  ToolCallStatus,
} from "@devtool/schema";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
} from "vitest";
import { COMPILE_CACHE } from "../compile-cache-variable.ts";
import { LEFT_TO_CI } from "../depth.ts";
import {
  type ServerProcess,
  startServing,
} from "../durability/crash/server-process.ts";
import { MAIN } from "../our-command.ts";
import { AcpWorld } from "./agent/world.ts";

/**
 * A server whose agent is `devtool acp`, in front of another server with the
 * scripted agent.
 */
describe("devtool as an ACP agent behind devtool", () => {
  let directory: string;
  let inner: ServerProcess;
  let outer: AcpWorld;

  async function startBoth(): Promise<void> {
    directory = temporaryDirectory();
    const data = join(directory, "data");
    const environment = {
      ...COMPILE_CACHE,
      PATH: process.env.PATH ?? "",
      HOME: directory,
    };
    const command = {
      command: process.execPath,
      args: [MAIN, "acp", "--data", data],
      environment,
    };
    outer = new AcpWorld({ command, name: "inner", isDurable: true });
    await startInner();
    await outer.start();
  }
  async function endBoth(): Promise<void> {
    await outer[Symbol.asyncDispose]();
    await inner.kill();
  }

  describe("while both run", () => {
    beforeAll(startBoth);
    afterAll(endBoth);

    it("says and thinks what the agent says and thinks", async () => {
      const { task, events, text } = await outer.say(
        "think\ntext Hello, world.",
      );
      expect([TaskState[task.state], text]).toEqual([
        "COMPLETED",
        "Hello, world.",
      ]);
      const thoughts = events.flatMap(({ payload }) =>
        payload.case === "thought" ? [payload.value] : [],
      );
      expect(thoughts).toMatchObject([
        { subject: "Subject 1", description: "Description 1." },
      ]);
    });

    it("asks with the change of the file, writes it when it is approved, and shows it", async () => {
      const asking = await outer.say("write made.txt made\ntext Done.");
      expect(TaskState[asking.task.state]).toBe("INPUT_REQUIRED");
      const path = join(outer.workspace, "made.txt");
      expect(questionOf(asking.task)).toMatchObject({
        case: "fileEditDetails",
        value: { fileName: "made.txt", filePath: path, newContent: "made" },
      });
      const { task, text } = await outer.answer(asking.task, "proceed_once");
      expect([
        TaskState[task.state],
        text,
        await readFile(path, "utf8"),
      ]).toEqual(["COMPLETED", "Done.", "made"]);
      const [{ toolCallId = "" } = {}] = pendingToolCalls(asking.task);
      expect(findToolCall(task, toolCallId)).toMatchObject({
        status: ToolCallStatus.SUCCEEDED,
        result: {
          case: "output",
          value: { result: { case: "diff", value: { newContent: "made" } } },
        },
      });
    });

    it.skipIf(LEFT_TO_CI !== "")(
      `does not run what the user declined${LEFT_TO_CI}`,
      async () => {
        const asking = await outer.say("write declined.txt made\ntext Done.");
        const { task } = await outer.answer(asking.task, "cancel");
        const [{ toolCallId = "" } = {}] = pendingToolCalls(asking.task);
        expect(findToolCall(task, toolCallId)?.status).toBe(
          ToolCallStatus.CANCELLED,
        );
        expect(existsSync(join(outer.workspace, "declined.txt"))).toBe(false);
      },
    );

    it("is canceled at both", async () => {
      const { task } = await outer.until(
        "text First.\nwait 600000",
        ({ history }) => history.length > 1,
      );
      expect(TaskState[(await outer.cancel(task)).state]).toBe("CANCELED");
      const again = await outer.say("text Again.", task);
      expect([TaskState[again.task.state], again.text]).toEqual([
        "COMPLETED",
        "Again.",
      ]);
    });
  });

  describe("when one of them ends", () => {
    beforeEach(startBoth);
    afterEach(endBoth);

    it.skipIf(LEFT_TO_CI !== "")(
      `keeps an open question over a kill of the inner server, and runs the call once${LEFT_TO_CI}`,
      async () => {
        const asking = await outer.say("run echo x >> once.txt\ntext Done.");
        await inner.kill();
        await startInner();
        const { task } = await outer.answer(asking.task, "proceed_once");
        expect(TaskState[task.state]).toBe("COMPLETED");
        expect(fileText(outer.workspace, "once.txt")).toBe("x\n");
      },
    );

    it.skipIf(LEFT_TO_CI !== "")(
      `declines over a restart of the outer server what the user declined${LEFT_TO_CI}`,
      async () => {
        const asking = await outer.say("run echo x >> never.txt\ntext Done.");
        await outer.restart();
        const { task } = await outer.answer(asking.task, "cancel");
        expect([
          pendingToolCalls(task),
          existsSync(join(outer.workspace, "never.txt")),
        ]).toEqual([[], false]);
      },
    );

    it("keeps an open question over a restart of the outer server, and runs the call once", async () => {
      const asking = await outer.say("run echo x >> once.txt\ntext Done.");
      await outer.restart();
      const { task } = await outer.answer(asking.task, "proceed_once");
      expect([TaskState[task.state], task.error]).toEqual(["COMPLETED", ""]);
      expect(fileText(outer.workspace, "once.txt")).toBe("x\n");
    });
  });

  async function startInner(): Promise<void> {
    const directories = [
      "--data",
      join(directory, "data"),
      "--workspace",
      outer.workspace,
    ];
    inner = await startServing(directories, {
      ...COMPILE_CACHE,
      PATH: process.env.PATH ?? "",
      HOME: directory,
    });
  }
});

/** Returns what the task asks about. */
function questionOf(task: Task): unknown {
  return pendingToolCalls(task)[0]?.confirmationRequest?.details;
}
