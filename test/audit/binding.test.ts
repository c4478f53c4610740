import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { observeTask } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  AuditAction,
  structFromJson,
  type Task,
  type TaskEvent,
  type ToolCall,
  toolCallsOf,
} from "@devtool/schema";
import { beforeEach, describe, expect, it } from "vitest";
import { Conversation } from "./conversation.ts";
import { readStore } from "./kills.ts";
import { approveInFile, rewriteEvents } from "./tamper.ts";
import { unexplained } from "./why.ts";

const signal = AbortSignal.timeout(300_000);

/**
 * A call that was approved, and how it was changed while the server was down.
 */
interface Change {
  readonly name: string;
  readonly script: string;
  readonly change: (call: ToolCall) => ToolCall;
}

const WRITE = "write approved.txt good";
const COMMAND = "run eval touch approved.txt";

const CHANGES: readonly Change[] = [
  {
    name: "another content",
    script: WRITE,
    change: withArguments({ file_path: "approved.txt", content: "evil" }),
  },
  {
    name: "more content",
    script: WRITE,
    change: withArguments({ file_path: "approved.txt", content: "good\n" }),
  },
  {
    name: "another file",
    script: WRITE,
    change: withArguments({ file_path: "evil.txt", content: "good" }),
  },
  { name: "no arguments", script: WRITE, change: withArguments({}) },
  {
    name: "another command",
    script: COMMAND,
    change: withArguments({ command: "eval touch evil.txt" }),
  },
  {
    name: "a longer command",
    script: COMMAND,
    change: withArguments({ command: "eval touch approved.txt evil.txt" }),
  },
  {
    name: "another directory",
    script: COMMAND,
    change: withArguments({
      command: "eval touch approved.txt",
      directory: "sub",
    }),
  },
  {
    name: "another tool",
    script: WRITE,
    change: (call) => ({
      ...withArguments({ command: "touch evil.txt" })(call),
      toolName: "run_shell_command",
    }),
  },
];

describe("an approval over the wire (S13)", () => {
  let root: string;
  let data: string;
  let workspace: string;
  beforeEach(async () => {
    root = temporaryDirectory();
    data = join(root, "data/tasks.db");
    workspace = join(root, "workspace");
    await mkdir(join(workspace, "sub"), { recursive: true });
  });

  it("runs after a restart when nothing was changed (the control of these)", async () => {
    expect(await afterChange(WRITE, (event) => event)).toMatchObject({
      status: "output",
      error: "",
    });
    expect(await readdir(workspace)).toEqual(["approved.txt", "sub"]);
  });

  for (const { name, script, change } of CHANGES) {
    it(`does not let ${name} run, which the stored call became before the start`, async () => {
      const { status, error } = await afterChange(script, (event) =>
        changed(event, change),
      );
      expect({ status, error }).toEqual({
        status: "error",
        error: expect.stringMatching(
          /^(approval_outdated|invalid_tool_params)$/,
        ),
      });
      expect(await readdir(workspace)).toEqual(["sub"]);
      const { events, records } = await readStore(data);
      expect(records.map(({ action }) => action)).not.toContain(
        AuditAction.STARTED,
      );
      expect(unexplained(events, records)).toEqual([]);
    });
  }

  it("does not overwrite what was written while the server was down", async () => {
    putFile(workspace, "approved.txt", "old");
    const approved = await afterChange(
      WRITE,
      (event) => event,
      () => writeFile(join(workspace, "approved.txt"), "new"),
    );
    expect(approved).toMatchObject({
      status: "error",
      error: "approval_outdated",
    });
    expect(fileText(workspace, "approved.txt")).toBe("new");
  });

  it("does not overwrite what was written between the question and the answer", async () => {
    putFile(workspace, "approved.txt", "old");
    await using server = await serve();
    const user = new Conversation(server, signal);
    const asked = await user.start(WRITE);
    putFile(workspace, "approved.txt", "new");
    const task = await user.answer(asked, "proceed_once");
    expect(outcome(task).status).toBe("error");
    expect(fileText(workspace, "approved.txt")).toBe("new");
  });

  it("is not forged by rewriting the digest too: the audit log shows it (sabotage of the digest)", async () => {
    const other = await digestOf("write approved.txt evil");
    const change = withArguments({
      file_path: "approved.txt",
      content: "evil",
    });
    const { status } = await afterChange(WRITE, (event) => {
      const { toolCallDetail: detail } = event;
      return changed(
        {
          ...event,
          ...(detail && { toolCallDetail: { ...detail, digest: other } }),
        },
        change,
      );
    });
    // Whoever can write the database can have the call run, but cannot make the
    // log say that somebody approved it.
    expect(status).toBe("output");
    const { events, records } = await readStore(data);
    expect(
      unexplained(events, records).map((problem) => problem.split(":")[0]),
    ).toEqual(["nobody decided", "not shown"]);
  });

  /** The digest that a script's call gets in this workspace. */
  async function digestOf(script: string): Promise<Uint8Array> {
    await using server = await serve(join(root, "other"));
    const { id } = await new Conversation(server, signal).start(script);
    await server.close();
    const { events } = await readStore(join(root, "other/tasks.db"));
    const digest = events.findLast(
      ({ taskId, toolCallDetail }) => taskId === id && toolCallDetail,
    )?.toolCallDetail;
    return digest?.digest ?? expect.unreachable();
  }

  /**
   * Has a script's call asked and approved, changes its events before anything
   * starts, and gives its outcome after a restart.
   */
  async function afterChange(
    script: string,
    change: (event: TaskEvent) => TaskEvent,
    meanwhile: () => Promise<void> = () => Promise.resolve(),
  ) {
    const taskId = await ask(script);
    await approveInFile(data, taskId);
    rewriteEvents(data, taskId, change);
    await meanwhile();
    await using server = await serve();
    let last: Task | undefined;
    for await (const task of observeTask(
      new Conversation(server, signal).client,
      taskId,
      signal,
    )) {
      last = task;
    }
    await server.close();
    return outcome(last ?? expect.unreachable());
  }

  async function ask(script: string): Promise<string> {
    await using server = await serve();
    return (await new Conversation(server, signal).start(script)).id;
  }

  function serve(dataDirectory = join(root, "data")) {
    return serveCodingAgent({ workspace, dataDirectory });
  }
});

function withArguments(args: JsonObject): (call: ToolCall) => ToolCall {
  return (call) => ({ ...call, inputParameters: structFromJson(args) });
}

function changed(
  event: TaskEvent,
  change: (call: ToolCall) => ToolCall,
): TaskEvent {
  if (event.payload.case !== "toolCall") return event;
  return {
    ...event,
    payload: { case: "toolCall", value: change(event.payload.value) },
  };
}

/** How the one call of a task ended. */
function outcome(task: Task): {
  readonly status: string;
  readonly error: string;
} {
  const { result } =
    task.history.flatMap(toolCallsOf).at(-1) ?? expect.unreachable();
  return {
    status: result.case ?? "",
    error: result.case === "error" ? (result.value.type ?? "") : "",
  };
}
