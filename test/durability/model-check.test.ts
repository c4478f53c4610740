import type { CodingServerOptions } from "@devtool/coding-agent";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { roundsOf, seedOf } from "../depth.ts";
import { commands, TaskModel } from "./model-check/commands.ts";
import { idsIn, ServerUnderTest } from "./model-check/server-under-test.ts";

const RUNS = roundsOf("DEVTOOL_MODEL_RUNS", {
  quick: 100,
  ci: 200,
  deep: 10_000,
});

describe("the server beside a reference of a task (R9)", {
  timeout: 10 * 60_000 + RUNS * 1_500,
}, () => {
  it("says what the reference says, whatever a client does in whatever order, over restarts too", async () => {
    const { runs, failure } = await check({}, RUNS);
    expect(failure).toBe("");
    console.log(`R9.divergences 0 <=0 PASS (${runs} runs)`);
  });

  it("has done all that a client may do, and met what it may meet", async () => {
    const played = new Set(
      fc
        .sample(fc.commands(commands(), { maxCommands: 20 }), 200)
        .flatMap((all) => [...all].map((one) => `${one}`.split(" ")[0])),
    );
    expect([...played].toSorted()).toEqual([
      "answer",
      "cancel",
      "restart",
      "retry",
      "send",
      "subscribe",
      "withdraw",
      "wrong",
    ]);
  });

  it("would notice a server that takes a message that comes again for a new one", async () => {
    expect((await check({ retryWindowMs: 0 }, 200)).failure).toContain("retry");
  });
});

describe("a subscription to a task that waits, after a message behind its question was withdrawn", () => {
  it.each([
    ["from the beginning", { "last-event-id": "0" }],
    ["of the task as it is", {}],
  ])(
    "gives each id once, and the question in its final event: %s (STREAM-3)",
    async (_what, headers: Record<string, string>) => {
      await using server = new ServerUnderTest();
      await server.start();
      const asked = await server.call("message/send", messageOf("write a.txt"));
      const taskId = "task" in asked ? asked.task.id : "";
      const waiting = messageOf("text hi", taskId);
      await server.call("message/send", waiting);
      await server.call("message/withdraw", {
        taskId,
        messageId: waiting.message.messageId,
      });

      const stream = await server.subscription(taskId, headers);
      const ids = idsIn(stream);
      expect(ids).toEqual(
        [...new Set(ids)].toSorted((one, other) => one - other),
      );
      const last = stream.trimEnd().split("\n\n").at(-1) ?? "";
      expect(last).toContain(`id: ${ids.at(-1)}\n`);
      expect(JSON.parse(last.slice(last.indexOf("{")))).toMatchObject({
        result: {
          final: true,
          status: {
            state: "input-required",
            message: { parts: [{ kind: "data" }] },
          },
        },
      });
    },
  );
});

function messageOf(text: string, taskId?: string) {
  const parts = [{ kind: "text", text }];
  const message = {
    kind: "message",
    role: "user",
    messageId: crypto.randomUUID(),
    parts,
  };
  return { message: { ...message, ...(taskId !== undefined && { taskId }) } };
}

/**
 * Plays commands against a server; says which did not come out as the reference
 * has it, with the seed that plays them again.
 */
async function check(
  options: CodingServerOptions,
  numRuns: number,
): Promise<{ readonly runs: number; readonly failure: string }> {
  await using server = new ServerUnderTest(options);
  await server.start();
  let count = 0;
  const nextId = (): string => `m${count++}`;
  const property = fc.asyncProperty(
    fc.commands(commands(), { maxCommands: 20 }),
    (played) =>
      fc.asyncModelRun(
        () => ({ model: new TaskModel(), real: { server, call: "", nextId } }),
        played,
      ),
  );
  const seed = seedOf();
  const details = await fc.check(property, {
    numRuns,
    seed,
    endOnFailure: false,
  });
  const failure = details.failed ? fc.defaultReportMessage(details) : undefined;
  return { runs: details.numRuns, failure: failure ?? "" };
}
