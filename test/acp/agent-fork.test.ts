import { Code } from "@connectrpc/connect";
import { textMessage } from "@devtool/client";
import { type Task, TaskState } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { AcpWorld } from "./agent/world.ts";

describe("a fork of a conversation over ACP (STREAM-5)", () => {
  it("goes on from the end of the agent's session, in one of its own, also after a restart", async () => {
    await using acp = await world("--fork", "--resume");
    const { task: first } = await acp.say("remember apple");
    const fork = await forked(acp, first, "recall");
    const session = fork.agentSessionId;
    expect(saidIn(fork)).toMatchObject({ session, known: ["apple"] });
    expect(session).not.toBe(first.agentSessionId);
    const fast = await forked(acp, first, "tell", "fast");
    expect(saidIn(fast)).toMatchObject({ session: { speed: "fast" } });
    await acp.say("remember pear", first);
    await acp.restart();
    const { text } = await acp.say("recall", fork);
    expect(JSON.parse(text)).toMatchObject({ session, known: ["apple"] });
    const original = await acp.say("recall", first);
    expect(JSON.parse(original.text)).toMatchObject({
      session: first.agentSessionId,
      known: ["apple", "pear"],
    });
  });

  it("fails in words at an agent without session/fork, and another task does not begin anew in its place", async () => {
    await using acp = await world();
    const { task: first } = await acp.say("remember apple");
    const fork = await forked(acp, first, "recall");
    expect(fork).toMatchObject({
      state: TaskState.FAILED,
      error: expect.stringContaining(
        'agent "fake" cannot fork its conversations: it does not have session/fork',
      ),
    });
    const { contextId } = fork;
    const words = {
      code: Code.FailedPrecondition,
      rawMessage: expect.stringMatching(
        /its agent has not begun with that: fork task ".*" again$/,
      ),
    };
    const message = textMessage(crypto.randomUUID(), "recall");
    await expect(
      acp.client.tasks.sendMessage({ message, contextId }),
    ).rejects.toMatchObject(words);
    await expect(
      acp.client.commands.runSlashCommand({
        command: { commandPath: ["say"] },
        contextId,
      }),
    ).rejects.toMatchObject(words);
    await expect(forked(acp, fork, "recall")).rejects.toMatchObject(words);
    // The task itself tries again.
    const { task: again } = await acp.say("recall", fork);
    expect(again.error).toContain("it does not have session/fork");
  });

  it("has the agent's options of the other conversation, unless its message sets others", async () => {
    await using acp = await world("--fork");
    const { task: first } = await acp.say("remember apple", undefined, {
      agentOptions: { effort: "high" },
    });
    const fork = await forked(acp, first, "tell");
    expect(fork.sessionSettings?.agentOptions).toEqual({ effort: "high" });
    await acp.say("tell", first, { agentOptions: { effort: "low" } });
    const later = await forked(acp, first, "tell");
    expect(later.sessionSettings?.agentOptions).toEqual({ effort: "low" });
  });

  it("goes on from a task after which a slash command has run", async () => {
    await using acp = await world("--fork");
    const { task: first } = await acp.say("remember apple");
    const { result } = await acp.client.commands.runSlashCommand({
      command: { commandPath: ["say"], args: "hello" },
      contextId: first.contextId,
    });
    const events = acp.client.tasks.subscribeTask({
      taskId: result?.executionId ?? "",
    });
    await Array.fromAsync(events);
    const fork = await forked(acp, first, "recall");
    expect(saidIn(fork)).toMatchObject({ known: ["apple"] });
  });

  it("says of a deleted task that the agent's own session stays", async () => {
    await using acp = await world("--fork");
    const { task: first } = await acp.say("remember apple");
    const fork = await forked(acp, first, "recall");
    await acp.client.tasks.deleteTask({ taskId: first.id });
    const { events, text } = await acp.say("recall", fork);
    expect(JSON.parse(text)).toMatchObject({ known: ["apple"] });
    const notices = events.flatMap(({ payload }) =>
      payload.case === "notice" ? [payload.value.text] : [],
    );
    expect(notices).toEqual([
      `Task ${JSON.stringify(first.id)}, which this one continues, does not exist any more: what the agent has of it in a session of its own stays there.`,
    ]);
  });

  it("is refused from before a message, and from a task after which the session has gone on", async () => {
    await using acp = await world("--fork");
    const { task: first } = await acp.say("remember apple");
    const [{ messageId: beforeMessageId = "" } = {}] = first.history;
    const send = (fork: { taskId: string; beforeMessageId?: string }) =>
      acp.client.tasks.sendMessage({
        message: textMessage(crypto.randomUUID(), "recall"),
        messageSettings: { fork },
      });
    await expect(
      send({ taskId: first.id, beforeMessageId }),
    ).rejects.toMatchObject({
      code: Code.InvalidArgument,
      rawMessage: expect.stringMatching(
        /^message_settings.fork.before_message_id .*agent "fake" does not follow it/,
      ),
    });
    const { task: later } = await acp.client.tasks.sendMessage({
      message: textMessage(crypto.randomUUID(), "remember pear"),
      contextId: first.contextId,
    });
    await expect(send({ taskId: first.id })).rejects.toMatchObject({
      code: Code.FailedPrecondition,
      rawMessage: expect.stringContaining(`"${later?.id}"`),
    });
    const { task } = await send({ taskId: later?.id ?? "" });
    expect(saidIn(task)).toMatchObject({ known: ["apple", "pear"] });
  });
});

function world(...flags: readonly string[]): Promise<AcpWorld> {
  return new AcpWorld({ isDurable: true, flags }).start();
}

/** Forks a task at its end, and returns the whole new one after its turn. */
async function forked(
  { client }: AcpWorld,
  { id: taskId }: Task,
  text: string,
  model = "",
): Promise<Task> {
  const { task: sent } = await client.tasks.sendMessage({
    message: textMessage(crypto.randomUUID(), text),
    messageSettings: { fork: { taskId } },
    sessionSettings: { model },
  });
  const { task } = await client.tasks.getTask({ taskId: sent?.id ?? "" });
  return task ?? expect.fail("the server has the task");
}

/** What the agent said last, which is JSON. */
function saidIn(task: Task | undefined): unknown {
  const content = task?.history.at(-1)?.parts[0]?.content;
  return JSON.parse(content?.case === "text" ? content.value : "{}");
}
