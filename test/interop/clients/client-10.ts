import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import {
  CancelTaskRequest,
  GetTaskRequest,
  Message,
  Role,
  SendMessageConfiguration,
  StreamResponse,
  SubscribeToTaskRequest,
  type Task,
  TaskPushNotificationConfig,
  TaskState,
  type TaskStatusUpdateEvent,
} from "@a2a-js/sdk";
import {
  type Client,
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from "@a2a-js/sdk/client";
import { GrpcTransportFactory } from "@a2a-js/sdk/client/grpc";
import { EXTENSION_URI } from "@devtool/schema";
import { credentials, InterceptingCall, type Interceptor } from "@grpc/grpc-js";
import { receive } from "../../push/receiver.ts";
import {
  bearerFetch,
  type ClientTarget,
  PUSH_URL,
  type Scenario,
} from "../scenario.ts";

const { TASK_STATE_COMPLETED, TASK_STATE_CANCELED, TASK_STATE_INPUT_REQUIRED } =
  TaskState;

/** A client and its version of A2A. */
interface Speaker {
  readonly client: Client;
  readonly protocol: string;
  readonly file: string;
  readonly hook: string;
}

/**
 * The scenarios, played by the official JavaScript SDK for A2A 1.0: in 1.0, or
 * over its bridge to 0.3.
 */
export async function jsClient10(
  target: ClientTarget,
): Promise<Readonly<Record<string, Scenario>>> {
  const speaker = { ...target, client: await connect(target) };
  const { capabilities } = await speaker.client.getAgentCard();
  return {
    card: () => card(speaker),
    message: () => message(speaker),
    appendix_a: () => appendixA(speaker),
    continued: () => continued(speaker),
    cancel: () => cancel(speaker),
    resume: () => resume(speaker),
    errors: () => errors(speaker),
    extended_card: () => extendedCard(speaker),
    ...(capabilities?.pushNotifications && { push: () => push(speaker) }),
    ...(target.protocol === "1.0" && { notified: () => notified(speaker) }),
  };
}

/** Removes all interfaces but one from a card. */
async function connect({
  url,
  token,
  binding,
  protocol,
}: ClientTarget): Promise<Client> {
  const fetchImpl = bearerFetch(token);
  const legacyCompat = { enabled: true };
  const card = await new DefaultAgentCardResolver({
    fetchImpl,
    legacyCompat,
  }).resolve(url);
  const supportedInterfaces = card.supportedInterfaces.filter(
    (offer) =>
      offer.protocolVersion.startsWith(protocol) &&
      offer.protocolBinding === binding,
  );
  const factory = new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [
        new JsonRpcTransportFactory({ fetchImpl, legacyCompat }),
        new RestTransportFactory({ fetchImpl, legacyCompat }),
        new GrpcTransportFactory({
          grpcChannelCredentials: credentials.createInsecure(),
          grpcCallOptions: { interceptors: [bearerInterceptor(token)] },
        }),
      ],
      preferredTransports: [binding],
    }),
  );
  return factory.createFromAgentCard({ ...card, supportedInterfaces });
}

/** Sends a token with each call of gRPC. */
function bearerInterceptor(token: string): Interceptor {
  return (options, nextCall) =>
    new InterceptingCall(nextCall(options), {
      start: (metadata, listener, next) => {
        metadata.set("authorization", `Bearer ${token}`);
        next(metadata, listener);
      },
    });
}

async function card({ client, protocol }: Speaker): Promise<void> {
  assert.ok(
    client.protocolVersion.startsWith(protocol),
    `speaks ${client.protocolVersion}`,
  );
  const { capabilities } = await client.getAgentCard();
  assert.ok(capabilities?.streaming);
  assert.ok(capabilities.extensions.some(({ uri }) => uri === EXTENSION_URI));
}

async function message({ client }: Speaker): Promise<void> {
  const { id, status } = await send(client, userMessage("text hello there"));
  assert.equal(status?.state, TASK_STATE_COMPLETED);
  assert.equal(textsIn(await read(client, id)), "hello there");
}

