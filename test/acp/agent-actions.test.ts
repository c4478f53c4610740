import {
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { pendingToolCalls } from "@devtool/client";
import { fileText, putFile } from "@devtool/internal/testing/files";
import {
  AuditAction,
  findToolCall,
  type Task,
  TaskState,
  ToolCallStatus,
} from "@devtool/schema";
import type {
  PermissionDecision,
  PermissionRequest,
} from "@devtool/server/agent";
import { describe, expect, it } from "vitest";
import { AcpWorld, type AcpWorldOptions } from "./agent/world.ts";

const world = (options: AcpWorldOptions = {}): Promise<AcpWorld> =>
  new AcpWorld(options).start();
const OPTIONS = [{ optionId: "yes", name: "Yes", kind: "allow_once" }];
const METHODS = {
  clientMethods: { readTextFile: true, writeTextFile: true, terminal: true },
};

/** Decides in the same way about everything, and records what it was asked. */
function policyOf(decision: PermissionDecision) {
  const requests: PermissionRequest[] = [];
  const permission = (request: PermissionRequest): PermissionDecision => {
    requests.push(request);
    return decision;
  };
  return { requests, permission };
}

function stateAndCall(task: Task, toolCallId: string): (string | undefined)[] {
  const call = findToolCall(task, toolCallId);
  return [TaskState[task.state], call && ToolCallStatus[call.status]];
}

describe("a file that an ACP agent has its client write", () => {
  it("is shown to the user as a change, and written once it is allowed", async () => {
    await using acp = await world();
    const path = join(acp.workspace, "a.txt");
    writeFileSync(path, "old");
    const asked = await acp.say("write a.txt new");
    expect(findToolCall(asked.task, "write_text_file")).toMatchObject({
      toolName: "write_text_file",
      status: ToolCallStatus.PENDING,
      confirmationRequest: {
        options: [
          { id: "proceed_once", name: "Allow once" },
          { id: "cancel", name: "Decline" },
        ],
        details: {
          case: "fileEditDetails",
          value: { filePath: path, oldContent: "old", newContent: "new" },
        },
      },
    });
    expect(readFileSync(path, "utf8")).toBe("old");
    const { task, text } = await acp.answer(asked.task, "proceed_once");
    expect(stateAndCall(task, "write_text_file")).toEqual([
      "COMPLETED",
      "SUCCEEDED",
    ]);
    expect([text, readFileSync(path, "utf8")]).toEqual(["{}", "new"]);
  });

  it("is not written when the user declines, and the agent is told", async () => {
    await using acp = await world();
    const path = join(acp.workspace, "a.txt");
    const asked = await acp.say("write a.txt new");
    const { task, text } = await acp.answer(asked.task, "cancel");
    expect(stateAndCall(task, "write_text_file")).toEqual([
      "COMPLETED",
      "CANCELLED",
    ]);
    expect(JSON.parse(text)).toEqual({
      error: `writing ${JSON.stringify(path)} was not allowed`,
    });
    expect(existsSync(path)).toBe(false);
  });

  it("is not written over a change that was made while the user thought", async () => {
    await using acp = await world();
    const path = join(acp.workspace, "a.txt");
    const asked = await acp.say("write a.txt new");
    writeFileSync(path, "mine");
    const { task, text } = await acp.answer(asked.task, "proceed_once");
    expect(stateAndCall(task, "write_text_file")).toEqual([
      "COMPLETED",
      "FAILED",
    ]);
    expect(text).toContain("was changed since it was shown: read it again");
    expect(readFileSync(path, "utf8")).toBe("mine");
  });

  it("asks nobody when it is the change that the user has allowed", async () => {
    await using acp = await world();
    const asked = await acp.say("edit a.txt new");
    const { task, text } = await acp.answer(asked.task, "proceed_once");
    expect(stateAndCall(task, "call-1")).toEqual(["COMPLETED", "SUCCEEDED"]);
    expect([text, findToolCall(task, "write_text_file")]).toEqual([
      "{}",
      undefined,
    ]);
    expect(fileText(acp.workspace, "a.txt")).toBe("new");
  });

  it("asks again when it is another change than the user has allowed", async () => {
    await using acp = await world();
    const first = await acp.say("edit a.txt shown hidden");
    const second = await acp.answer(first.task, "proceed_once");
    expect(
      findToolCall(second.task, "write_text_file")?.confirmationRequest
        ?.details,
    ).toMatchObject({
      value: { newContent: "hidden" },
    });
    expect(stateAndCall(second.task, "write_text_file")).toEqual([
      "INPUT_REQUIRED",
      "PENDING",
    ]);
    expect(existsSync(join(acp.workspace, "a.txt"))).toBe(false);
    await acp.answer(second.task, "cancel");
    expect(existsSync(join(acp.workspace, "a.txt"))).toBe(false);
  });

  it("was in the question, when it is one of several changes", async () => {
    await using acp = await world();
    const content = ["a.txt", "b.txt"].map((name) => {
      return {
        type: "diff",
        path: join(acp.workspace, name),
        oldText: "one\ntwo\n",
        newText: `one\nin ${name}\n`,
      };
    });
    const first = await acp.say(
      `permit ${JSON.stringify({ kind: "edit", content, options: OPTIONS })}\nwrite b.txt x`,
    );
    const description = content.flatMap(({ path }) => [
      `--- ${path}`,
      `+++ ${path}`,
      "@@ -2,1 +2,1 @@",
      "-two",
      `+in ${basename(path)}`,
    ]);
    expect(
      findToolCall(first.task, "call-1")?.confirmationRequest?.details,
    ).toMatchObject({
      value: { description: ["permit", ...description, ""].join("\n") },
    });
    const { task } = await acp.answer(first.task, "proceed_once");
    expect(stateAndCall(task, "write_text_file")).toEqual([
      "INPUT_REQUIRED",
      "PENDING",
    ]);
  });

  it.each([
    { kind: "edit", title: "Tidy a.txt" },
    { kind: "edit", name: "mcp__notes__add" },
  ])(
    "asks again when the question did not show the content: $kind $name",
    async (described) => {
      await using acp = await world();
      const path = join(acp.workspace, "b.txt");
      const options = [
        ...OPTIONS,
        { optionId: "all", name: "Always", kind: "allow_always" },
      ];
      const first = await acp.say(
        `permit ${JSON.stringify({ ...described, locations: [{ path }], options })}\nwrite b.txt new`,
      );
      const { task } = await acp.answer(first.task, "proceed_always");
      expect(stateAndCall(task, "write_text_file")).toEqual([
        "INPUT_REQUIRED",
        "PENDING",
      ]);
      expect(existsSync(path)).toBe(false);
    },
  );

  it("says that it replaces a file that cannot be shown, which no other question covers", async () => {
    await using acp = await world();
    const path = join(acp.workspace, "a.txt");
    const bytes = Buffer.from([0xff, 0xfe, 0]);
    writeFileSync(path, bytes);
    const first = await acp.say("edit a.txt new");
    const second = await acp.answer(first.task, "proceed_once");
    const description = `${path} (replaces a file that is too large or not text)`;
    expect(findToolCall(second.task, "write_text_file")).toMatchObject({
      description,
      status: ToolCallStatus.PENDING,
    });
    expect(readFileSync(path)).toEqual(bytes);
    await acp.answer(second.task, "proceed_once");
    expect(readFileSync(path, "utf8")).toBe("new");
  });

  it("asks again when the question was replaced by one about another change while the user read it", async () => {
    await using acp = await world();
    const questions = ["c a.txt", "c?1 a.txt", "c b.txt"].map((words) => {
      const [toolCallId, name = ""] = words.split(" ");
      const content = [
        { type: "diff", path: join(acp.workspace, name), newText: "new" },
      ];
      return {
        toolCallId,
        title: name,
        kind: "edit",
        content,
        options: OPTIONS,
      };
    });
    const { task } = await acp.say(
      `permits ${JSON.stringify(questions)}\nwrite b.txt new`,
    );
    const asked = async () => {
      const { task: present } = await acp.client.tasks.getTask({
        taskId: task.id,
      });
      return pendingToolCalls(present ?? task).map(
        ({ toolCallId, confirmationRequest }) => {
          const { details } = confirmationRequest ?? {};
          return [
            toolCallId,
            details?.case === "fileEditDetails" && details.value.fileName,
          ];
        },
      );
    };
    await expect.poll(asked, { timeout: 60_000 }).toEqual([
      ["c", "a.txt"],
      ["c?1", "a.txt"],
      ["c?1~2", "b.txt"],
      ["write_text_file", "b.txt"],
    ]);
    await acp.cancel(task);
  });

  it("asks again behind a link: the user has allowed the place that was named", async () => {
    await using acp = await world();
    mkdirSync(join(acp.workspace, ".git"));
    symlinkSync(".git", join(acp.workspace, "docs"));
    const first = await acp.say("edit docs/config new");
    const second = await acp.answer(first.task, "proceed_once");
    expect(
      findToolCall(second.task, "write_text_file")?.confirmationRequest
        ?.details,
    ).toMatchObject({
      value: { filePath: join(acp.workspace, ".git/config") },
    });
  });

  it("asks nobody when the user has allowed all changes, unless a rule wants a question", async () => {
    await using acp = await world({
      permission: ({ paths }) =>
        paths.some((path) => path.endsWith("guarded"))
          ? { case: "ask", rule: "guarded" }
          : { case: "ask" },
    });
    const first = await acp.say(
      "edit a.txt new\nwrite b.txt new\nwrite guarded new",
    );
    const { task } = await acp.answer(first.task, "proceed_always");
    expect(fileText(acp.workspace, "b.txt")).toBe("new");
    expect(stateAndCall(task, "write_text_file")).toEqual([
      "INPUT_REQUIRED",
      "SUCCEEDED",
    ]);
    expect(stateAndCall(task, "write_text_file~2")).toEqual([
      "INPUT_REQUIRED",
      "PENDING",
    ]);
    expect(existsSync(join(acp.workspace, "guarded"))).toBe(false);
  });

  it("is written without a question where a rule allows it, and the audit names the rule", async () => {
    const { permission, requests } = policyOf({
      case: "allow",
      rule: "operator-1:3",
    });
    await using acp = await world({ isDurable: true, permission });
    const { task } = await acp.say("write a.txt new");
    expect(stateAndCall(task, "write_text_file")).toEqual([
      "COMPLETED",
      "SUCCEEDED",
    ]);
    const path = join(acp.workspace, "a.txt");
    expect(requests).toMatchObject([
      { kind: "edit", toolName: "write_text_file", paths: [path] },
    ]);
    const records = (await acp.audit()).map(({ action, rule, optionId }) => [
      AuditAction[action],
      rule,
      optionId,
    ]);
    expect(records).toEqual([
      ["ALLOWED", "operator-1:3", ""],
      ["STARTED", "operator-1:3", ""],
      ["SUCCEEDED", "operator-1:3", ""],
    ]);
  });

  it("is not written where a rule denies it, and the audit names the rule", async () => {
    const { permission } = policyOf({
      case: "deny",
      rule: "operator-1:4",
      reason: "not here",
    });
    await using acp = await world({ isDurable: true, permission });
    const { task, text } = await acp.say("write a.txt new");
    expect(stateAndCall(task, "write_text_file")).toEqual([
      "COMPLETED",
      "FAILED",
    ]);
    expect([
      text.includes("was not allowed"),
      existsSync(join(acp.workspace, "a.txt")),
    ]).toEqual([true, false]);
    const records = (await acp.audit()).map(({ action, rule }) => [
      AuditAction[action],
      rule,
    ]);
    expect(records).toEqual([["DENIED", "operator-1:4"]]);
  });

  it("is not written when the task is canceled", async () => {
    await using acp = await world();
    const asked = await acp.say("write a.txt new");
    const canceled = await acp.cancel(asked.task);
    expect(stateAndCall(canceled, "write_text_file")).toEqual([
      "CANCELED",
      "CANCELLED",
    ]);
    expect(existsSync(join(acp.workspace, "a.txt"))).toBe(false);
  });

  it("needs no question when it has that content already", async () => {
    await using acp = await world();
    putFile(acp.workspace, "a.txt", "same");
    expect((await acp.say("write a.txt same")).text).toBe("{}");
  });

  it("is asked about once, and written once, although the server and the agent are restarted meanwhile", async () => {
    await using acp = await world({ isDurable: true });
    const asked = await acp.say("say before\nwrite a.txt new\nsay after");
    await acp.restart();
    const { task, text } = await acp.answer(asked.task, "proceed_once");
    expect(stateAndCall(task, "write_text_file")).toEqual([
      "COMPLETED",
      "SUCCEEDED",
    ]);
    expect(text).toBe("{}after");
    expect(findToolCall(task, "write_text_file~2")).toBeUndefined();
    const actions = (await acp.audit()).map(
      ({ action }) => AuditAction[action],
    );
    expect(actions).toEqual(["ASKED", "APPROVED", "STARTED", "SUCCEEDED"]);
  });

  it("is written only by an agent that asks again, when the agent was killed before the answer", async () => {
    await using acp = await world({ isDurable: true });
    const asked = await acp.say("write a.txt new\nsay after");
    acp.killAgents();
    await expect
      .poll(() => acp.notices, { timeout: 60_000 })
      .toContain('agent "fake" ended: it was ended by SIGKILL');
    const { task, text } = await acp.answer(asked.task, "proceed_once");
    expect(stateAndCall(task, "write_text_file")).toEqual([
      "COMPLETED",
      "SUCCEEDED",
    ]);
    expect([text, fileText(acp.workspace, "a.txt")]).toEqual([
      "{}after",
      "new",
    ]);
    const actions = (await acp.audit()).map(
      ({ action }) => AuditAction[action],
    );
    expect(actions).toEqual(["ASKED", "APPROVED", "STARTED", "SUCCEEDED"]);
  });
});

describe("a file that an ACP agent has its client read", () => {
  it("needs no question", async () => {
    await using acp = await world(METHODS);
    putFile(acp.workspace, "a.txt", "content");
    expect((await acp.say("read a.txt")).text).toBe('{"content":"content"}');
  });

  it("is not read where a rule denies it", async () => {
    const { permission, requests } = policyOf({
      case: "deny",
      rule: "operator-1:5",
      reason: "kept back",
    });
    await using acp = await world({ ...METHODS, permission });
    putFile(acp.workspace, ".env", "secret");
    const { task, text } = await acp.say("read .env");
    expect(stateAndCall(task, "read_text_file")).toEqual([
      "COMPLETED",
      "FAILED",
    ]);
    expect([text.includes("secret"), requests[0]?.kind]).toEqual([
      false,
      "read",
    ]);
  });

  it("asks the user where a rule wants that", async () => {
    const { permission } = policyOf({ case: "ask", rule: "operator-1:6" });
    await using acp = await world({ ...METHODS, permission });
    putFile(acp.workspace, ".env", "secret");
    const asked = await acp.say("read .env");
    expect(stateAndCall(asked.task, "read_text_file")).toEqual([
      "INPUT_REQUIRED",
      "PENDING",
    ]);
    expect((await acp.answer(asked.task, "proceed_once")).text).toBe(
      '{"content":"secret"}',
    );
  });
});

describe("a command that an ACP agent has its client run", () => {
  const request = {
    command: "echo",
    args: ["a b"],
    env: [{ name: "LD_PRELOAD", value: "/tmp/x y" }],
  };

  it("is shown to the user with its directory and the variables that it gets, and runs once it is allowed", async () => {
    await using acp = await world(METHODS);
    const asked = await acp.say(
      `terminal ${JSON.stringify({ ...request, env: [{ name: "A", value: "x y" }] })}`,
    );
    expect(
      findToolCall(asked.task, "create_terminal")?.confirmationRequest?.details,
    ).toMatchObject({
      case: "executeDetails",
      value: { command: "A='x y' echo 'a b'", workingDirectory: acp.workspace },
    });
    const { task, text } = await acp.answer(asked.task, "proceed_once");
    expect(stateAndCall(task, "create_terminal")).toEqual([
      "COMPLETED",
      "SUCCEEDED",
    ]);
    expect(JSON.parse(text)).toMatchObject({ output: "a b\n" });
  });

  it("does not run when the user declines", async () => {
    await using acp = await world(METHODS);
    const asked = await acp.say(
      `terminal ${JSON.stringify({ command: "touch", args: ["made"] })}`,
    );
    const { text } = await acp.answer(asked.task, "cancel");
    expect(JSON.parse(text)).toEqual({
      error: 'running "touch made" was not allowed',
    });
    expect(existsSync(join(acp.workspace, "made"))).toBe(false);
  });

  it("is decided by a rule with its variables, as a shell would read them", async () => {
    const { permission, requests } = policyOf({
      case: "deny",
      rule: "operator-1:7",
      reason: "no",
    });
    await using acp = await world({ ...METHODS, permission });
    const { task } = await acp.say(`terminal ${JSON.stringify(request)}`);
    expect(stateAndCall(task, "create_terminal")).toEqual([
      "COMPLETED",
      "FAILED",
    ]);
    expect(requests[0]?.details).toMatchObject({
      value: { command: "LD_PRELOAD='/tmp/x y' echo 'a b'" },
    });
  });

  it("asks nobody when the user has allowed just that command, once", async () => {
    await using acp = await world(METHODS);
    const asked = await acp.say("askrun echo made it");
    const { task, text } = await acp.answer(asked.task, "proceed_once");
    expect(stateAndCall(task, "call-1")).toEqual(["COMPLETED", "SUCCEEDED"]);
    expect([
      JSON.parse(text).output,
      findToolCall(task, "create_terminal"),
    ]).toEqual(["made it\n", undefined]);
  });

  it("says why it cannot start", async () => {
    await using acp = await world({
      ...METHODS,
      permission: () => ({ case: "allow", rule: "all" }),
    });
    const { task, text } = await acp.say(
      `terminal ${JSON.stringify({ command: "no-such-program" })}`,
    );
    expect(stateAndCall(task, "create_terminal")).toEqual([
      "COMPLETED",
      "FAILED",
    ]);
    expect(JSON.parse(text)).toEqual({
      error: 'command "no-such-program" cannot be started: ENOENT',
    });
  });
});
