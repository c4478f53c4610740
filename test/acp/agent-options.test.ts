import { AuditAction, type Task } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { AcpWorld, type AcpWorldOptions } from "./agent/world.ts";

type Options = Readonly<Record<string, string>>;

describe("an agent's own options (SESSION-4)", () => {
  it("are set with the first message and with later ones, and stay until another one", async () => {
    await using acp = await world();
    const { task, options } = await tell(acp, { effort: "high" });
    expect(options).toEqual({ effort: "high" });
    expect((await tell(acp, {}, task)).options).toEqual({ effort: "high" });
    expect((await tell(acp, { effort: "low" }, task)).options).toEqual({
      effort: "low",
    });
    expect((await tell(acp, {}, task)).options).toEqual({ effort: "low" });
  });

  it("stay over a restart of the server and the agent, also in a session that begins anew", async () => {
    await using acp = await world({ isDurable: true, flags: ["--no-load"] });
    const { task } = await tell(acp, { effort: "high" });
    await acp.restart();
    expect((await tell(acp, {}, task)).options).toEqual({ effort: "high" });
  });

  it("are in the log with the message that brought them", async () => {
    await using acp = await world();
    const { task } = await tell(acp);
    const { task: after } = await tell(acp, { effort: "high" }, task);
    expect(
      after.history.filter(
        ({ agentOptions }) => agentOptions.effort === "high",
      ),
    ).toHaveLength(1);
    expect(after.sessionSettings?.agentOptions ?? {}).toEqual({});
  });

  it("are in the audit with the message that set them, also one that waits", async () => {
    await using acp = await world({ isDurable: true });
    const { task } = await tell(acp, { effort: "high" });
    await tell(acp, {}, task);
    await tell(acp, { effort: "low" }, task);
    const { task: asking } = await acp.say("ask make\ntell");
    const { task: queued } = await acp.client.tasks.sendMessage({
      message: {
        messageId: "waits",
        parts: [{ content: { case: "text", value: "tell" } }],
      },
      sessionSettings: { agentOptions: { effort: "high" } },
      taskId: asking.id,
      returnImmediately: true,
    });
    await acp.answer(asking, "proceed_once");
    const records = (await acp.audit()).filter(
      ({ action }) => action === AuditAction.AGENT_OPTIONS_SET,
    );
    expect(records.map(({ taskId, shown }) => [taskId, shown])).toEqual([
      [task.id, '{"effort":"high"}'],
      [task.id, '{"effort":"low"}'],
      [asking.id, '{"effort":"high"}'],
    ]);
    expect(records.at(-1)?.sequence).toBe(queued?.sequence);
  });

  it("wait with their message", async () => {
    await using acp = await world();
    const { task: asking } = await acp.say("ask make\ntell");
    await acp.client.tasks.sendMessage({
      message: {
        messageId: "waits",
        parts: [{ content: { case: "text", value: "tell" } }],
      },
      sessionSettings: { agentOptions: { effort: "high" } },
      taskId: asking.id,
      returnImmediately: true,
    });
    const { text } = await acp.answer(asking, "proceed_once");
    const [first = "", second = ""] = text.split("}{");
    expect([
      first.includes('"effort"'),
      second.includes('"effort":"high"'),
    ]).toEqual([false, true]);
  });

  it("may be on or off, where the operator lets clients set them", async () => {
    await using acp = await world({ clientOptions: ["verbose"] });
    const { task } = await tell(acp);
    expect((await tell(acp, { verbose: "true" }, task)).options).toEqual({
      verbose: true,
    });
    await expect(tell(acp, { verbose: "yes" }, task)).rejects.toThrow(
      '"verbose" cannot be "yes": choose true, false',
    );
    await expect(tell(acp, { effort: "high" }, task)).rejects.toThrow(
      "choose verbose",
    );
  });

  it.each<[string, AcpWorldOptions, Options, string]>([
    [
      "does not exist",
      {},
      { none: "x" },
      '"none" is not an option of agent "fake" that clients may set: choose effort',
    ],
    [
      "clients may not set",
      {},
      { verbose: "true" },
      '"verbose" is not an option of agent "fake" that clients may set',
    ],
    ["is the model", {}, { speed: "fast" }, '"speed" is not an option'],
    [
      "the operator has set",
      { configOptions: { effort: "low" } },
      { effort: "high" },
      '"effort" is not an option',
    ],
    [
      "has other values",
      {},
      { effort: "most" },
      '"effort" cannot be "most": choose low, high',
    ],
  ])(
    "are refused before anything is stored when one %s",
    async (_what, options, agentOptions, problem) => {
      await using acp = await world(options);
      const { task } = await tell(acp);
      await expect(tell(acp, agentOptions, task)).rejects.toThrow(problem);
      const { task: kept } = await acp.client.tasks.getTask({
        taskId: task.id,
      });
      expect(kept?.sequence).toBe(task.sequence);
    },
  );

  it.each<[string, AcpWorldOptions, Options, string]>([
    ["does not exist", {}, { none: "x" }, '"none" is not an option'],
    [
      "has other values",
      {},
      { effort: "most" },
      '"effort" cannot be "most": choose low, high',
    ],
    [
      "clients may not set",
      { clientOptions: ["verbose"] },
      { effort: "high" },
      "choose verbose",
    ],
  ])(
    "N1: are refused before anything is stored when one %s, also if the agent never ran",
    async (_what, options, agentOptions, problem) => {
      await using acp = await world(options);
      await expect(tell(acp, agentOptions)).rejects.toThrow(problem);
      await expect(
        acp.client.commands.runSlashCommand({
          command: { commandPath: ["say"] },
          sessionSettings: { agentOptions },
        }),
      ).rejects.toThrow(problem);
      expect((await acp.client.tasks.listTasks({})).tasks).toEqual([]);
    },
  );
});

function world(options: AcpWorldOptions = {}): Promise<AcpWorld> {
  return new AcpWorld(options).start();
}

/**
 * Sends a message with options, and gives those that the agent has in its turn.
 */
async function tell(acp: AcpWorld, agentOptions: Options = {}, task?: Task) {
  const before =
    task && (await acp.client.tasks.getTask({ taskId: task.id })).task;
  const said = await acp.say("tell", before, { agentOptions });
  return { task: said.task, options: JSON.parse(said.text).options };
}