async function appendixA({ client, file }: Speaker): Promise<void> {
  const asked = await stream(
    client,
    userMessage(`think\nwrite ${file} made\ntext Done.`),
  );
  const kinds = asked
    .flatMap(updatesIn)
    .map(({ metadata }) => metadata?.[EXTENSION_URI]?.kind);
  assert.ok(
    kinds.includes("THOUGHT") && kinds.includes("TOOL_CALL_UPDATE"),
    `kinds: ${kinds}`,
  );
  assert.equal(stateOf(asked), TASK_STATE_INPUT_REQUIRED);
  const question = asked
    .flatMap(callsIn)
    .findLast((call) => "confirmation_request" in call);
  const data = {
    tool_call_id: question?.tool_call_id,
    selected_option_id: "proceed_once",
  };
  const done = await stream(
    client,
    userMessage({ $case: "data", value: data }, taskIn(asked)),
  );
  assert.equal(done.flatMap(callsIn).at(-1)?.status, "SUCCEEDED");
  assert.equal(stateOf(done), TASK_STATE_COMPLETED);
}

/**
 * An ended task continues in 0.3, as the RFC says. In 1.0 another task of its
 * conversation starts (STREAM-5).
 */
async function continued({ client, protocol, file }: Speaker): Promise<void> {
  const first = await send(client, userMessage("text one"));
  const again = await send(client, userMessage("text two", first));
  assert.equal(again.contextId, first.contextId);
  assert.equal(again.id === first.id, protocol === "0.3");
  assert.equal(again.status?.state, TASK_STATE_COMPLETED);
  const asked = await send(client, userMessage(`write ${file}-no nothing`));
  assert.equal(asked.status?.state, TASK_STATE_INPUT_REQUIRED);
  const declined = await send(client, userMessage("no", asked));
  assert.deepEqual(
    [declined.id, declined.status?.state],
    [asked.id, TASK_STATE_COMPLETED],
  );
}

async function cancel({ client }: Speaker): Promise<void> {
  const id = await start(client, "wait 60000");
  const canceled = await client.cancelTask(CancelTaskRequest.fromJSON({ id }));
  assert.equal(canceled.status?.state, TASK_STATE_CANCELED);
  assert.equal((await read(client, id)).status?.state, TASK_STATE_CANCELED);
}

async function resume({ client }: Speaker): Promise<void> {
  const id = await start(client, "wait 2000\ntext late");
  const seen = await Array.fromAsync(
    client.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id })),
  );
  assert.equal(stateOf(seen), TASK_STATE_COMPLETED);
  assert.equal(textsIn(await read(client, id)), "late");
}

async function errors({ client }: Speaker): Promise<void> {
  await assert.rejects(read(client, randomUUID()), isNamed("TaskNotFound"));
  const { id } = await send(client, userMessage("text done"));
  await assert.rejects(
    client.cancelTask(CancelTaskRequest.fromJSON({ id })),
    isNamed("TaskNotCancelable"),
  );
  await assert.rejects(
    send(client, { ...userMessage(""), parts: [] }),
    /parts/,
  );
}

async function extendedCard({ client }: Speaker): Promise<void> {
  const { skills } = await client.getAgentCard();
  assert.ok(skills.some(({ name }) => name === "/help"));
}

async function push({ client }: Speaker): Promise<void> {
  const { id: taskId } = await send(client, userMessage("text done"));
  const named = { tenant: "", taskId, id: "hook" };
  const config = TaskPushNotificationConfig.fromJSON({
    ...named,
    url: PUSH_URL,
    token: "t",
  });
  assert.equal(
    (await client.createTaskPushNotificationConfig(config)).url,
    PUSH_URL,
  );
  const { token } = await client.getTaskPushNotificationConfig(named);
  assert.equal(token, "[hidden]");
  const all = { tenant: "", taskId, pageSize: 0, pageToken: "" };
  assert.equal(
    (await client.listTaskPushNotificationConfig(all)).configs.length,
    1,
  );
  await client.deleteTaskPushNotificationConfig(named);
  assert.deepEqual(
    (await client.listTaskPushNotificationConfig(all)).configs,
    [],
  );
}

/**
 * Sets a push config with a message, and reads the notifications until one
 * reports the end of the task.
 */
