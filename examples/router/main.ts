/**
 * Serves one address for three agents of others: one on the SDK of A2A, one on
 * that of ACP, and a program of the system.
 *
 *     node main.ts
 */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { acpAgent } from "@devtool/acp";
import { createDevtoolClient, textMessage } from "@devtool/client";
import { emptyTask, type Task } from "@devtool/schema";
import { type Agent, createServer } from "@devtool/server";
import { meshAgent, readMesh } from "@devtool/workflow";

const here = import.meta.dirname;

/** Any program can be an agent: this one counts words. */
const counter: Agent = {
  about: { name: "counter", description: "Counts words." },
  open: () => ({
    createExecutor: () => ({
      async *execute(turn) {
        const content = turn.prompt?.parts[0]?.content;
        const input = content?.case === "text" ? content.value : "";
        const words = execFileSync("wc", ["-w"], { input }).toString().trim();
        yield* turn.say(`Counted: ${words}`);
      },
    }),
  }),
};
const writer = acpAgent({
  name: "writer",
  command: { command: process.execPath, args: [join(here, "writer.mjs")] },
});
const reviewer = spawn(process.execPath, [join(here, "reviewer.ts")], {
  stdio: ["pipe", "pipe", "inherit"],
});
process.once("exit", () => reviewer.kill());
const [url] = await once(createInterface(reviewer.stdout), "line");

const file = join(here, "team.mesh.yaml");
const team = meshAgent(readMesh(readFileSync(file, "utf8"), file), {
  remoteAgents: [{ name: "reviewer", url, description: "Reviews texts." }],
});
const server = await createServer({
  agents: { team, writer, counter },
  workspace: process.cwd(),
});
const client = createDevtoolClient(await server.transport());

// A rule, the name, and what no rule holds for.
const review = await ask("review this");
said(review, "reviewer", "Reviewed: review this");
said(await ask("@counter one two three"), "counter", "Counted: 3");
said(await ask("a haiku"), "writer", "Written: a haiku");
// A conversation stays with its agent.
said(await ask("and again", review), "reviewer", "Reviewed: and again");
// The next agent gets a message where the first one cannot be reached.
const gone = once(reviewer, "exit");
reviewer.kill();
await gone;
said(await ask("review that"), "writer", "Written: review that");
await server.close();
console.log("ok");

/** Gives the team a message, in a conversation that there was or in a new one. */
async function ask(text: string, before?: Task): Promise<Task> {
  const { task = emptyTask() } = await client.tasks.sendMessage({
    message: {
      ...textMessage(crypto.randomUUID(), text),
      referenceTaskIds: before ? [before.id] : [],
    },
    contextId: before?.contextId ?? "",
    sessionSettings: { agent: "team" },
  });
  return task;
}

/** Asserts which agent answered last, and what. */
function said({ history, error }: Task, agent: string, text: string): void {
  const parts = history.flatMap((message) => message.parts);
  const calls = parts.flatMap(
    ({ toolCallDetail }) => toolCallDetail?.delegation?.agent ?? [],
  );
  assert.equal(calls.at(-1), agent, error);
  assert.deepEqual(parts.at(-1)?.content, { case: "text", value: text });
  console.log(`${agent}: ${text}`);
}
