import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { textMessage } from "@devtool/client";
import { fileText } from "@devtool/internal/testing/files";
import {
  ApprovalMode,
  AuditAction,
  type Task,
  TaskState,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { AcpWorld, type AcpWorldOptions } from "./agent/world.ts";

const { DEFAULT, PLAN, YOLO } = ApprovalMode;

describe("the approval mode of a later message, at an ACP agent (SESSION-4)", () => {
  it("sets the agent's mode, and sets back the one it was in", async () => {
    await using acp = await world();
    const { task } = await acp.say("tell", undefined, {
      approvalMode: DEFAULT,
    });
    expect(await modeOf(acp, task)).toBe("default");
    expect(await modeOf(acp, task, PLAN)).toBe("plan");
    expect(await modeOf(acp, task)).toBe("plan");
    expect(await modeOf(acp, task, YOLO)).toBe("default");
  });

  it("sets back the operator's mode", async () => {
    await using acp = await world({ mode: "wild" });
    const { task } = await acp.say("tell", undefined, { approvalMode: PLAN });
    expect(await modeOf(acp, task, DEFAULT)).toBe("wild");
  });

  it("is known after a restart of both, in either direction", async () => {
    await using acp = await world({ isDurable: true });
    const { task } = await acp.say("tell", undefined, {
      approvalMode: DEFAULT,
    });
    expect(await modeOf(acp, task, PLAN)).toBe("plan");
    await acp.restart();
    expect(await modeOf(acp, task)).toBe("plan");
    await acp.restart();
    expect(await modeOf(acp, task, DEFAULT)).toBe("default");
    const changes = (await acp.audit()).filter(
      ({ action }) => action === AuditAction.APPROVAL_MODE_CHANGED,
    );
    expect(changes.map(({ shown }) => shown)).toEqual(["PLAN", "DEFAULT"]);
  });

  it("is refused, and nothing is stored, for an agent that has no mode to plan in", async () => {
    await using acp = await world({ planMode: "none" });
    const { task } = await acp.say("say Hello.");
    await expect(modeOf(acp, task, PLAN)).rejects.toThrow(
      'agent "fake" has no mode "none"',
    );
    const { task: kept } = await acp.client.tasks.getTask({ taskId: task.id });
    expect(kept?.sequence).toBe(task.sequence);
    expect(await modeOf(acp, task)).toBe("default");
  });

  it.each([false, true])(
    "is refused, and nothing is stored, also for an agent that never ran, in another workspace: %s",
    async (isElsewhere) => {
      await using acp = await world({ planMode: "none" });
      if (isElsewhere) await acp.say("say Hello.");
      const before = await acp.client.tasks.listTasks({});
      const message = textMessage("first", "say Hello.");
      const workspacePath = join(acp.workspace, isElsewhere ? "sub" : ".");
      mkdirSync(workspacePath, { recursive: true });
      await expect(
        acp.client.tasks.sendMessage({
          message,
          settings: { workspacePath },
          sessionSettings: { approvalMode: PLAN },
        }),
      ).rejects.toThrow('agent "fake" has no mode "none"');
      const after = await acp.client.tasks.listTasks({});
      expect(after.tasks.length).toBe(before.tasks.length);
    },
  );

  it("does not count what the user has allowed for good once the session plans", async () => {
    await using acp = await world();
    const asked = await acp.say("edit a.txt one");
    const { task } = await acp.answer(asked.task, "proceed_always");
    const written = await acp.say("write a.txt two", task);
    expect(TaskState[written.task.state]).toBe("COMPLETED");
    const planned = await acp.say("write a.txt three", written.task, {
      approvalMode: PLAN,
    });
    expect(TaskState[planned.task.state]).toBe("INPUT_REQUIRED");
    expect(fileText(acp.workspace, "a.txt")).toBe("two");
  });

  it.each<[string, AcpWorldOptions, Record<string, string>]>([
    ["a client", { clientOptions: ["permission"] }, { permission: "wild" }],
    ["the operator", { configOptions: { permission: "wild" } }, {}],
  ])(
    "plans though %s sets the agent's mode by one of its options",
    async (_who, options, agentOptions) => {
      await using acp = await world(options);
      const { text, task } = await acp.say("tell", undefined, {
        approvalMode: PLAN,
        agentOptions,
      });
      expect(JSON.parse(text).session.mode).toBe("plan");
      const { text: later } = await acp.say("tell", task, { agentOptions });
      expect(JSON.parse(later).session.mode).toBe("plan");
      expect(await modeOf(acp, task, YOLO)).toBe("wild");
    },
  );

  it("cannot be set for one turn alone, nor can its directory: the message is refused", async () => {
    await using acp = await world();
    const message = textMessage("m1", "tell");
    const sent = acp.client.tasks.sendMessage({
      message,
      messageSettings: { turn: { workingDirectory: acp.workspace } },
    });
    await expect(sent).rejects.toThrow(
      /message_settings\.turn cannot be used: agent "/,
    );
    expect((await acp.client.tasks.listTasks({})).tasks).toEqual([]);
  });

  it("asks the policy by the mode as it is now", async () => {
    const modes: ApprovalMode[] = [];
    const permission: AcpWorldOptions["permission"] = async ({
      approvalMode,
    }) => {
      modes.push(approvalMode);
      return { case: "allow", rule: "test" };
    };
    await using acp = await world({ permission });
    const { task } = await acp.say("ask edit a.txt", undefined, {
      approvalMode: DEFAULT,
    });
    await acp.say("ask edit b.txt", task, { approvalMode: PLAN });
    expect(modes).toEqual([DEFAULT, PLAN]);
  });
});

function world(options: AcpWorldOptions = {}): Promise<AcpWorld> {
  return new AcpWorld(options).start();
}

/**
 * The mode that the agent is in, in a turn whose message asks for an approval
 * mode.
 */
async function modeOf(
  acp: AcpWorld,
  task: Task,
  approvalMode = ApprovalMode.UNSPECIFIED,
): Promise<unknown> {
  const { task: before } = await acp.client.tasks.getTask({ taskId: task.id });
  const { text } = await acp.say("tell", before, { approvalMode });
  return JSON.parse(text).session.mode;
}
