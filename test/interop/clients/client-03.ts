import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { EXTENSION_URI } from "@devtool/schema";
import type {
  MessageSendParams,
  Task,
  TaskStatusUpdateEvent,
} from "a2a-js-sdk-03";
import {
  type Client,
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from "a2a-js-sdk-03/client";
import {
  bearerFetch,
  type ClientTarget,
  PUSH_URL,
  type Scenario,
} from "../scenario.ts";

type Event = Task | TaskStatusUpdateEvent;

/** The scenarios, played by the official JavaScript SDK for A2A 0.3. */
export async function jsClient03({
  url,
  token,
  binding,
  file,
}: ClientTarget): Promise<Readonly<Record<string, Scenario>>> {
  const fetchImpl = bearerFetch(token);
  const factory = new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [
        new JsonRpcTransportFactory({ fetchImpl }),
        new RestTransportFactory({ fetchImpl }),
      ],
      cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
      preferredTransports: [binding],
    }),
  );
  const client = await factory.createFromUrl(url);
  const { capabilities } = await client.getAgentCard();
  return {
    card: () => card(client),
    message: () => message(client),
    appendix_a: () => appendixA(client, file),
    continued: () => continued(client, file),
    cancel: () => cancel(client),
    resume: () => resume(client),
    errors: () => errors(client),
    extended_card: () => extendedCard(client),
    ...(capabilities.pushNotifications && { push: () => push(client) }),
  };
}

async function card(client: Client): Promise<void> {
  const { capabilities } = await client.getAgentCard();
  assert.ok(capabilities.streaming);
  assert.ok(capabilities.extensions?.some(({ uri }) => uri === EXTENSION_URI));
}

async function message(client: Client): Promise<void> {
  const task = await send(client, messageParams("text hello there"));
  assert.equal(task.status.state, "completed");
  assert.equal(textsIn(await client.getTask({ id: task.id })), "hello there");
}

async function appendixA(client: Client, file: string): Promise<void> {
  const asked = await events(
    client,
    messageParams(`think\nwrite ${file} made\ntext Done.`),
  );
  const kinds = asked.map((event) => kindOf(event));
  assert.ok(
    kinds.includes("THOUGHT") && kinds.includes("TOOL_CALL_UPDATE"),
    `kinds: ${kinds}`,
  );
  assert.deepEqual(endOf(asked), { state: "input-required", final: true });
  const question = asked
    .flatMap(callsIn)
    .findLast((call) => "confirmation_request" in call);
  const answer = {
    tool_call_id: question?.tool_call_id,
    selected_option_id: "proceed_once",
  };
  const done = await events(
    client,
    messageParams("", idsOf(asked[0]), [{ kind: "data", data: answer }]),
  );
  assert.equal(done.flatMap(callsIn).at(-1)?.status, "SUCCEEDED");
  assert.deepEqual(endOf(done), { state: "completed", final: true });
}

async function continued(client: Client, file: string): Promise<void> {
  const first = await send(client, messageParams("text one"));
  const again = await send(client, messageParams("text two", idsOf(first)));
  assert.deepEqual([again.id, again.status.state], [first.id, "completed"]);
  const asked = await send(client, messageParams(`write ${file}-no nothing`));
  assert.equal(asked.status.state, "input-required");
  const declined = await send(client, messageParams("no", idsOf(asked)));
  assert.deepEqual(
    [declined.id, declined.status.state],
    [asked.id, "completed"],
  );
}

async function cancel(client: Client): Promise<void> {
  const { id } = await start(client, "wait 60000");
  assert.equal((await client.cancelTask({ id })).status.state, "canceled");
  assert.equal((await client.getTask({ id })).status.state, "canceled");
}

async function resume(client: Client): Promise<void> {
  const { id } = await start(client, "wait 2000\ntext late");
  const seen: Event[] = [];
  for await (const event of client.resubscribeTask({ id })) {
    // The answer comes as an artifact, too.
    if (event.kind !== "artifact-update") seen.push(eventOf(event));
  }
  assert.equal(endOf(seen).state, "completed");
  assert.equal(textsIn(await client.getTask({ id })), "late");
}

