/**
 * Has one agent write and another one review until it approves.
 *
 *     node main.ts
 */
import assert from "node:assert/strict";
import {
  createDevtoolClient,
  streamMessage,
  textMessage,
} from "@devtool/client";
import { emptyTask, reduceTask, TaskState } from "@devtool/schema";
import { type Agent, createServer } from "@devtool/server";
import { defineWorkflow, workflowAgent } from "@devtool/workflow";

const MAX_LENGTH = 60;

/** Yours would ask models, or be `codingAgent()`: any agent can do a step. */
function agentOf(description: string, reply: (text: string) => string): Agent {
  return {
    about: { name: description, description },
    open: () => ({
      createExecutor: () => ({
        async *execute(turn) {
          const content = turn.prompt?.parts[0]?.content;
          yield* turn.say(reply(content?.case === "text" ? content.value : ""));
        },
      }),
    }),
  };
}

const writer = agentOf("Writes", (task) =>
  task.includes("too long")
    ? "Servers start faster."
    : "In this version, servers start faster than they did in the version before.",
);
const reviewer = agentOf("Reviews", (notes) =>
  notes.length <= MAX_LENGTH
    ? "APPROVED"
    : `It is too long: ${notes.length} of ${MAX_LENGTH} characters.`,
);

const notes = defineWorkflow({
  name: "notes",
  steps: [
    {
      id: "draft",
      loop: {
        until: "{{steps.review.result.text}}",
        startsWith: "APPROVED",
        max: 3,
      },
      steps: [
        {
          id: "write",
          agent: "writer",
          task: "Write the notes of {{input.text}}. {{steps.review.result.text}}",
        },
        {
          id: "review",
          agent: "reviewer",
          task: "{{steps.write.result.text}}",
          dependencies: ["write"],
        },
      ],
      output: "{{steps.write.result.text}}",
    },
  ],
});

const server = await createServer({
  agents: { notes: workflowAgent(notes), writer, reviewer },
  workspace: process.cwd(),
});
const client = createDevtoolClient(await server.transport());
let task = emptyTask();
const message = textMessage(crypto.randomUUID(), "v1.2");
const signal = AbortSignal.timeout(60_000);
for await (const event of streamMessage(client, { message }, signal)) {
  task = reduceTask(task, event);
  const run = event.toolCallDetail?.stepRun;
  if (run?.result) console.log(`${run.path}: ${run.result.text}`);
}
await server.close();

assert.equal(task.state, TaskState.COMPLETED, task.error);
const runs = task.history.flatMap(({ parts }) =>
  parts.flatMap(({ toolCallDetail }) => toolCallDetail?.stepRun ?? []),
);
assert.deepEqual(
  runs.map(({ path }) => path),
  ["draft/1/write", "draft/1/review", "draft/2/write", "draft/2/review"],
);
assert.deepEqual(task.history.at(-1)?.parts[0]?.content, {
  case: "text",
  value: "Servers start faster.",
});
console.log("ok");
