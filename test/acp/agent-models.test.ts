import { Code } from "@connectrpc/connect";
import type { Task } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { AcpWorld, type AcpWorldOptions } from "./agent/world.ts";

describe.each([
  ["as an option of its sessions", []],
  ["as a list of its sessions", ["--model-list"]],
])("the models of an ACP agent that offers them %s", (_how, flags) => {
  it("are listed, also before any session of a client", async () => {
    await using acp = await world({ flags });
    expect(await listed(acp)).toEqual([
      ["slow", "Slow one"],
      ["fast", "Fast one"],
    ]);
    await acp.say("tell");
    expect(await listed(acp)).toHaveLength(2);
  });

  it("are chosen by a message for its exchange, and the next one has the earlier model again", async () => {
    await using acp = await world({ flags });
    const { task, speed } = await tell(acp);
    expect([speed, (await tell(acp, "fast", task)).speed]).toEqual([
      "slow",
      "fast",
    ]);
    const after = await tell(acp, "", task);
    expect([after.speed, after.task.model]).toEqual(["slow", "slow"]);
  });

  it("are chosen by the first message for its session, and each event names the one that answers", async () => {
    await using acp = await world({ flags });
    const { task, speed, models } = await tell(acp, "fast");
    expect([speed, task.sessionSettings?.model, models]).toEqual([
      "fast",
      "fast",
      ["fast"],
    ]);
    expect((await tell(acp, "slow", task)).speed).toBe("slow");
    expect((await tell(acp, "", task)).speed).toBe("fast");
  });
});

describe("the models of an ACP agent", () => {
  it.each([
    ["--no-models", 'agent "fake" offers no choice of a model: leave it out'],
    [
      "--model-list",
      'model "none" is not offered by agent "fake": name one of "slow", "fast"',
    ],
  ])(
    "N1: refuse one that the agent does not have before anything is stored, also if it never ran: %s",
    async (flag, problem) => {
      await using acp = await world({ flags: [flag] });
      await expect(
        acp.say("tell", undefined, { model: "none" }),
      ).rejects.toThrow(problem);
      expect((await acp.client.tasks.listTasks({})).tasks).toEqual([]);
    },
  );

  it("are none for an agent that offers no choice", async () => {
    await using acp = await world({ flags: ["--no-models"] });
    expect(await listed(acp)).toEqual([]);
  });

  it("are not listed before the agent's user has logged in; the error does not blame the caller's token", async () => {
    await using acp = await world({ flags: ["--auth"] });
    await expect(acp.client.agents.listModels({})).rejects.toMatchObject({
      code: Code.FailedPrecondition,
      rawMessage: expect.stringContaining("requires a login"),
    });
  });

  it("are not listed while the agent cannot be started, and the reason is said", async () => {
    await using acp = await world({
      command: { command: "/nonexistent/agent" },
    });
    await expect(acp.client.agents.listModels({})).rejects.toMatchObject({
      code: Code.Unavailable,
    });
  });
});

function world(options: AcpWorldOptions): Promise<AcpWorld> {
  return new AcpWorld(options).start();
}

async function listed({
  client,
}: AcpWorld): Promise<(readonly [name: string, displayName: string])[]> {
  const { models } = await client.agents.listModels({});
  return models.map(({ name, displayName }) => [name, displayName] as const);
}

/**
 * Sends a message, and gives the model that the agent has in its turn, and
 * those that the events name.
 */
async function tell(acp: AcpWorld, model = "", task?: Task) {
  const before =
    task && (await acp.client.tasks.getTask({ taskId: task.id })).task;
  const said = await acp.say("tell", before, { model });
  const models = new Set(
    said.events.flatMap((event) =>
      event.payload.case === "text" ? [event.model] : [],
    ),
  );
  const { speed } = JSON.parse(said.text).session;
  return { task: said.task, speed, models: [...models] };
}