async function notified({ client, hook }: Speaker): Promise<void> {
  await using receiver = await receive(Number(hook.split(":")[1]));
  const taskPushNotificationConfig = TaskPushNotificationConfig.fromJSON({
    url: receiver.url,
    token: "t",
  });
  const configuration = {
    ...SendMessageConfiguration.fromJSON({}),
    taskPushNotificationConfig,
  };
  const answer = await client.sendMessage({
    ...requestOf(userMessage("text told")),
    configuration,
  });
  for (
    let count = 0, state: TaskState | undefined;
    state !== TASK_STATE_COMPLETED;
    count++
  ) {
    await receiver.reached(count + 1);
    const { headers, body } =
      receiver.received[count] ?? assert.fail("nothing came");
    const response = StreamResponse.fromJSON(JSON.parse(body));
    assert.equal(headers["x-a2a-notification-token"], "t");
    assert.ok(
      "id" in answer &&
        updatesIn(response).every(({ taskId }) => taskId === answer.id),
    );
    state = stateOf([response]);
  }
}

function isNamed(name: string): (error: unknown) => boolean {
  return (error) =>
    error instanceof Error &&
    `${error.name} ${error.constructor.name}`.includes(name);
}

const WITH_EXTENSION = {
  serviceParameters: {
    "A2A-Extensions": EXTENSION_URI,
    "X-A2A-Extensions": EXTENSION_URI,
  },
};

function requestOf(message: Message) {
  return { tenant: "", message, configuration: undefined, metadata: undefined };
}

function stream(client: Client, said: Message): Promise<StreamResponse[]> {
  return Array.fromAsync(
    client.sendMessageStream(requestOf(said), WITH_EXTENSION),
  );
}

async function send(client: Client, said: Message): Promise<Task> {
  const answer = await client.sendMessage(requestOf(said));
  assert.ok("status" in answer);
  return answer;
}

function read(client: Client, id: string): Promise<Task> {
  return client.getTask(GetTaskRequest.fromJSON({ id }));
}

/** Starts a task that keeps running, and disconnects. */
async function start(client: Client, prompt: string): Promise<string> {
  for await (const { payload } of client.sendMessageStream(
    requestOf(userMessage(prompt)),
  )) {
    if (payload?.$case === "task") return payload.value.id;
  }
  return assert.fail("no task began");
}

type Content = NonNullable<Message["parts"][number]["content"]>;

function userMessage(
  content: string | Content,
  task?: { readonly id: string; readonly contextId: string },
): Message {
  const part = {
    content:
      typeof content === "string"
        ? { $case: "text" as const, value: content }
        : content,
    metadata: undefined,
    filename: "",
    mediaType: "",
  };
  const place = { taskId: task?.id ?? "", contextId: task?.contextId ?? "" };
  return {
    ...Message.fromJSON({ messageId: randomUUID() }),
    role: Role.ROLE_USER,
    parts: [part],
    ...place,
  };
}

function updatesIn({ payload }: StreamResponse): TaskStatusUpdateEvent[] {
  return payload?.$case === "statusUpdate" ? [payload.value] : [];
}

function callsIn(
  response: StreamResponse,
): Readonly<Record<string, unknown>>[] {
  const parts = updatesIn(response).flatMap(
    ({ status }) => status?.message?.parts ?? [],
  );
  return parts.flatMap(({ content }) =>
    content?.$case === "data" && content.value?.tool_name
      ? [content.value]
      : [],
  );
}

function taskIn([first]: readonly StreamResponse[]): Task {
  assert.ok(
    first?.payload?.$case === "task",
    `begins with ${first?.payload?.$case}`,
  );
  return first.payload.value;
}

function stateOf(all: readonly StreamResponse[]): TaskState | undefined {
  const payload = all.at(-1)?.payload;
  return payload?.$case === "task" || payload?.$case === "statusUpdate"
    ? payload.value.status?.state
    : undefined;
}

function textsIn({ history }: Task): string {
  const parts = history
    .filter(({ role }) => role === Role.ROLE_AGENT)
    .flatMap((message) => message.parts);
  return parts
    .map(({ content }) => (content?.$case === "text" ? content.value : ""))
    .join("");
}
