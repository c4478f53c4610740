import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { Code, ConnectError } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import {
  confirmationPart,
  createDevtoolClient,
  type DevtoolClient,
  pendingToolCalls,
  streamMessage,
  subscribeTask,
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
  toolCallsOf,
} from "@devtool/schema";
import { PUSH_URL, type Scenario } from "./scenario.ts";

/**
 * The scenarios, played by devtool's client over one interface of a card. The
 * others are removed from the card.
 */
export async function ourClient(
  url: string,
  { protocol, binding }: Spoken,
): Promise<Readonly<Record<string, Scenario>>> {
  const card = await fetchAgentCard({ url }, soon());
  const supportedInterfaces = card.supportedInterfaces.filter(
    (item) =>
      item.protocolVersion.startsWith(protocol) &&
      item.protocolBinding === binding,
  );
  const grpc = (baseUrl: string) => createGrpcTransport({ baseUrl });
  const client = createDevtoolClient(
    createAgentTransport({ ...card, supportedInterfaces }, { url, grpc }),
  );
  return {
    card: async () => assert.equal(card.name, "interop"),
    message: () => message(client),
    appendix_a: () => appendixA(client),
    continued: () => continued(client, protocol),
    cancel: () => cancel(client),
    resume: () => resume(client),
    errors: () => errors(client),
    push: () => push(client),
  };
}

/** A version and binding of A2A. */
export interface Spoken {
  /** `0.3` or `1.0`. */
  readonly protocol: string;
  readonly binding: string;
}

async function message(client: DevtoolClient): Promise<void> {
  const { task } = await client.tasks.sendMessage({
    message: promptMessage("hello"),
  });
  assert.equal(task?.state, TaskState.COMPLETED);
  assert.match(textIn(task), /made it/);
  const streamed = await runPrompt(client, "hello");
  assert.equal(streamed.state, TaskState.COMPLETED);
  assert.match(textIn(streamed), /made it/);
}

async function appendixA(client: DevtoolClient): Promise<void> {
  const asked = await runPrompt(client, "propose");
  assert.equal(asked.state, TaskState.INPUT_REQUIRED);
  const [call] = pendingToolCalls(asked);
  assert.equal(call?.confirmationRequest?.details.case, "fileEditDetails");
  const answer = {
    ...promptMessage(""),
    parts: [confirmationPart(call, "proceed_once")],
  };
  const { id: taskId, contextId } = asked;
  const events = await all(
    streamMessage(client, { message: answer, taskId, contextId }, soon(), ONCE),
  );
  const calls = events.flatMap(({ payload }) =>
    payload.case === "toolCall" ? [payload.value.status] : [],
  );
  assert.deepEqual(calls, [ToolCallStatus.SUCCEEDED]);
  const done = events.reduce(reduceTask, asked);
  assert.equal(done.state, TaskState.COMPLETED);
  assert.deepEqual(
    done.history.flatMap(toolCallsOf).map(({ status }) => status),
    calls,
  );
}

async function continued(
  client: DevtoolClient,
  protocol: string,
): Promise<void> {
  // Not streamed: the Python SDK for 0.3 ends a stream a moment before it
  // accepts the next message to the task.
  const { task: asked } = await client.tasks.sendMessage({
    message: promptMessage("ask"),
  });
  assert.ok(asked);
  assert.equal(asked.state, TaskState.INPUT_REQUIRED);
  assert.match(textIn(asked), /which one\?/);
  const { id: taskId, contextId } = asked;
  const { task } = await client.tasks.sendMessage({
    message: promptMessage("that"),
    taskId,
    contextId,
  });
  assert.deepEqual([task?.id, task?.state], [taskId, TaskState.COMPLETED]);
  // These agents do not let ended tasks continue, as the RFC does. In 1.0 the
  // client starts another task.
  if (protocol === "0.3") return;
  const { task: again } = await client.tasks.sendMessage({
    message: promptMessage("hello"),
    taskId,
    contextId,
  });
  assert.notEqual(again?.id, taskId);
  assert.deepEqual(
    [again?.contextId, again?.state],
    [contextId, TaskState.COMPLETED],
  );
}

async function cancel(client: DevtoolClient): Promise<void> {
  const taskId = await start(client, "wait");
  const { task } = await client.tasks.cancelTask({ taskId });
  assert.equal(task?.state, TaskState.CANCELED);
}

/**
 * Starts another task if one has ended before the subscription, as happens on a
 * busy machine.
 */
async function resume(client: DevtoolClient, attempts = 3): Promise<void> {
  const taskId = await start(client, "late");
  const events = await all(
    subscribeTask(client, { taskId }, soon(), ONCE),
  ).catch((error: unknown) => {
    if (attempts > 1 && isCode(Code.FailedPrecondition)(error)) {
      return undefined;
    }
    throw error;
  });
  if (events === undefined) return await resume(client, attempts - 1);
  assert.equal(events.at(-1)?.state, TaskState.COMPLETED);
}

async function errors(client: DevtoolClient): Promise<void> {
  await assert.rejects(
    client.tasks.getTask({ taskId: randomUUID() }),
    isCode(Code.NotFound),
  );
  const { id: taskId } = await runPrompt(client, "hello");
  await assert.rejects(
    client.tasks.cancelTask({ taskId }),
    isCode(Code.FailedPrecondition),
  );
}

async function push(client: DevtoolClient): Promise<void> {
  const { id: taskId } = await runPrompt(client, "hello");
  const config = { taskId, id: "hook", url: PUSH_URL, token: "t" };
  const { config: stored } = await client.push.setPushConfig({ config });
  assert.deepEqual([stored?.taskId, stored?.url], [taskId, PUSH_URL]);
  const { config: read } = await client.push.getPushConfig({
    taskId,
    configId: "hook",
  });
  assert.deepEqual([read?.id, read?.token], ["hook", "t"]);
  assert.equal(
    (await client.push.listPushConfigs({ taskId })).configs.length,
    1,
  );
  await client.push.deletePushConfig({ taskId, configId: "hook" });
  assert.deepEqual((await client.push.listPushConfigs({ taskId })).configs, []);
}

const ONCE = { maxAttempts: 0 };

async function runPrompt(client: DevtoolClient, prompt: string): Promise<Task> {
  const events = await all(
    streamMessage(client, { message: promptMessage(prompt) }, soon(), ONCE),
  );
  return events.reduce(reduceTask, emptyTask());
}

/** Starts a task that stays at work, and goes away once it is there. */
async function start(client: DevtoolClient, prompt: string): Promise<string> {
  for await (const { taskId, state } of streamMessage(
    client,
    { message: promptMessage(prompt) },
    soon(),
    ONCE,
  )) {
    if (state === TaskState.WORKING) return taskId;
  }
  return assert.fail("no task began");
}

function all(events: AsyncIterable<TaskEvent>): Promise<TaskEvent[]> {
  return Array.fromAsync(events);
}

function promptMessage(text: string) {
  return textMessage(randomUUID(), text);
}

function textIn({ history, artifacts, stateText }: Task): string {
  const parts = [...history.slice(1), ...artifacts].flatMap(
    (entry) => entry.parts,
  );
  return (
    parts
      .map(({ content }) => (content.case === "text" ? content.value : ""))
      .join("") + stateText
  );
}

function isCode(code: Code): (error: unknown) => boolean {
  return (error) => error instanceof ConnectError && error.code === code;
}

function soon(): AbortSignal {
  return AbortSignal.timeout(150_000);
}