async function errors(client: Client): Promise<void> {
  await assert.rejects(client.getTask({ id: randomUUID() }), {
    name: /^TaskNotFound/,
  });
  const { id } = await send(client, messageParams("text done"));
  await assert.rejects(client.cancelTask({ id }), {
    name: /^TaskNotCancelable/,
  });
  await assert.rejects(send(client, messageParams("", undefined, [])), /parts/);
}

async function extendedCard(client: Client): Promise<void> {
  const { skills } = await client.getAgentCard();
  assert.ok(skills.some(({ name }) => name === "/help"));
}

async function push(client: Client): Promise<void> {
  const { id } = await send(client, messageParams("text done"));
  const pushNotificationConfig = { id: "hook", url: PUSH_URL, token: "t" };
  const set = await client.setTaskPushNotificationConfig({
    taskId: id,
    pushNotificationConfig,
  });
  assert.equal(set.pushNotificationConfig.url, PUSH_URL);
  const named = { id, pushNotificationConfigId: "hook" };
  assert.equal(
    (await client.getTaskPushNotificationConfig(named)).pushNotificationConfig
      .token,
    "[hidden]",
  );
  assert.equal((await client.listTaskPushNotificationConfig({ id })).length, 1);
  await client.deleteTaskPushNotificationConfig(named);
  assert.deepEqual(await client.listTaskPushNotificationConfig({ id }), []);
}

const WITH_EXTENSION = {
  serviceParameters: { "X-A2A-Extensions": EXTENSION_URI },
};

async function events(
  client: Client,
  params: MessageSendParams,
): Promise<Event[]> {
  const all: Event[] = [];
  for await (const event of client.sendMessageStream(params, WITH_EXTENSION)) {
    all.push(eventOf(event));
  }
  return all;
}

async function send(client: Client, params: MessageSendParams): Promise<Task> {
  const answer = await client.sendMessage(params);
  assert.ok(answer.kind === "task");
  return answer;
}

/** Starts a task that keeps running, and disconnects. */
async function start(client: Client, prompt: string): Promise<Task> {
  for await (const event of client.sendMessageStream(messageParams(prompt))) {
    if (event.kind === "task") return event;
  }
  return assert.fail("no task began");
}

function messageParams(
  text: string,
  ids?: { readonly taskId: string; readonly contextId: string },
  parts: MessageSendParams["message"]["parts"] = [{ kind: "text", text }],
): MessageSendParams {
  return {
    message: {
      kind: "message",
      messageId: randomUUID(),
      role: "user",
      parts,
      ...ids,
    },
  };
}

function eventOf(event: { readonly kind: string }): Event {
  assert.ok(isEvent(event), event.kind);
  return event;
}

function isEvent(event: { readonly kind: string }): event is Event {
  return event.kind === "task" || event.kind === "status-update";
}

function idsOf(event: Event | undefined): {
  readonly taskId: string;
  readonly contextId: string;
} {
  assert.ok(event);
  return {
    taskId: event.kind === "task" ? event.id : event.taskId,
    contextId: event.contextId,
  };
}

function kindOf({ metadata }: Event): unknown {
  const data: unknown = metadata?.[EXTENSION_URI];
  return typeof data === "object" && data && "kind" in data
    ? data.kind
    : undefined;
}

function callsIn({ status }: Event): Readonly<Record<string, unknown>>[] {
  const parts = status.message?.parts ?? [];
  return parts.flatMap((part) =>
    part.kind === "data" && "tool_name" in part.data ? [part.data] : [],
  );
}

function endOf(all: readonly Event[]): {
  readonly state: string;
  readonly final?: boolean;
} {
  const last = all.at(-1);
  assert.ok(last);
  return {
    state: last.status.state,
    ...(last.kind === "status-update" && { final: last.final }),
  };
}

function textsIn({ history = [] }: Task): string {
  const parts = history
    .filter(({ role }) => role === "agent")
    .flatMap((message) => message.parts);
  return parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
}
