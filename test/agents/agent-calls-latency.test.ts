import { type DevtoolClient, textMessage } from "@devtool/client";
import { codingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { TaskState } from "@devtool/schema";
import { createServer } from "@devtool/server";
import { describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { approve, taskOf } from "../tasks.ts";

/** The number of questions that each chain is measured with. */
const QUESTIONS = 20;

describe("a question of an agent that another one calls", () => {
  it("goes up one agent, and its answer down, in 25 ms of the processor", async () => {
    await using server = await createServer({
      agents: { one: codingAgent(), two: codingAgent(), three: codingAgent() },
      workspace: temporaryDirectory(),
    });
    const client = clientOf(server);
    const runs = Array.from(
      { length: QUESTIONS },
      (_, number) => `write file${number}.txt made`,
    ).join("\nnext\n");
    const direct = await costsOf(client, runs, 0);
    const two = callOf("two", callOf("three", runs));
    const overTwo = await costsOf(client, two, 2);
    expect((lowQuartile(overTwo) - lowQuartile(direct)) / 2).toBeLessThan(25);
  });
});

/**
 * Returns the processor time from each answer to the next question, in
 * milliseconds.
 *
 * @param calls the number of questions before the first one that counts
 */
async function costsOf(
  client: DevtoolClient,
  script: string,
  calls: number,
): Promise<readonly number[]> {
  const { task } = await client.tasks.sendMessage({
    message: textMessage(crypto.randomUUID(), script),
  });
  const costs: number[] = [];
  let asked = await taskOf(client, task?.id ?? "");
  while (asked.state !== TaskState.COMPLETED) {
    const before = process.cpuUsage();
    asked = await approve(client, asked);
    const { user, system } = process.cpuUsage(before);
    costs.push((user + system) / 1000);
  }
  expect(costs).toHaveLength(QUESTIONS + calls);
  return costs.slice(calls);
}

/** Returns what a quarter of the costs is below: other work only adds to a cost. */
function lowQuartile(costs: readonly number[]): number {
  return (
    costs.toSorted((a, b) => a - b)[Math.floor(costs.length / 4)] ?? Number.NaN
  );
}

function callOf(agent: string, message: string): string {
  return `call agent_${agent} ${JSON.stringify({ message })}`;
}
