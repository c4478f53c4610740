/**
 * Talks to an agent: streams its work, answers its question with a changed
 * file, and reads the finished task again as a client that comes back would.
 *
 *     devtool serve --workspace playground            # in another terminal
 *     DEVTOOL_URL=http://127.0.0.1:41242 DEVTOOL_TOKEN=… node client.ts
 */
import assert from "node:assert/strict";
import {
  confirmationPart,
  createDevtoolClient,
  observeTask,
  pendingToolCalls,
  streamMessage,
  textMessage,
} from "@devtool/client";
import { createAgentTransport, fetchAgentCard } from "@devtool/client/a2a";
import {
  emptyTask,
  reduceTask,
  type Task,
  type TaskEvent,
  TaskState,
  ToolCallStatus,
} from "@devtool/schema";

const {
  DEVTOOL_URL: url = "http://127.0.0.1:41242",
  DEVTOOL_TOKEN: token = "",
} = process.env;
const signal = AbortSignal.timeout(60_000);
const card = await fetchAgentCard({ url }, signal);
const client = createDevtoolClient(createAgentTransport(card, { url, token }));

// The prompt is a script of the keyless agent (docs/models.md). To any
// other agent, write what you want.
const prompt =
  "think\nwrite greeting.txt Hello\nread greeting.txt\ntext Written.";
let task = await follow(
  emptyTask(),
  streamMessage(
    client,
    { message: textMessage(crypto.randomUUID(), prompt) },
    signal,
  ),
);
assert.equal(task.state, TaskState.INPUT_REQUIRED);

const [call] = pendingToolCalls(task);
assert(call !== undefined);
assert.equal(call.toolName, "write_file");
console.log(
  "options:",
  call.confirmationRequest?.options.map(({ id }) => id).join(", "),
);

// The answer is a message to the same task. With new content, the file is
// written as the user changed it.
const answer = {
  messageId: crypto.randomUUID(),
  parts: [confirmationPart(call, "proceed_once", "Hello, world\n")],
};
task = await follow(
  task,
  streamMessage(client, { message: answer, taskId: task.id }, signal),
);
assert.equal(task.state, TaskState.COMPLETED);

// A task is its log: whoever reads it from the first event arrives at the same
// state.
let observed = emptyTask();
for await (const state of observeTask(client, task.id, signal)) {
  observed = state;
}
assert.equal(observed.state, TaskState.COMPLETED);
assert.equal(observed.sequence, task.sequence);
console.log("ok");

/** Prints the events of an exchange and returns the task after the last one. */
async function follow(
  before: Task,
  events: AsyncIterable<TaskEvent>,
): Promise<Task> {
  let task = before;
  for await (const event of events) {
    task = reduceTask(task, event);
    const line = describe(event);
    if (line !== undefined) console.log(line);
  }
  return task;
}

/**
 * Describes an event in a line; undefined for one that this program does not
 * show.
 */
function describe({ payload, state }: TaskEvent): string | undefined {
  switch (payload.case) {
    case "thought":
      return `thought: ${payload.value.subject}`;
    case "text":
      return `text: ${payload.value.text}`;
    case "toolCall":
      return `call: ${payload.value.toolName} ${ToolCallStatus[payload.value.status]}`;
    case "stateChange":
      return `state: ${TaskState[state]}`;
    default:
      return undefined;
  }
}
